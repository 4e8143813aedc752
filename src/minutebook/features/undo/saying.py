"""Sentences that describe acts."""

from collections import Counter
from collections.abc import Sequence

from minutebook.record.reason import Reason, Word, counted
from minutebook.record.records import Memory, Record, TextRecord
from minutebook.record.trust.done_acts import DoneAct

QUOTED = 60
"""The most characters of a record that are quoted."""


def sentence_of(act: DoneAct, subjects: Sequence[Record]) -> Reason:
    """Return a sentence on an act with the beginning of its first record; `subjects` are its records."""
    what = _what(act, subjects)
    match act.naming_entry.act:
        case "created":
            return Reason("kept {what}", what=what)
        case "update":
            return Reason("edited {what}", what=what)
        case "delete" | "remove":
            return Reason("forgot {what}", what=what)
        case "invalidate":
            return Reason("ended {what}", what=what)
        case "record" | "supersede" | "accept":
            return Reason("decided {what}", what=what)
        case "verify":
            return Reason("verified {what}", what=what)
        case "lock":
            return Reason("locked {what}", what=what)
        case "unlock":
            return Reason("unlocked {what}", what=what)
        case "deprecate":
            return Reason("marked {what} as out of date", what=what)
        case "restore" | "reinstate":
            return Reason("brought back {what}", what=what)
        case "link":
            return Reason("linked {what}", what=what)
        case "add_turn" | "summarize":
            return Reason("noted of a session: {what}", what=what)
        case "refuse":
            return Reason("refused a suggestion")
        case "import":
            return Reason("imported {what}", what=what)
        case "undo":
            return Reason("took back: {what}", what=what)
        case _:
            return Reason("{act}: {what}", act=Word(act.naming_entry.act), what=what)


def _what(act: DoneAct, subjects: Sequence[Record]) -> Reason:
    texts = [each for each in subjects if isinstance(each, TextRecord)]
    memories = [each for each in texts if isinstance(each, Memory)] or texts
    # Versions and links belong to their memory and are not counted.
    total = len(texts)
    if not memories:
        return counted("{count:,} record", "{count:,} records", len(act.changes))
    first = _quoted(memories[0])
    if total == 1:
        return Reason("“{text}”", text=first)
    return Reason("“{text}” and {more:,} more", text=first, more=total - 1)


def _quoted(record: TextRecord) -> str:
    title = getattr(record, "title", None)
    text = " ".join((title or record.text).split())
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1].rstrip()}…"


def count_by_kind(act: DoneAct) -> dict[str, int]:
    """Return the number of records of each kind that an act changed."""
    return dict(sorted(Counter(str(kind) for kind, _ in act.changes).items()))
