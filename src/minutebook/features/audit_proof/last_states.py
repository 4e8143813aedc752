"""The last text and state of each record by the trail, and their comparison with the records themselves."""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zlib import crc32

from minutebook.record.records import (
    Decision,
    Entry,
    Kind,
    Memory,
    Proposal,
    Record,
    Summary,
    TextRecord,
    Turn,
)
from minutebook.record.trust.acts import IMPORT_OWN, RESET, TAKE_IN, TAKE_IN_PERSONS
from minutebook.record.trust.fingerprints import (
    Fingerprinted,
    fields_changed_since,
    fingerprint,
    id_in_trail,
    is_same_state,
)
from minutebook.record.trust.trail import DONE, ERASE, text_digest

MISSING = "it is missing, and the trail has no act that removed it"
CHANGED = "its text is not the one that the trail has the digest of"
BACK = "the trail says that it was removed"
NO_ENTRY = "the trail has no entry with its digest"
NAMES = "it is not found by its names and aliases, or by others"

_KINDS = frozenset(each.kind for each in (Memory, Decision, Proposal, Turn, Summary))
"""The kinds of records of whose texts the trail has digests."""

_RESET_SILENTLY = frozenset({Kind.VERSION, Kind.ENTITY, Kind.RELATION, Kind.LINK})
"""The kinds of records that a reset of memories removes without an entry of their own."""

_OF_MANY = frozenset({"import", IMPORT_OWN, "replace", "sync"})
"""The acts on many records that have one entry for all, but for memories."""


@dataclass(frozen=True, slots=True)
class TrailDifference:
    """A record that is not as the trail says, and why."""

    kind: Kind
    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ErasedRecord:
    """A record of which the entries alone are left, and since when."""

    kind: Kind
    id: str
    at: datetime


class _Last(NamedTuple):
    """The digest of a record's last text or state by the trail ("" if it was removed), and the number of its entry."""

    digest: str
    number: int


