"""This store's state of each record in one remote, kept up to date with the records themselves."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from minutebook.features.sync.change_files import ChangeEntry as FileEntry
from minutebook.features.sync.replication import (
    REMOVED,
    UNKNOWN,
    ReplicaState,
    Sibling,
    digest_of,
    document_of,
    merge,
    state_of,
    travelling_line,
)
from minutebook.features.sync.rows import SENT, UNSENT, SyncRow, SyncRows
from minutebook.features.sync.sync_conflicts import SyncConflict, resolve
from minutebook.memory.access.audit import TakenIn
from minutebook.memory.access.doors import Doors
from minutebook.memory.intake import IntakeReport, Removals, verdict_on
from minutebook.memory.knowledge.mentions import Mentions
from minutebook.record.filters import Filter
from minutebook.record.ids import RandomBits
from minutebook.record.records import CLASSES, Decision, Entry, Key, Kind, Memory, Record, Version
from minutebook.record.trust.doors import Voice
from minutebook.record.trust.trail import ERASE
from minutebook.record.writing.decision_drafts import is_erased_decision
from minutebook.record.writing.source_drafts import SourcePlace
from minutebook.store.protocol import Store

_BATCH = 1000


@dataclass(slots=True)
class Marks:
    """The progress of the exchange between this store and a remote.

    `machine` is this store's id there, `number` that of its last file that arrived. `feed` is by
    organization the sequence up to which its changes were read. `taken` is by machine the number up to which all its files
    were taken in, `beyond` are the numbers taken in after a file that could not be. `outbox` is the number and digest of a
    file that is being sent, or None. `has_erased` tells that an erasure was sent or taken in, so that older files and free
    pages may still contain erased text.
    """

    machine: str
    number: int = 0
    feed: dict[str, int] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)
    beyond: dict[str, list[int]] = field(default_factory=dict)
    outbox: list[Any] | None = None
    has_erased: bool = False

    def published(self) -> dict[str, int]:
        """Return by machine the number up to which its files were in the remote, as far as this store knows."""
        return {**self.taken, self.machine: self.number}

    def has_taken(self, machine: str, number: int) -> bool:
        """Tell whether a machine's file was taken in."""
        return number <= self.taken.get(machine, 0) or number in self.beyond.get(machine, ())

    def take(self, machine: str, number: int) -> None:
        """Note that a machine's file was taken in."""
        beyond = {*self.beyond.get(machine, ()), number}
        mark = self.taken.get(machine, 0)
        while mark + 1 in beyond:
            mark += 1
        self.taken[machine] = mark
        self.beyond[machine] = sorted(each for each in beyond if each > mark)

    def cover(self, machine: str, number: int) -> None:
        """Note that all of a machine's files up to a number were taken in, by a snapshot that contains them."""
        if number > self.taken.get(machine, 0):
            beyond = self.beyond.pop(machine, [])
            self.taken[machine] = number
            for each in beyond:
                if each > number:
                    self.take(machine, each)


