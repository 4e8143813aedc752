"""Say that a search found nothing, and how much it looked through."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from minutebook.domain.caller import Caller, Note
from minutebook.domain.filters import KEPT_AT
from minutebook.domain.reason import Reason
from minutebook.domain.records import (
    CodeChunk,
    Decision,
    Memory,
    ProjectCommit,
    Proposal,
    Summary,
    TextRecord,
    Turn,
)
from minutebook.search.answerability import FOUND_FROM
from minutebook.services.access.visibility import View

KINDS: Mapping[type[TextRecord], str] = {
    Memory: "memories",
    Decision: "decisions",
    Proposal: "proposals",
    Turn: "turns",
    Summary: "summaries",
    CodeChunk: "pieces of code",
    ProjectCommit: "commits",
}
"""What records of a class are called where they are counted."""

NOTHING = Reason("Nothing here is about that.")


PERHAPS = Reason("Perhaps nothing here is about that; this is the nearest.")


def note_perhaps(caller: Caller, relevances: Iterable[float], name: str = "relevance") -> None:
    """Note in the call that no hit is surely about the question, if there is a hit and none is."""
    if 0 < (best := max(relevances, default=0.0)) < FOUND_FROM:
        caller.call.notes.setdefault(name, Note({"best": round(best, 2)}, PERHAPS))


def nothing_note(looked_through: Mapping[str, int], said: Reason = NOTHING) -> Note:
    """Return the note that leads an empty answer; `looked_through` has how many there were of each kind."""
    counts = ", ".join(f"{kind} {count:,}" for kind, count in looked_through.items())
    facts = {"about": 0, "looked_through": dict(looked_through)}
    amount = f"Looked through: {counts}." if counts else "There is nothing to look through yet."
    return Note(facts, Reason("{said} {amount}", said=said, amount=amount), leads=True)


def note_nothing(
    caller: Caller,
    looked_through: Mapping[type[TextRecord], Iterable[View]],
    said: Reason = NOTHING,
    name: str = "relevance",
    at: datetime | None = None,
) -> None:
    """Note in the call, by a name, that nothing was found, and how much was looked through, by what else noted so as well.

    `looked_through` has what was searched, by class; it is counted only to be said, without what came later than `at`.
    """
    known = caller.call.notes.get(name, Note({}, "")).facts.get("looked_through")
    counts = {
        KINDS[of]: sum(_count(view, of, at) for view in views)
        for of, views in looked_through.items()
    }
    held = {kind: count for kind, count in counts.items() if count}
    held |= known if isinstance(known, dict) else {}
    caller.call.notes[name] = nothing_note(held, said)


def _count(view: View, of: type[TextRecord], at: datetime | None) -> int:
    """Count the records of a view that were there at a moment (None: now)."""
    if at is None or of is Memory or of not in KEPT_AT:
        return view.count(of)
    return sum(said <= at for (said,) in view.values(of, (KEPT_AT[of],)))