class LastStates:
    """Reads the entries of a trail in order; then finds the records that contradict them.

    To save memory, the records can be divided into `parts` by their ids; it then holds those of one `part`, from 0.
    """

    def __init__(self, part: int = 0, parts: int = 1) -> None:
        self._part, self._parts = part, parts
        self._texts: dict[tuple[Kind, str], _Last] = {}
        self._states: dict[tuple[Kind, str], _Last] = {}
        self._reset = 0
        """The number of the last entry that reset the memories."""
        self._erased: dict[tuple[Kind, str], datetime] = {}
        self._other_texts: dict[str, int] = {}
        """By memory, the first entry whose text before is not the one that the trail had by then."""
        self._other_states: dict[tuple[Kind, str], int] = {}
        """By record, the first entry whose state before is not the one that the trail had by then."""

    def holds(self, kind: Kind, id: str) -> bool:
        """Tell whether this part holds the record that the trail names by an id."""
        if self._parts == 1:
            return True
        return crc32(f"{kind} {id}".encode("utf-8", "surrogatepass")) % self._parts == self._part

    def add_each(self, entries: Iterator[Entry]) -> Iterator[Entry]:
        """Yield the entries of the trail; add each once the next is asked for."""
        for entry in entries:
            yield entry
            # Not sooner: an entry that breaks the trail, at which the reader stops, may hold anything.
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Add the next entry of the trail."""
        if entry.outcome != DONE:
            return
        self._add_text(entry)
        if entry.act == ERASE:
            self._states.pop((entry.subject_kind, entry.subject), None)
        elif entry.act in ("import", IMPORT_OWN) and entry.subject_kind is Kind.HEAD:
            # All before it came from another store, whose tokens stayed there.
            for key in [key for key in self._states if key[0] is Kind.TOKEN]:
                del self._states[key]
        for text in entry.fingerprints:
            change = Fingerprinted.from_text(text)
            if self.holds(change.kind, change.id):
                self._add_state(change, entry.number)

    def _add_state(self, change: Fingerprinted, number: int) -> None:
        """Note the state after an entry, and the entry if the state before is not the last known one."""
        key = (change.kind, change.id)
        if change.before and key in self._states and (last := self._states[key].digest):
            # It is `after` if an act inside this one has written its own entry.
            expected = (change.before, change.after)
            if not any(is_same_state(last, each) for each in expected):
                self._other_states.setdefault(key, number)
        self._states[key] = _Last(change.after, number)

    def _add_text(self, entry: Entry) -> None:
        """Note the text that an entry changed; drop those that it may have changed without an entry for each."""
        kind, key = entry.subject_kind, (entry.subject_kind, entry.subject)
        if entry.act in _OF_MANY:
            # Only memories have an entry each.
            kinds = _KINDS if entry.act == "sync" else _KINDS & {kind}
            self._drop_texts(kinds - {Kind.MEMORY})
        elif kind is Kind.LEDGER:
            self._drop_texts({Kind.DECISION})
        elif kind is Kind.MEMORY and entry.act == RESET:
            self._reset = entry.number
        elif not self.holds(*key):
            return
        elif entry.act == ERASE:
            # Of a decision, the place is left: the digest of a text that says nothing.
            self._texts[key] = _Last(entry.after, entry.number)
            self._erased[key] = entry.at
        elif kind in _KINDS and (entry.before or entry.after):
            self._check_text_before(entry)
            self._texts[key] = _Last(entry.after, entry.number)
            self._erased.pop(key, None)
        elif entry.act in (TAKE_IN, TAKE_IN_PERSONS):
            self._texts.pop(key, None)

    def _drop_texts(self, kinds: Set[Kind]) -> None:
        """Drop the texts of records that an act may have changed without an entry for each."""
        for key in [key for key in self._texts if key[0] in kinds]:
            del self._texts[key]

    def _check_text_before(self, entry: Entry) -> None:
        """Note an entry if the text before is not the last known one of the memory."""
        if entry.subject_kind is not Kind.MEMORY or not entry.before:
            return
        last = self._texts.get((entry.subject_kind, entry.subject))
        if last is not None and last.digest != entry.before:
            self._other_texts.setdefault(entry.subject, entry.number)

    def difference(self, record: Record) -> TrailDifference | None:
        """Return how a record contradicts the trail, or None; call it once for each record, then `missing`."""
        in_text = self._text_difference(record) if isinstance(record, TextRecord) else None
        in_state = self._state_difference(record)
        return in_text or in_state

    def knows(self, record: Record) -> bool:
        """Tell whether the trail has a state of a record for which `difference` was not called yet."""
        return (record.kind, id_in_trail(record.kind, record.id)) in self._states

    def _state_difference(self, record: Record) -> TrailDifference | None:
        key = (record.kind, id_in_trail(record.kind, record.id))
        if key not in self._states:
            return _difference(record, NO_ENTRY)
        last = self._states.pop(key).digest
        if not last:
            return _difference(record, BACK)
        if not is_same_state(last, fingerprint(record)):
            return _difference(record, fields_differ_reason(fields_changed_since(last, record)))
        if key in self._other_states:
            return _difference(record, changed_before_reason(self._other_states[key]))
        return None

    def _text_difference(self, record: TextRecord) -> TrailDifference | None:
        last = self._texts.pop((record.kind, record.id), None)
        if last is None:
            return _difference(record, NO_ENTRY) if record.kind is Kind.MEMORY else None
        if not last.digest:
            return _difference(record, BACK)
        if last.digest != text_digest(record.text):
            return _difference(record, CHANGED)
        if record.kind is Kind.MEMORY and record.id in self._other_texts:
            number = self._other_texts[record.id]
            reason = f"before entry {number} its text was not the one that the trail had by then"
            return _difference(record, reason)
        return None

    def missing(self) -> Iterator[TrailDifference]:
        """Yield the records that the trail has and for which `difference` was not called."""
        gone = {key for key, last in self._texts.items() if not last.digest}
        for (kind, id), (state, number) in self._states.items():
            is_reset = kind in _RESET_SILENTLY and number <= self._reset
            if kind is not Kind.MEMORY and state and not is_reset and (kind, id) not in gone:
                reason = link_missing_reason(number) if kind is Kind.LINK else MISSING
                yield TrailDifference(kind, id, reason)
        for (kind, id), (digest, number) in self._texts.items():
            if kind is Kind.MEMORY and digest and number > self._reset:
                yield TrailDifference(kind, id, MISSING)

    def erased(self) -> list[ErasedRecord]:
        """Return the records that were erased, in the order of the trail."""
        return [ErasedRecord(kind, id, at) for (kind, id), at in self._erased.items()]


def fields_differ_reason(names: tuple[str, ...]) -> str:
    """Return the sentence that names the fields of a record that are not as the trail has them."""
    named = ", ".join(names) or "text or name, and perhaps more of it,"
    verb = "are" if len(names) > 1 else "is"
    return f"its {named} {verb} not what the trail has the digest of"


def link_missing_reason(number: int) -> str:
    """Return the sentence for a missing link, by the number of the entry that wrote it."""
    return f"{MISSING}; entry {number} wrote it"


def changed_before_reason(number: int) -> str:
    """Return the sentence for a record that was changed without an entry before an act, by the number of the act's entry."""
    return f"before entry {number} it was not as the trail had it by then"


def _difference(record: Record, reason: str) -> TrailDifference:
    return TrailDifference(record.kind, record.id, reason)