class KnownRecords:
    """The states of records in one remote; every method but `scan` is called inside a transaction on their organizations.

    `doors` tell the voices of memories; None if nothing is sent.
    """

    def __init__(
        self,
        store: Store,
        removals: Removals,
        rows: SyncRows,
        remote: str,
        mentions: Mentions,
        randbits: RandomBits,
        kinds: frozenset[Kind],
        doors: Doors | None = None,
    ) -> None:
        self._removals = removals
        self.report = IntakeReport()
        """The verdicts on the records of the last `take_all`."""
        self._store = store
        self._rows = rows
        self.remote = remote
        self._mentions = mentions
        self.kinds = kinds
        self._doors = doors
        self._randbits = randbits
        self.taken: dict[str, list[TakenIn]] = {}
        """By organization the changes of memories in the last `take_all`."""
        noted = rows.marks(remote)
        self.marks = Marks(**noted) if noted else Marks(self._new_name())

    def save(self) -> None:
        """Store the marks; call it in the transaction of the rows that they are about."""
        self._rows.put_marks(self.remote, asdict(self.marks))

    def scan(self) -> None:
        """Note every edit that was made here since the last scan."""
        for organization in self._store.organizations():
            since = self.marks.feed.get(organization, 0)
            while changes := self._store.changes(organization, since, _BATCH):
                since = changes[-1].sequence
                with self._store.transaction(organization):
                    for change in changes:
                        if change.kind in self.kinds:
                            self.observe((organization, change.kind, change.id))
                    self.marks.feed[organization] = since
                    self.save()

    def observe(self, key: Key) -> ReplicaState:
        """Return the state of a record, with lines; if it was edited here since, note that."""
        row = self._rows.get(self.remote, key)
        line = travelling_line(self._record(key))
        digest = digest_of(line)
        if row is None:
            if line is None:
                return UNKNOWN
            state = UNKNOWN.edited(self.marks.machine, line)
            self._put(key, digest, state, UNSENT)
            return state
        state = state_of(json.loads(row.state))
        if row.digest == digest:
            return _with_line(state, digest, line)
        dot = state.siblings[0].dot
        if row.file == UNSENT and len(state.siblings) == 1 and dot[0] == self.marks.machine:
            # The edit that this one replaces was not sent yet, so this one takes its dot.
            state = replace(state, siblings=(Sibling(dot, digest, line),))
        else:
            state = state.edited(self.marks.machine, line)
        self._put(key, digest, state, UNSENT)
        return state

    def entry(self, key: Key) -> FileEntry:
        """Return the entry of a record: its state, whether it was erased, and whether its words are a person's."""
        state = self.observe(key)
        is_erased = state.digests == {REMOVED} and self.is_erased(key)
        return FileEntry(key, state, is_erased, self._is_persons(key))

    def _is_persons(self, key: Key) -> bool:
        organization, kind, id = key
        memory = self._store.get(Memory, organization, id) if kind is Kind.MEMORY else None
        if memory is None or self._doors is None:
            return False
        return self._doors.voice(memory) is Voice.PERSON

    def taken_from(self, organization: str, batch: Sequence[FileEntry]) -> list[TakenIn]:
        """Return the changes to an organization's memories in the last `take_all`, with whether the text is a person's there."""
        persons = {each.key[2]: each.persons_text for each in batch if each.key[0] == organization}
        return [
            replace(each, is_persons=each.digests[1] == persons.get(each.memory))
            for each in self.taken.get(organization, ())
        ]

    def is_erased(self, key: Key) -> bool:
        """Tell whether a record, or the memory of a version, was erased here, so that it must not come back."""
        organization, kind, id = key
        if kind is Kind.VERSION:
            kind, id = Kind.MEMORY, id.rpartition(".")[0]
        equal = {"subject": id, "act": ERASE, "subject_kind": kind, "outcome": "done"}
        there = self._store.get(CLASSES[kind], organization, id) is not None
        found = Filter(organization=organization, equal=equal)
        # An erased decision is still there, without its text, and is not meant.
        return not there and self._store.count(Entry, found) > 0

    def take_all(
        self, batch: Sequence[tuple[Key, ReplicaState]], erased: Collection[Key] = ()
    ) -> list[SyncConflict]:
        """Merge another machine's states of some records; return the conflicts that this made.

        Records that were `erased` there, or erased here, are removed. Memories are taken first and those to be removed
        last, because versions and links are removed with their memory.
        """
        self.taken, self.report = {}, IntakeReport()
        removed_memories = {
            (key[0], key[2])
            for key, state in batch
            if key[1] is Kind.MEMORY
            and REMOVED in state.digests
            and merge(self.observe(key), state).digests == frozenset({REMOVED})
        }

        def place(item: tuple[Key, ReplicaState]) -> int:
            (organization, kind, id), _ = item
            if kind is not Kind.MEMORY:
                return 1
            return 2 if (organization, id) in removed_memories else 0

        found = [
            self._take(key, state, removed_memories, is_erased=key in erased)
            for key, state in sorted(batch, key=place)
        ]
        for organization, taken in self.taken.items():
            # Without those of erased memories, because a digest would confirm a guess of the text.
            self.taken[organization] = [
                each for each in taken if (organization, Kind.MEMORY, each.memory) not in erased
            ]
        return [each for each in found if each is not None]

    def _take(
        self,
        key: Key,
        incoming: ReplicaState,
        removed_memories: Collection[tuple[str, str]],
        *,
        is_erased: bool,
    ) -> SyncConflict | None:
        """Merge another machine's state of a record into the one here; return a conflict that this made."""
        here = self.observe(key)
        state, earlier = merge(here, incoming), self._record(key)
        is_erased = is_erased or (self.is_erased(key) and not self._removals.again)
        # If the states share no machine, the other machine knows no edit of the record that was made here.
        is_unheard = not here.context.keys() & incoming.context.keys()
        brought = resolve(incoming).shown if is_unheard else None
        is_removed = brought is not None and self._removals.has_removed_with(brought, earlier)
        if state.digests != {REMOVED} and (is_erased or is_removed):
            # A new edit that leaves it removed replaces all others on every machine.
            kept = None if is_erased else earlier
            after = state.edited(self.marks.machine, travelling_line(kept))
            self._put(key, self._show(key, kept, earlier), after, UNSENT)
            verdict = verdict_on(None, earlier, was_removed=is_removed or earlier is None)
            self.report.note(verdict, key[1], SourcePlace(f"{key[1]} {key[2]}"))
            return None
        if (state.context, _dots(state)) == (here.context, _dots(here)):
            self.report.note(verdict_on(earlier, earlier), key[1])
            return None
        row = self._rows.get(self.remote, key)
        file = SENT if row is None else row.file
        resolution = resolve(state)
        shown = resolution.shown
        if (
            shown is None
            and isinstance(earlier, Version)
            and self._has_memory(earlier, removed_memories)
        ):
            # Its memory was removed there and edited here, so that memory and versions are kept.
            state, shown, file = state.derived(travelling_line(earlier)), earlier, UNSENT
        if len(state.digests) > 1 and isinstance(shown, Decision) and is_erased_decision(shown):
            # No state and no file may contain its text any more.
            state, file = state.derived(travelling_line(shown)), UNSENT
        self.report.note(verdict_on(shown, earlier), key[1])
        digest = self._show(key, shown, earlier)
        self._put(key, digest, state, file)
        for record in resolution.added:
            self._add(record)
        was_conflict = len(here.digests) > 1 and here.digests == state.digests
        return None if was_conflict else resolution.conflict

    def rename(self) -> None:
        """Take another machine id, because another store uses this one: a copy of it, or it was restored.

        Edits that are being sent under the old id are sent anew.
        """
        marks, old = self.marks, self.marks.machine
        marks.taken[old], marks.number = marks.number, 0
        while marks.machine in marks.taken:
            marks.machine = self._new_name()
        files = [UNSENT] if marks.outbox is None else [UNSENT, int(marks.outbox[0])]
        for file in files:
            for row in self._rows.sending(self.remote, file):
                state = state_of(json.loads(row.state)).renamed(old, marks.machine)
                self._rows.put(
                    self.remote, replace(row, state=_json(state, row.digest), file=UNSENT)
                )
        marks.outbox = None
        self.save()

    def _add(self, record: Record) -> None:
        """Write a record that follows from a conflict, unless it is here or was here before."""
        key = (record.organization, record.kind, record.id)
        if self._rows.get(self.remote, key) is None and self._record(key) is None:
            line = travelling_line(record)
            digest = self._show(key, record, None)
            self._put(key, digest, UNKNOWN.derived(line), UNSENT)

    def _show(self, key: Key, shown: Record | None, earlier: Record | None) -> str:
        """Write, or remove, a record in the store so that it is as `shown`; return its digest. `earlier` is the record now."""
        line = travelling_line(shown)
        if line == travelling_line(earlier):
            return digest_of(line)
        organization, kind, id = key
        if kind is Kind.MEMORY:
            self.taken.setdefault(organization, []).append(TakenIn.from_change(id, earlier, shown))
        if shown is None:
            self._store.delete(CLASSES[kind], organization, id)
            return REMOVED
        if isinstance(shown, Decision) and isinstance(earlier, Decision):
            shown = replace(shown, commit_id=earlier.commit_id)
        self._store.put(shown)
        self._mentions.note(shown)
        return digest_of(line)

    def _has_memory(self, version: Version, removed: Collection[tuple[str, str]]) -> bool:
        home, memory = version.organization, version.memory
        return (home, memory) not in removed and self._store.get(Memory, home, memory) is not None

    def _record(self, key: Key) -> Record | None:
        organization, kind, id = key
        return self._store.get(CLASSES[kind], organization, id)

    def _put(self, key: Key, digest: str, state: ReplicaState, file: int) -> None:
        self._rows.put(self.remote, SyncRow(key, digest, _json(state, digest), file))

    def _new_name(self) -> str:
        return f"{self._randbits(64):016x}"


def _json(state: ReplicaState, digest: str) -> str:
    """Return a state as JSON for the store, without the line of the record with this digest, which the store has."""
    siblings = tuple(
        replace(each, line=None) if each.digest == digest else each for each in state.siblings
    )
    return json.dumps(document_of(ReplicaState(state.context, siblings), with_lines=True))


def _with_line(state: ReplicaState, digest: str, line: bytes | None) -> ReplicaState:
    return ReplicaState(
        state.context,
        tuple(replace(e, line=line) if e.digest == digest else e for e in state.siblings),
    )


def _dots(state: ReplicaState) -> set[tuple[str, int]]:
    return {each.dot for each in state.siblings}
