"""The audit trail: an entry for each act, in its transaction, or in a separate one if it was refused."""

import threading
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice, takewhile
from types import MappingProxyType
from typing import Protocol

from minutebook.feature import Event, listeners
from minutebook.memory.access.visibility import Clock, seen_by, seen_in
from minutebook.memory.screening.secrets import masked
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import Fault, MinutebookError, Refused
from minutebook.record.filters import Filter, default_organization
from minutebook.record.policy import Owned
from minutebook.record.records import (
    CLASSES,
    SYSTEM_ORGANIZATION,
    Entry,
    Head,
    Key,
    Kind,
    Memory,
    Record,
)
from minutebook.record.trust import trail
from minutebook.record.trust.acts import EACH, FINAL, RESET, TAKE_IN, TAKE_IN_PERSONS
from minutebook.record.trust.fingerprints import (
    Fingerprinted,
    fingerprint,
    has_fingerprint,
    id_in_trail,
    is_same_state,
)
from minutebook.record.trust.trail import HEAD, Break, first_break
from minutebook.store.protocol import Snapshot, Tended
from minutebook.store.sql.side_words import SideWords
from minutebook.store.values import Change


class ErasedCopies(Protocol):
    """A feature's copies of records outside the store."""

    def note(self, keys: Sequence[Key]) -> None:
        """Note that records were removed, in the transaction that did it."""

    def remove(self) -> Sequence[str]:
        """Remove the copies; return the steps left to a person. Raises StoreBusy or StoreError if a store cannot be written."""


def forget_erased(store: Tended, records: Sequence[Key]) -> None:
    """Remove the rows of features about records that are being erased, in the transaction."""
    for forget in listeners(Event.ERASE):
        forget(store, records)
    ids = defaultdict[str, set[str]](set)
    for organization, _, id in records:
        ids[organization].add(id)
    for organization, erased in ids.items():
        SideWords(store.database).forget(organization, erased)


def decisions_among(records: Sequence[Key]) -> dict[str, list[str]]:
    """Return the ids of the decisions among records, by organization."""
    decided: dict[str, list[str]] = {}
    for organization, kind, id in records:
        if kind is Kind.DECISION:
            decided.setdefault(organization, []).append(id)
    return decided


def break_among(
    head: Head | None, entries: Iterator[Entry], noted: Collection[Head]
) -> Break | None:
    """Return the first break in a trail, given its head and its entries in order; None if it is sound.

    `noted` are heads that were noted elsewhere. They and `head` show a removal of the last entries.
    """
    last = 0

    def watched() -> Iterator[Entry]:
        nonlocal last
        for entry in entries:
            last = entry.number
            yield entry

    broken = first_break(watched(), [*noted, *([] if head is None else [head])])
    end = 0 if head is None else head.number
    if broken is None and last > end:
        return Break(end + 1, f"it was added: the trail ends with entry {end}")
    return broken


def head_of(moment: Snapshot, organization: str) -> Head | None:
    """Return the head of a trail at a moment; None if the trail has no entry."""
    here = Filter(organization=organization, ids=frozenset({HEAD}))
    return next(moment.each(Head, here), None)


def entries_of(moment: Snapshot, organization: str) -> Iterator[Entry]:
    """Yield the entries of a trail at a moment, in order."""
    return moment.each(Entry, Filter(organization=organization), ["number"])


EVERYTHING = "*"
"""The subject of an act that concerns all records."""

_NO_FEED: Mapping[str, int] = MappingProxyType({})

MOST_IN_ENTRY = 500
"""The most fingerprints in one entry; an act on more records has further entries."""

LONGEST_WORD = 1000
"""The most characters of a subject or a request's id in an entry, for callers choose both."""


