"""Say beside an answer that perhaps nothing in it is about the question, or how much an empty one looked through."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from minutebook.memory.access.visibility import View
from minutebook.record.caller import Caller, Note
from minutebook.record.filters import KEPT_AT
from minutebook.record.reason import Reason
from minutebook.record.records import (
    CodeChunk,
    Decision,
    Memory,
    ProjectCommit,
    Proposal,
    Summary,
    TextRecord,
    Turn,
)
from minutebook.text.answerability import POSSIBLE_FROM

RELEVANCE = "relevance"
"""The name of both notes."""

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

DOUBT = Reason("Perhaps nothing here is about that; these are the nearest.")
NOTHING = Reason("Nothing was found.")
NO_WORD = Reason("No text here has one of these words.")

LookedThrough = Mapping[type[TextRecord], Iterable[View]]
"""What was searched, by class."""


def note_doubt(caller: Caller, chance: float, least: float = POSSIBLE_FROM) -> None:
    """Note in the call that perhaps no hit is about the question, if the chance that one is lies below `least`."""
    if chance < least:
        caller.call.notes[RELEVANCE] = Note({"chance": round(chance, 2)}, DOUBT, leads=True)


def note_empty(
    caller: Caller,
    looked_through: LookedThrough,
    said: Reason = NOTHING,
    at: datetime | None = None,
) -> None:
    """Note in the call that nothing was found, and how many records were looked through, none from after `at`."""
    counted = {
        KINDS[of]: sum(_count(view, of, at) for view in views)
        for of, views in looked_through.items()
    }
    held = {kind: count for kind, count in counted.items() if count}
    counts = ", ".join(f"{kind} {count:,}" for kind, count in held.items())
    amount = (
        Reason("Looked through: {counts}.", counts=counts)
        if held
        else Reason("There is nothing to look through.")
    )
    text = Reason("{said} {amount}", said=said, amount=amount)
    caller.call.notes[RELEVANCE] = Note({"looked_through": held}, text, leads=True)


def _count(view: View, of: type[TextRecord], at: datetime | None) -> int:
    """Count the records of a view that were there at a moment (None: now)."""
    if at is None or of is Memory or of not in KEPT_AT:
        return view.count(of)
    return sum(said <= at for (said,) in view.values(of, (KEPT_AT[of],)))
