"""The last state of each record by the trail, to be compared with the records themselves."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
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
_OF_MANY = frozenset({"import", IMPORT_OWN, "replace", "sync"})
_GONE = b""


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


class LastTexts:
    """Reads the entries of a trail in order; then finds the records that contradict them.

    Of several parts, each of which holds the records of some ids, it may be one.
    """

    def __init__(self, part: int = 0, parts: int = 1) -> None:
        self._part, self._parts = part, parts
        self._last: dict[tuple[Kind, str], tuple[bytes, int]] = {}
        self._reset = 0
        self._erased: dict[tuple[Kind, str], datetime] = {}
        self._changed_between: dict[str, int] = {}
        self._states: dict[tuple[Kind, str], tuple[str, int]] = {}
        self._passed_on: dict[tuple[Kind, str], int] = {}

    def holds(self, kind: Kind, id: str) -> bool:
        """Tell whether a record that the trail names by an id belongs to this part."""
        if self._parts == 1:
            return True
        return crc32(f"{kind} {id}".encode("utf-8", "surrogatepass")) % self._parts == self._part

    def heard(self, entries: Iterator[Entry]) -> Iterator[Entry]:
        """Yield the entries of the trail, taking each once it was looked at."""
        for entry in entries:
            yield entry
            # Not sooner: one that breaks the trail may hold anything.
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Take the next entry of the trail."""
        if entry.outcome != DONE:
            return
        self._add_text(entry)
        if entry.act == ERASE:
            self._states.pop((entry.subject_kind, entry.subject), None)
        elif entry.act in ("import", IMPORT_OWN) and entry.subject_kind is Kind.HEAD:
            # All before it came from another store, whose tokens stayed there.
            self._states = {k: v for k, v in self._states.items() if k[0] is not Kind.TOKEN}
        for text in entry.fingerprints:
            made = Fingerprinted.from_text(text)
            if self.holds(made.kind, made.id):
                self._add_state(made, entry.number)

    def _add_state(self, made: Fingerprinted, number: int) -> None:
        key = (made.kind, made.id)
        last, _ = self._states.get(key, ("", 0))
        # An act inside another has written its own entry by then.
        expected = (made.before, made.after)
        if last and made.before and not any(is_same_state(last, each) for each in expected):
            self._passed_on.setdefault(key, number)
        self._states[key] = (made.after, number)

    def _add_text(self, entry: Entry) -> None:
        kind, key = entry.subject_kind, (entry.subject_kind, entry.subject)
        if entry.act in _OF_MANY:
            self._forget(entry)
        elif kind is Kind.LEDGER:
            self._drop(Kind.DECISION)
        elif kind is Kind.MEMORY and entry.act == RESET:
            self._reset = entry.number
        elif not self.holds(*key):
            return
        elif entry.act == ERASE:
            # Of a decision, the place is left: the digest of a text that says nothing.
            self._last[key] = (bytes.fromhex(entry.after), entry.number)
            self._erased[key] = entry.at
        elif kind in _KINDS and (entry.before or entry.after):
            self._check_follows(entry)
            self._last[key] = (bytes.fromhex(entry.after), entry.number)
            self._erased.pop(key, None)
        elif entry.act in (TAKE_IN, TAKE_IN_PERSONS):
            self._last.pop(key, None)

    def difference(self, record: Record) -> TrailDifference | None:
        """Return how a record contradicts the trail; each record is asked for once."""
        in_text = self._text_difference(record) if isinstance(record, TextRecord) else None
        in_state = self._state_difference(record)
        return in_text or in_state

    def knows(self, record: Record) -> bool:
        """Tell whether the trail has a fingerprint of a record that was not asked for yet."""
        return (record.kind, id_in_trail(record.kind, record.id)) in self._states

    def _state_difference(self, record: Record) -> TrailDifference | None:
        key = (record.kind, id_in_trail(record.kind, record.id))
        if key not in self._states:
            return _difference(record, NO_ENTRY)
        last, _ = self._states.pop(key)
        if not last:
            return _difference(record, BACK)
        if not is_same_state(last, fingerprint(record)):
            return _difference(record, fields_differ(fields_changed_since(last, record)))
        if key in self._passed_on:
            return _difference(record, passed_on(self._passed_on[key]))
        return None

    def _text_difference(self, record: TextRecord) -> TrailDifference | None:
        known = self._last.pop((record.kind, record.id), None)
        if known is None:
            return _difference(record, NO_ENTRY) if record.kind is Kind.MEMORY else None
        digest, _ = known
        if digest == _GONE:
            return _difference(record, BACK)
        if digest.hex() != text_digest(record.text):
            return _difference(record, CHANGED)
        if record.kind is Kind.MEMORY and record.id in self._changed_between:
            number = self._changed_between[record.id]
            return _difference(
                record, f"before entry {number} its text was not the one that the trail had by then"
            )
        return None

    def missing(self) -> Iterator[TrailDifference]:
        """Yield the records that the trail has and that were not asked for; after all that are there."""
        gone = {key for key, (digest, _) in self._last.items() if digest == _GONE}
        for (kind, id), (state, number) in self._states.items():
            is_reset = kind in _RESET_SILENTLY and number <= self._reset
            if kind is not Kind.MEMORY and state and not is_reset and (kind, id) not in gone:
                yield TrailDifference(
                    kind, id, link_missing(number) if kind is Kind.LINK else MISSING
                )
        for (kind, id), (digest, number) in self._last.items():
            if kind is Kind.MEMORY and digest != _GONE and number > self._reset:
                yield TrailDifference(kind, id, MISSING)

    def erased(self) -> list[ErasedRecord]:
        """Return the records that were erased, in the order of the trail."""
        return [ErasedRecord(kind, id, at) for (kind, id), at in self._erased.items()]

    def _check_follows(self, entry: Entry) -> None:
        if entry.subject_kind is not Kind.MEMORY or not entry.before:
            return
        known = self._last.get((entry.subject_kind, entry.subject))
        if known is not None and known[0].hex() != entry.before:
            self._changed_between.setdefault(entry.subject, entry.number)

    def _forget(self, entry: Entry) -> None:
        """Drop the digests of texts that an act on many may have changed: only memories have an entry each."""
        kinds = _KINDS if entry.act == "sync" else _KINDS & {entry.subject_kind}
        for kind in kinds - {Kind.MEMORY}:
            self._drop(kind)

    def _drop(self, kind: Kind) -> None:
        for key in [key for key in self._last if key[0] is kind]:
            del self._last[key]


def fields_differ(names: tuple[str, ...]) -> str:
    """Return the sentence that names the fields of a record that are not as the trail has them."""
    named = ", ".join(names) or "text or name, and perhaps more of it,"
    verb = "are" if len(names) > 1 else "is"
    return f"its {named} {verb} not what the trail has the digest of"


def link_missing(number: int) -> str:
    """Return the sentence for a link that is gone, of which the trail has no more than the entry that wrote it."""
    return f"{MISSING}; entry {number} wrote it"


def passed_on(number: int) -> str:
    """Return the sentence for a record that an act took over as somebody had changed it past the trail."""
    return f"before entry {number} it was not as the trail had it by then"


def _difference(record: Record, reason: str) -> TrailDifference:
    return TrailDifference(record.kind, record.id, reason)
