"""Say a verdict beside a hit."""

from collections.abc import Sequence

from minutebook.features.citations.cited import CitationVerdict, Judged
from minutebook.memory.search.hit_notes import HitNote
from minutebook.record.reason import Reason

_WORST = (
    CitationVerdict.HOLDS,
    CitationVerdict.MOVED,
    CitationVerdict.RENAMED,
    CitationVerdict.CHANGED,
    CitationVerdict.GONE,
)

_LONGEST = 200
"""Characters of a name or place that are told."""


def worst_of(judged: Sequence[Judged]) -> Judged:
    """Return the worst of some verdicts: of definitions and lines, or where only files are cited, of files."""
    exact = [each for each in judged if each.cited.definition or each.cited.lines]
    return max(exact or judged, key=lambda each: _WORST.index(each.verdict))


def note_on(judged: Sequence[Judged]) -> HitNote:
    """Return the note on a record that cites something; where only files are cited, it is told last once all are gone."""
    worst = worst_of(judged)
    text, others = phrase(worst), sum(not each.holds for each in judged) - (not worst.holds)
    if len(judged) > 1 and not worst.holds:
        text = Reason("{name} {verdict}", name=shown(worst.cited.written), verdict=text)
    if others:
        text = Reason("{verdict}; {count} more not as before", verdict=text, count=others)
    is_exact = worst.cited.definition is not None or worst.cited.lines is not None
    deciding = [worst] if is_exact else judged
    is_gone = all(each.verdict is CitationVerdict.GONE for each in deciding)
    return HitNote(Reason("The code that it cites"), text, f"code {worst.verdict}", is_gone)


def phrase(judged: Judged) -> Reason:
    """Say a verdict, where the thing is now, and since which commit."""
    path, _, name = (
        judged.where.rpartition(":") if judged.cited.definition else (judged.where, "", "")
    )
    match judged.verdict:
        case CitationVerdict.HOLDS:
            return Reason("holds")
        case CitationVerdict.RENAMED:
            said = Reason("renamed to {name} in {path}", name=shown(name), path=shown(path))
        case CitationVerdict.MOVED:
            said = Reason("moved to {path}", path=shown(path))
        case CitationVerdict.CHANGED:
            said = Reason("changed")
        case CitationVerdict.GONE:
            said = Reason("gone")
    if judged.since:
        return Reason("{verdict} since {commit}", verdict=said, commit=judged.since)
    return Reason("{verdict}, in no commit yet", verdict=said)


def shown(text: str) -> str:
    """Return a name of somebody's code as a reader may be shown it: one line, no control characters, not endless."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:_LONGEST])