@dataclass(slots=True)
class AuditDraft:
    """The audit entry of an act under way, and its permission check.

    Before it writes, an act calls `check` or `may` for every record that it puts or removes, so
    that one rule decides for all acts on all kinds; an act that called neither fails at its end.
    `digests` are those of the text before and after, `note` replaces the caller's reason, `taken` are memories that get an
    entry each. By kind and id, `noted` has the records as they were before (None: new), `before` their fingerprints.
    """

    caller: Caller
    act: str
    organization: str
    subject: str
    digests: tuple[str, str] = ("", "")
    note: str = ""
    taken: list["TakenIn"] = field(default_factory=list)
    idle: bool = field(default=False)
    has_asked: bool = field(default=False)
    before: dict[tuple[Kind, str], str] = field(default_factory=dict)
    noted: dict[tuple[Kind, str], Record | None] = field(default_factory=dict)
    store: Tended | None = None

    def check(self, *records: Owned) -> None:
        """Raise Forbidden or ScopeViolation if the caller may not write to a record's scope.

        It may be called without a record by an act that calls `may` for each record that it finds, if it may find none.
        """
        self.has_asked = True
        for record in records:
            policy.check_may_write_to(self.caller, self.act, record)
            if isinstance(record, Record):
                self.note_before(record)

    def may(self, record: Owned) -> bool:
        """Tell whether the caller may write to a record's scope; for acts that skip records."""
        self.has_asked = True
        return policy.may_write_to(self.caller, record)

    def changes(self, before: str | None, after: str | None) -> None:
        """Set the digests of the record's text before and after; None if there is no text."""
        self.digests = _digests(before, after)

    def takes_in(self, memory: str, before: str | None, after: str | None) -> None:
        """Request an entry for a memory that this act on many took in, changed or removed, with its texts before and after."""
        self.taken.append(TakenIn(memory, _digests(before, after)))

    def note_before(self, record: Record) -> None:
        """Note the stored state of a record before the act writes, and its fingerprint; `check` calls this itself."""
        if self.store is None or not has_fingerprint(record.kind):
            return
        stored = self.store.get(type(record), record.organization, record.id)
        self.noted.setdefault((record.kind, record.id), stored)
        if stored is not None:
            self.before.setdefault((record.kind, record.id), fingerprint(stored))

    def changes_nothing(self) -> None:
        """Write no entry: the act changed nothing."""
        self.idle = True


@dataclass(frozen=True, slots=True)
class TakenIn:
    """A memory that an act on many took in, changed or removed: digests of its text before and after."""

    memory: str
    digests: tuple[str, str]
    is_persons: bool = False
    """Whether a person wrote or confirmed that text, on another machine of theirs."""

    @classmethod
    def from_change(cls, id: str, before: Record | None, after: Record | None) -> "TakenIn":
        """Return the change of a memory from one state to another; None for a state in which there is no memory."""
        texts = (each.text if isinstance(each, Memory) else None for each in (before, after))
        return cls(id, _digests(*texts))


@dataclass(frozen=True, slots=True)
class Acts:
    """Entries of a trail, oldest first; `is_cut` tells that there are earlier ones."""

    entries: list[Entry]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A refused act for which an entry is to be written; `outcome` is the error's class."""

    audit: AuditDraft
    kind: Kind
    outcome: str


class _Batch(threading.local):
    """The refusals of the thread's batch, to be written after its transaction was undone; None outside a batch."""

    refusals: list[_Refusal] | None = None


