"""The steps of `setup` for records: the sources whose files are at their usual place on this machine."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from minutebook.cli.commands.setup import Offer, Stage
from minutebook.domain.counts import count_of
from minutebook.features.importers.cli import import_source, is_begun, report_of
from minutebook.features.importers.places import found_here
from minutebook.features.importers.sources.reading.files import ImportSource
from minutebook.features.importers.sources.registry import SOURCES

_INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md", "GEMINI.md")
_MEGABYTE = 1_000_000


def offers(options: dict[str, str]) -> Iterator[Offer]:
    """Yield a step for each source with files at its usual place, and for instructions in this folder."""
    for name, source in found_here().items():
        yield _offer(options, name, source)
    here = Path.cwd()
    if any((here / each).is_file() for each in _INSTRUCTIONS):
        yield _offer(options, "instructions", SOURCES["instructions"].files(here))


def _offer(options: dict[str, str], name: str, source: ImportSource) -> Offer:
    title = SOURCES[name].title
    size = sum(each.size for each in source.files) / _MEGABYTE
    found = f"{count_of(len(source.files), 'file')}, {size:,.1f} MB, in {source.root}"
    if is_begun(options):
        report = report_of(options, name, source.root, dry_run=True)
        counts = {outcome.value: sum(each.values()) for outcome, each in report.counts.items()}
        if not counts["new"] and not counts["changed"]:
            line = f"{found}: all of it is here already"
            return Offer(stage=Stage.RECORDS, subject=f"{name}: {title}", lines=[line])
    return Offer(
        stage=Stage.RECORDS,
        subject=f"{name}: {title}",
        lines=[found],
        question="Bring them in?",
        work=partial(import_source, options, name, source.root, dry_run=False, as_json=False),
    )
