"""The notes on hits that tell the verdicts on their citations."""

from collections.abc import Sequence

from minutebook.features.citations.cited import CitationVerdict, Judged
from minutebook.memory.search.hit_notes import HitNote
from minutebook.record.reason import Reason

_FROM_BEST = (
    CitationVerdict.HOLDS,
    CitationVerdict.MOVED,
    CitationVerdict.RENAMED,
    CitationVerdict.CHANGED,
    CitationVerdict.GONE,
)

_LONGEST = 200
"""Characters of a name or path that are shown."""


def worst_of(judged: Sequence[Judged]) -> Judged:
    """Return the worst verdict on a definition or lines; on a file only if nothing else is cited."""
    exact = [each for each in judged if each.cited.definition or each.cited.lines]
    return max(exact or judged, key=lambda each: _FROM_BEST.index(each.verdict))


def note_on(judged: Sequence[Judged]) -> HitNote:
    """Return the note on a record with citations; the hit comes last if the worst is gone, or all files if it cites only files."""
    worst = worst_of(judged)
    text, others = phrase(worst), sum(not each.holds for each in judged) - (not worst.holds)
    if len(judged) > 1 and not worst.holds:
        text = Reason("{name} {verdict}", name=printable(worst.cited.written), verdict=text)
    if others:
        text = Reason("{verdict}; {count} more not as before", verdict=text, count=others)
    is_exact = worst.cited.definition is not None or worst.cited.lines is not None
    deciding = [worst] if is_exact else judged
    is_gone = all(each.verdict is CitationVerdict.GONE for each in deciding)
    return HitNote(Reason("The code that it cites"), text, f"code {worst.verdict}", is_gone)


def phrase(judged: Judged) -> Reason:
    """Return a verdict in words, with where the code is now and since which commit."""
    path, name = printable(judged.where), ""
    if judged.cited.definition is not None:
        path, name = (printable(part) for part in judged.where.rpartition(":")[::2])
    match judged.verdict:
        case CitationVerdict.HOLDS:
            return Reason("holds")
        case CitationVerdict.RENAMED:
            verdict = Reason("renamed to {name} in {path}", name=name, path=path)
        case CitationVerdict.MOVED:
            verdict = Reason("moved to {path}", path=path)
        case CitationVerdict.CHANGED:
            verdict = Reason("changed")
        case CitationVerdict.GONE:
            verdict = Reason("gone")
    if judged.since:
        return Reason("{verdict} since {commit}", verdict=verdict, commit=judged.since)
    return Reason("{verdict}, in no commit yet", verdict=verdict)


def printable(text: str) -> str:
    """Return a name or path of somebody's code as it may be shown: without control characters, and cut."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:_LONGEST])
