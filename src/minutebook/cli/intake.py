"""A report of foreign records, printed: the same sentences for imports, archives, notes and other machines."""

from collections.abc import Iterator

from minutebook.cli.terminal import counted
from minutebook.memory.intake import IntakeReport, Outcome

_LISTED = 20
"""Reasons that are printed for records left out; `--json` has all that are kept."""


def intake_lines(report: IntakeReport, head: str = "", *, dry_run: bool = False) -> Iterator[str]:
    """Yield the sentences of a report; `head`, the source's name, stands in the first one after a colon."""
    verbs = ("Would import", "would be changed") if dry_run else ("Imported", "changed")
    counts = report.counts
    yield f"{verbs[0]} {counted(counts[Outcome.NEW])}{head and ': '}{head}."
    if counts[Outcome.CHANGED]:
        yield f"{counted(counts[Outcome.CHANGED])}: {verbs[1]}, as the source has."
    if counts[Outcome.HERE]:
        yield f"{counted(counts[Outcome.HERE])}: here already."
    if total := report.reasons.total():
        yield f"{total:,} left out:"
    for reason, count in report.reasons.most_common(_LISTED):
        first = next((each for each in report.left_out if each.reason == reason), None)
        where = "" if first is None else f" (first: {first.place})"
        yield f"  {count:,} × {reason}{where}"
    if len(report.reasons) > _LISTED:
        yield f"  and {len(report.reasons) - _LISTED:,} more reasons; --json has them"
