"""Note in a call that perhaps no hit is about the question, or how many records were searched in vain."""

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
"""The key of both notes in a call."""

KINDS: Mapping[type[TextRecord], str] = {
    Memory: "memories",
    Decision: "decisions",
    Proposal: "proposals",
    Turn: "turns",
    Summary: "summaries",
    CodeChunk: "pieces of code",
    ProjectCommit: "commits",
}
"""The names of classes in counts of their records."""

DOUBT = Reason("Perhaps nothing here is about that; these are the nearest.")
NOTHING = Reason("Nothing was found.")
NO_WORD = Reason("No text here has one of these words.")

LookedThrough = Mapping[type[TextRecord], Iterable[View]]
"""The views that were searched, by class."""


def note_doubt(caller: Caller, chance: float, least: float = POSSIBLE_FROM) -> None:
    """Note in the call that perhaps no hit is about the question, if the chance that one is is below `least`."""
    if chance < least:
        caller.call.notes[RELEVANCE] = Note({"chance": round(chance, 2)}, DOUBT, leads=True)


def note_empty(
    caller: Caller,
    looked_through: LookedThrough,
    reason: Reason = NOTHING,
    at: datetime | None = None,
) -> None:
    """Note in the call that nothing was found, and how many records up to `at` (None: now) were searched."""
    counted = {
        KINDS[of]: sum(_count(view, of, at) for view in views)
        for of, views in looked_through.items()
    }
    present = {kind: count for kind, count in counted.items() if count}
    counts = ", ".join(f"{kind} {count:,}" for kind, count in present.items())
    amount = (
        Reason("Looked through: {counts}.", counts=counts)
        if present
        else Reason("There is nothing to look through.")
    )
    text = Reason("{said} {amount}", said=reason, amount=amount)
    caller.call.notes[RELEVANCE] = Note({"looked_through": present}, text, leads=True)


def _count(view: View, of: type[TextRecord], at: datetime | None) -> int:
    """Count the records of a view that existed at an instant (None: now)."""
    if at is None or of is Memory or of not in KEPT_AT:
        return view.count(of)
    return sum(kept <= at for (kept,) in view.values(of, (KEPT_AT[of],)))