class Trail:
    """Writes the audit trail, shows it and verifies it."""

    def __init__(self, store: Tended, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._batch = _Batch()

    @contextmanager
    def audit_refusals(
        self, caller: Caller, organization: str | None, act: str, kind: Kind, subject: str
    ) -> Iterator[None]:
        """Write an entry for a Refused that is raised inside the block, and raise it again.

        It goes to the trail of the caller's own organization if none is given, or the system's, whose trail
        everyone may read.
        """
        try:
            yield
        except Refused as error:
            home = organization
            if home is None or home == SYSTEM_ORGANIZATION:
                home = default_organization(caller)
            audit = AuditDraft(caller, act, home, subject)
            refusal = _Refusal(audit, kind, type(error).__name__)
            if self._batch.refusals is None:
                self._append_refusals([refusal])
            else:
                self._batch.refusals.append(refusal)
            raise

    @contextmanager
    def audit_errors(
        self, caller: Caller, act: str, subject: str, kinds: tuple[type[MinutebookError], ...]
    ) -> Iterator[None]:
        """Write an entry for an error of some classes that is raised inside the block, and raise it again."""
        try:
            yield
        except kinds as error:
            home, outcome = default_organization(caller), type(error).__name__
            self.log(caller, home, act, Kind.MEMORY, [subject], outcome)
            raise

    @contextmanager
    def audited(
        self,
        caller: Caller,
        organization: str,
        act: str,
        kind: Kind,
        subject: str,
        *,
        also: Collection[str] = (),
    ) -> Iterator[AuditDraft]:
        """Run an act as one transaction that ends with its entry; if it is refused, only the entry is kept.

        The entry goes to the trail of `organization`. The act may write there and to the organizations in `also`.
        Raises Fault, with nothing changed, if the act never called `check` or `may`.
        """
        audit = AuditDraft(caller, act, organization, subject, store=self._store)
        with (
            self.audit_refusals(caller, organization, act, kind, subject),
            self._store.transaction(organization, *also),
        ):
            begun = {each: self._store.sequence(each) for each in (organization, *also)}
            yield audit
            if not audit.idle:
                if not audit.has_asked:
                    raise Fault(act, caller.call.request)
                self.take_in(caller, organization, audit.taken)
                if audit.taken:
                    audit.note = _reason_of_each(caller)
                self._append(audit, kind, trail.DONE, begun)

    @contextmanager
    def audited_batch(self, organizations: Collection[str]) -> Iterator[None]:
        """Run several acts as one transaction; if one is refused, only the refusals' entries are kept.

        The acts write to these organizations alone.
        """
        self._batch.refusals = []
        try:
            with self._store.transaction(*organizations):
                yield
        finally:
            refusals, self._batch.refusals = self._batch.refusals, None
            if refusals:
                self._append_refusals(refusals)

    def log(
        self,
        caller: Caller,
        organization: str,
        act: str,
        kind: Kind,
        subjects: Sequence[str],
        outcome: str = trail.DONE,
        *,
        note: str = "",
        begun: int | None = None,
    ) -> None:
        """Write an entry for each subject of an act that changed no record, such as a read.

        A `note` replaces the caller's reason. An act that did change records gives in `begun` the organization's
        sequence at the beginning of its transaction.
        """
        with self._store.transaction(organization):
            for subject in subjects:
                draft = AuditDraft(caller, act, organization, subject, note=note)
                self._append(draft, kind, outcome, {} if begun is None else {organization: begun})

    def log_many(
        self,
        caller: Caller,
        organization: str,
        act: str,
        kind: Kind,
        subject: str,
        taken: Sequence[TakenIn] = (),
        begun: int | None = None,
    ) -> None:
        """Write the entry of an act on many records, after one for each memory that it took in; `begun` is as in `log`."""
        with self._store.transaction(organization):
            self.take_in(caller, organization, taken)
            note = _reason_of_each(caller)
            self.log(caller, organization, act, kind, [subject], note=note, begun=begun)

    def take_in(self, caller: Caller, organization: str, taken: Sequence[TakenIn]) -> None:
        """Write an entry for each memory that an act on many took in, inside its transaction."""
        last = self.head(organization) if taken else None
        for each in taken:
            act = TAKE_IN_PERSONS if each.is_persons else TAKE_IN
            draft = AuditDraft(caller, act, organization, each.memory, each.digests)
            last = trail.head_of(self._seal(draft, Kind.MEMORY, trail.DONE, (), last))
        if last is not None:
            self._store.put(last)

    def entries(
        self,
        caller: Caller,
        *,
        actor: str | None = None,
        act: str | None = None,
        subject: str | None = None,
        outcome: str | None = None,
        client: str | None = None,
        since: datetime | None = None,
        after: Mapping[str, int] | None = None,
        limit: int | None = None,
    ) -> list[Entry]:
        """Return the entries of the caller's organizations that meet every condition, newest first.

        `after` has by organization the number of an entry that the entries must follow. Raises Forbidden if the caller is bound
        to a repository or a user.
        """
        policy.check_may_audit(caller)
        conditions = {"actor": actor, "act": act, "subject": subject, "outcome": outcome}
        equal = {name: value for name, value in conditions.items() if value is not None}
        found: list[Entry] = []
        for organization in seen_by(self._store, caller).organizations:
            here = Filter(organization=organization, equal=equal, client=client)
            last = 0 if after is None else after.get(organization, 0)
            newest_first = self._store.each(Entry, here, ["-number"])
            entries = takewhile(partial(_follows, last), newest_first)
            found += islice((e for e in entries if since is None or e.at >= since), limit)
        found.sort(key=lambda e: (e.at, e.organization, e.number), reverse=True)
        return found[:limit]

    def has(self, organization: str, act: str, kind: Kind, subject: str, text: str) -> bool:
        """Tell whether an organization's trail has an act on a subject that left it with this text."""
        equal = {
            "act": act,
            "subject_kind": kind,
            "subject": subject,
            "outcome": trail.DONE,
            "after": trail.text_digest(text),
        }
        return self._store.count(Entry, Filter(organization=organization, equal=equal)) > 0

    def tells_removed(self, organization: str, kind: Kind, id: str) -> bool:
        """Tell whether the last act that names a record removed it; a reset names no records."""
        equal = {"subject": id, "subject_kind": kind, "outcome": trail.DONE}
        about = Filter(organization=organization, equal=equal)
        return any(
            entry.act == trail.ERASE
            or (entry.before and not entry.after)
            or any(
                (each.kind, each.id, each.after) == (kind, id, "")
                for each in map(Fingerprinted.from_text, entry.fingerprints)
            )
            for entry in self._store.find(Entry, about, order=("-number",), limit=1)
        )

    def knows(self, record: Record) -> bool:
        """Tell whether the trail has an act of this store that left a record in its present state."""
        if not has_fingerprint(record.kind):
            return False
        equal = {"subject": record.id, "outcome": trail.DONE}
        found = self._store.find(Entry, Filter(organization=record.organization, equal=equal))
        id, state = id_in_trail(record.kind, record.id), fingerprint(record)
        return any(
            (each.kind, each.id) == (record.kind, id) and is_same_state(each.after, state)
            for entry in found
            if entry.act not in (TAKE_IN, TAKE_IN_PERSONS)
            for each in map(Fingerprinted.from_text, entry.fingerprints)
        )

    def each(self, caller: Caller, organization: str) -> Iterator[Entry]:
        """Yield an organization's entries. Raises Forbidden as `entries` does, NotFound if the organization is not open."""
        policy.check_may_audit(caller)
        here = Filter(organization=seen_in(self._store, organization, caller).organization)
        yield from self._store.each(Entry, here, ())

    def acts(self, organization: str, since: datetime, until: datetime, most: int) -> "Acts":
        """Return an organization's entries with since ≤ instant < until, of these the latest `most`.

        An entry may be shown to callers who may see its record.
        """
        head = self.head(organization)
        last = 0 if head is None else head.number
        first, end = (self._number_at(organization, last, at) for at in (since, until))
        ids = frozenset(map(str, range(max(first, end - most), end)))
        here = Filter(organization=organization, ids=ids)
        entries = self._store.find(Entry, here, order=("number",)) if ids else []
        return Acts(entries, end - first > most)

    def _number_at(self, organization: str, last: int, at: datetime) -> int:
        """Return the number of the trail's first entry at or after an instant."""
        low, high = 1, last + 1
        while low < high:
            middle = (low + high) // 2
            entry = self._store.get(Entry, organization, str(middle))
            if entry is None or entry.at < at:
                low = middle + 1
            else:
                high = middle
        return low

    def ends(self, caller: Caller) -> dict[str, int]:
        """Return the number of the last entry of each of the caller's organizations.

        Raises Forbidden as `entries` does.
        """
        return {head.organization: head.number for head in self.heads(caller)}

    def heads(self, caller: Caller) -> list[Head]:
        """Return the heads of the trails of the caller's organizations. Raises Forbidden as `entries` does."""
        policy.check_may_audit(caller)
        heads = [self.head(name) for name in seen_by(self._store, caller).organizations]
        return [head for head in heads if head is not None]

    def head(self, organization: str) -> Head | None:
        """Return the head of a trail, None if it has no entry; noted elsewhere, it proves the trail later."""
        return self._store.get(Head, organization, trail.HEAD)

    def verify(self, organization: str, noted: Head | None = None) -> trail.Break | None:
        """Return the first break in an organization's trail, None if it is sound; in constant memory.

        `noted` is a head that was noted elsewhere. Entries that others append meanwhile do no harm.
        """
        with self._store.snapshot(organization) as moment:
            head, entries = head_of(moment, organization), entries_of(moment, organization)
            return break_among(head, entries, [] if noted is None else [noted])

    def _append_refusals(self, refusals: Sequence[_Refusal]) -> None:
        with self._store.transaction(*(each.audit.organization for each in refusals)):
            for each in refusals:
                self._append(each.audit, each.kind, each.outcome)

    def _append(
        self, audit: AuditDraft, kind: Kind, outcome: str, begun: Mapping[str, int] = _NO_FEED
    ) -> None:
        """Append the entry of an act, with fingerprints of the records changed since `begun`, by organization."""
        changed = {name: self._changes(audit, name, since) for name, since in begun.items()}
        prints = [
            each for name, some in changed.items() for each in self._fingerprints(audit, name, some)
        ]
        last = self.head(audit.organization)
        while len(prints) > MOST_IN_ENTRY:
            part = AuditDraft(audit.caller, TAKE_IN, audit.organization, EVERYTHING)
            first, prints = prints[:MOST_IN_ENTRY], prints[MOST_IN_ENTRY:]
            last = trail.head_of(self._seal(part, Kind.HEAD, trail.DONE, first, last))
        entry = self._seal(audit, kind, outcome, prints, last)
        self._store.put(trail.head_of(entry))
        if changes := changed.get(audit.organization):
            # An erasure removes the words of all its records by itself (`forget_erased`).
            if entry.act in FINAL - {trail.ERASE}:
                changed_ids = {each.id for each in changes}
                SideWords(self._store.database).forget(audit.organization, changed_ids)
            for note in listeners(Event.ACT):
                note(self._store, entry, changes, audit.noted)

    def _changes(self, audit: AuditDraft, organization: str, begun: int) -> list[Change]:
        """Return the changes of records with fingerprints since the sequence `begun` of an organization.

        In another organization than the entry's only tokens count, which are audited in the one that they are bound to.
        """
        is_home = organization == audit.organization
        return [
            each
            for each in self._store.changes(organization, begun)
            if has_fingerprint(each.kind) and (is_home or each.kind is Kind.TOKEN)
        ]

    def _fingerprints(
        self, audit: AuditDraft, organization: str, changes: Sequence[Change]
    ) -> Iterator[str]:
        """Yield a `Fingerprinted` as text for each record that an act changed."""
        for change in changes:
            id = id_in_trail(change.kind, change.id)
            # An erasure must not leave a new digest of what it erased.
            is_erased = audit.act == trail.ERASE
            before = "" if is_erased else audit.before.get((change.kind, change.id), "")
            if change.deleted:
                # A reset may remove all records, so its entry does not list them.
                if audit.act != RESET:
                    yield Fingerprinted(change.kind, id, before, "").text()
                continue
            record = self._store.get(CLASSES[change.kind], organization, change.id)
            if record is not None:
                yield Fingerprinted(change.kind, id, before, fingerprint(record)).text()

    def _seal(
        self, audit: AuditDraft, kind: Kind, outcome: str, made: Sequence[str], last: Head | None
    ) -> Entry:
        """Write the entry of an act after the head `last`, and return it; the caller writes the new head."""
        caller, (before, after) = audit.caller, audit.digests
        act = trail.Act(
            actor=caller.name,
            role=caller.role,
            act=audit.act,
            subject_kind=kind,
            subject=audit.subject[:LONGEST_WORD],
            request=caller.call.request[:LONGEST_WORD],
            outcome=outcome,
            before=before,
            after=after,
            token=caller.token,
            origin=caller.call.origin,
            # Secrets are masked, because nothing can be removed from a sealed entry.
            reason=audit.note or masked(caller.call.reason),
            fingerprints=tuple(made),
        )
        entry = trail.sealed(audit.organization, last, act, self._clock())
        self._store.put(entry)
        return entry


def _digests(before: str | None, after: str | None) -> tuple[str, str]:
    """Return the digests of a text before and after; "" if there is no text."""
    return (
        "" if before is None else trail.text_digest(before),
        "" if after is None else trail.text_digest(after),
    )


def _reason_of_each(caller: Caller) -> str:
    """Return the reason of an act on many memories that each have an entry of their own."""
    reason = masked(caller.call.reason)
    return f"{reason}; {EACH}" if reason else EACH


def _follows(number: int, entry: Entry) -> bool:
    return entry.number > number
