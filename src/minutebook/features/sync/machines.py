"""Synchronizes the stores of a person's machines through a place that all of them reach."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from minutebook.app import App
from minutebook.config.places import machine_name, sync_folder
from minutebook.features.ledger.mirror.ledger_texts import LedgerTexts
from minutebook.features.ledger.mirror.rebuilding import Rebuilds
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.features.sync.change_files import (
    ChangeEntry,
    ChangeWriter,
    Header,
    Verified,
    entries,
    verify,
)
from minutebook.features.sync.comparing import MachineComparison, compare
from minutebook.features.sync.copies import remove_copies
from minutebook.features.sync.known import KnownRecords, Marks
from minutebook.features.sync.remote_files import (
    RemoteFiles,
    identity_of,
    name_of_changes,
    reason_of,
)
from minutebook.features.sync.remotes import NameTaken, Remote
from minutebook.features.sync.replication import TRAVELLING
from minutebook.features.sync.rows import SyncRow, SyncRows
from minutebook.features.sync.sync_conflicts import SyncConflict
from minutebook.memory.access.audit import forget_erased
from minutebook.memory.intake import IntakeReport, Removals
from minutebook.record import policy
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import (
    InvalidArchive,
    InvalidInput,
    LedgerError,
    StoreBusy,
    StoreError,
)
from minutebook.record.json_lines import json_line
from minutebook.record.reason import Reason, count_of, os_error_reason
from minutebook.record.records import Decision, Key, Kind
from minutebook.record.trust.done_acts import DoneAct, Undoing
from minutebook.record.trust.trail import ERASE
from minutebook.record.writing.decision_drafts import is_erased_decision
from minutebook.store.disk.atomic_file import replacing

ACT = "sync"

BATCH = 500
"""Records that are sent in one file of changes, or taken in by one transaction; decisions may be more."""

MOST_BYTES = 8 << 20
"""Bytes after which a file of changes ends."""

COMPACT_FROM = 64
"""The least files of changes that a snapshot replaces unasked."""

_MISSING = (
    "it is missing: a program that copies the folder may still be at it; else the next sync of a "
    "machine that has it leaves it there again"
)


@dataclass(slots=True)
class SyncReport(IntakeReport):
    """The results of a sync: records sent and taken, conflicts, files that could not be read."""

    machine: str = ""
    sent: int = 0
    taken: int = 0
    files: Counter[str] = field(default_factory=Counter)
    """The number of files taken in, by the name of the machine that wrote them."""
    conflicts: list[SyncConflict] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Names of files that were not taken in, with the reasons."""
    erased: int = 0
    """The number of records erased here because they were erased on another machine."""
    compacted: int = 0
    """The number of files of changes that a snapshot replaced."""
    lost: int = 0
    """The number of files that were missing from the remote, in place of which a snapshot was sent."""


class MachineSync:
    """Exchanges edits with the stores of other machines; the next sync finishes one that was killed."""

    def __init__(self, app: App) -> None:
        self._common = app.infrastructure
        self._trail, self._mentions, self._doors = app.trail, app.mentions, app.doors
        self._rebuilds, self._ledger_texts = app.get(Rebuilds), app.get(LedgerTexts)
        self._work, self._name = sync_folder(app.settings), machine_name()
        decisions_travel = app.settings.of(LedgerSettings).ledger is None
        self._kinds = frozenset(TRAVELLING) - (set() if decisions_travel else {Kind.DECISION})

    def run(
        self, caller: Caller, remote: Remote, *, compact: bool = False, again: bool = False
    ) -> SyncReport:
        """Take in the changes of other machines, and send those made here.

        A record that was removed here, and comes from a machine that does not know of that, is taken in only with
        `again`: else it is removed from the others, too.

        Raises Refused if the caller may not export and import a whole store, InvalidInput if the
        store or the remote does not fit, StoreBusy if a sync is under way, StoreError if the remote cannot
        be reached or a file cannot be read or written.
        """
        with self._exchange(caller, remote, again=again) as exchange:
            exchange.resume()
            exchange.take()
            exchange.send()
            exchange.report.lost = sum(1 for _ in exchange.lost())
            is_asked = compact or exchange.marks.has_erased
            exchange.compact_if_due(compact=is_asked or exchange.report.lost > 0)
            if exchange.marks.has_erased:
                # Copies of remotes still have the old files, and free pages the records removed just now.
                remove_copies(self._work)
                self._common.store.upkeep.scrub()
                exchange.note_erasure(is_open=False)
        self._common.embeddings.notify()
        return exchange.report

    def compare(self, caller: Caller, remote: Remote) -> MachineComparison:
        """Compare every record here with the merged files of the remote; changes nothing here.

        Raises as `run` does.
        """
        with self._exchange(caller, remote) as exchange:
            return compare(self._common.store, exchange.files, exchange.marks, self._kinds)

    @contextmanager
    def _exchange(
        self, caller: Caller, remote: Remote, *, again: bool = False
    ) -> Iterator["_Exchange"]:
        with self._trail.audit_refusals(caller, None, ACT, Kind.MEMORY, "sync"):
            policy.check_may_export(caller, whole=True)
            policy.check_may_import(caller, self._common.rules(), whole=True)
        rows = SyncRows(self._common.store.database)
        if self._common.store.database.leases is not None:
            raise InvalidInput(
                "REMOTE", "is for stores in a file; machines that use a server share its store"
            )
        with self._common.locks.hold("sync") as held:
            if held is None:
                raise StoreBusy(
                    "another sync of this store is under way; try again when it is done"
                )
            try:
                remove_copies(self._work, only_begun=True)
                remote.pull()
                id = identity_of(remote, self._common.randbits)
                known = KnownRecords(
                    self._common.store,
                    Removals(self._common, again=again),
                    rows,
                    id,
                    self._mentions,
                    self._common.randbits,
                    self._kinds,
                    self._doors,
                )
                yield _Exchange(self, caller, remote, rows, known)
            except OSError as error:
                place = error.filename or remote.folder
                raise StoreError(os_error_reason(place, error)) from error
            finally:
                if self._common.store.database.key is not None:
                    # Beside an encrypted store no plain copy may stay. A file that was being sent is then
                    # sent again, under another machine id.
                    remove_copies(self._work)


class _Exchange:
    """One sync under way; it holds the lock for syncs of the store."""

    def __init__(
        self, sync: MachineSync, caller: Caller, remote: Remote, rows: SyncRows, known: KnownRecords
    ) -> None:
        self._store, self._trail = sync._common.store, sync._trail
        self._rebuilds = sync._rebuilds
        self._ledger_texts = sync._ledger_texts
        self._caller = caller
        self._remote = remote
        self._rows = rows
        self._id = known.remote
        self.files = RemoteFiles(remote.folder, self._id)
        self._known = known
        self._work = sync._work / self._id
        self._name = sync._name
        self.report = SyncReport(machine=known.marks.machine)

    @property
    def marks(self) -> Marks:
        """The progress of the exchange between this store and the remote."""
        return self._known.marks

    # Finishing an earlier sync

    def resume(self) -> None:
        """Finish an exchange that was killed: send its file. Take another id if a copy of this store uses ours."""
        marks = self.marks
        self._work.mkdir(parents=True, exist_ok=True, mode=0o700)
        if marks.outbox is not None:
            staged = self._staged(marks.outbox[0])
            if not staged.is_file() or _digest(staged) != marks.outbox[1]:
                # The file was lost with a restored backup: its records are sent anew, under another id.
                self._rename()
            else:
                self._publish(marks.outbox[0], staged)
        if self.files.last_of(marks.machine) > marks.number:
            self._rename()
        self._known.scan()

    def _rename(self) -> None:
        with self._store.transaction():
            self._known.rename()
        self.report.machine = self.marks.machine

    # From the others

    def take(self) -> None:
        """Take in every file that is new here, each whole or not at all."""
        refused = self._take_files()
        if not self._first_missing():
            return
        snapshots, self.report.refused = self.files.verified("snapshots")
        for each in snapshots:
            covers = each.header.covers
            if any(
                covers.get(machine, 0) >= number
                for machine, number in self._first_missing().items()
            ):
                self._take_verified(each, None)
        if refused and snapshots:
            refused = self._take_files()
        self.report.refused += [
            (name_of_changes(*file), reason) for file, reason in refused.items()
        ]
        for file in sorted(self._first_missing().items()):
            if file not in refused:
                self.report.refused.append((name_of_changes(*file), _MISSING))

    def _take_files(self) -> dict[tuple[str, int], str]:
        """Take in files of changes; return the machine and number of those that cannot be taken, with the reasons.

        A file may depend on another machine's, as when its decision supersedes one of the other's.
        So refused files are tried again as long as others were taken.
        """
        while True:
            new = [
                (machine, number)
                for machine, files in sorted(self.files.changes().items())
                for number in sorted(files)
                if machine != self.marks.machine and not self.marks.has_taken(machine, number)
            ]
            reasons = ((file, self._take(*file)) for file in new)
            refused = {file: reason for file, reason in reasons if reason is not None}
            if len(refused) in (0, len(new)):
                return refused

    def _take(self, machine: str, number: int) -> str | None:
        """Take in a file of changes; return None, or the reason why it cannot be taken."""
        path = self.files.path(machine, number)
        before, erased_before = deepcopy(self.marks), self.report.erased
        try:
            verified = verify(path, self._id)
            if (verified.header.machine, verified.header.number) != (machine, number):
                raise InvalidArchive(path.name, "its name is not that of its header")
            self._take_verified(verified, (machine, number))
        except (InvalidArchive, InvalidInput, LedgerError) as error:
            before.has_erased = self.marks.has_erased
            self._known.marks, self.report.erased = before, erased_before
            return reason_of(error)
        return None

    def _take_verified(self, verified: Verified, file: tuple[str, int] | None) -> None:
        """Take in a verified file, batch by batch; `file` is the machine and number of a file of changes, None for a snapshot."""
        self._erase_decisions(verified)
        taken = 0
        conflicts: list[SyncConflict] = []
        read = (each for each in entries(verified) if each.key[1] in self._known.kinds)
        # Decisions are committed to Git at the end of a transaction, so a file with any is taken in one.
        size = verified.count if verified.decided else BATCH
        while True:
            batch = list(islice(read, max(size, 1)))
            organizations = sorted({each.key[0] for each in batch})
            decided = sorted({each.key[0] for each in batch if each.key[1] is Kind.DECISION})
            is_last = len(batch) < max(size, 1) or verified.decided
            with (
                self._rebuilds.rebuilding(decided) as rebuildings,
                self._store.transaction(*organizations),
            ):
                begun = {name: self._store.sequence(name) for name in organizations}
                erased = {each.key for each in batch if each.erased}
                self._erase(verified, erased)
                found = self._known.take_all([(each.key, each.state) for each in batch], erased)
                self._log(verified, begun, found, batch)
                if is_last:
                    self._note_taken(verified, file)
                # Last, because a commit to Git cannot be undone.
                for organization in decided:
                    rebuildings[organization].run(self._caller_in(organization))
            taken += len(batch)
            conflicts += found
            self.report.add(self._known.report)
            self._caller.call.progress(0.0, f"{verified.path.name}: {count_of(taken, 'record')}")
            if is_last:
                break
        self.report.taken += taken
        self.report.conflicts += conflicts
        self.report.files[verified.header.name] += 1

    def _erase(self, verified: Verified, erased: Collection[Key]) -> None:
        """Note in the trail the erasures on another machine that are new here, and let features forget the records."""
        new = [k for k in erased if k[1] is not Kind.VERSION and not self._known.is_erased(k)]
        if new:
            forget_erased(self._store, new)
        for organization, kind, id in new:
            reason = f"erased on {verified.header.name}"
            self._trail.log(with_call(self._caller, reason=reason), organization, ERASE, kind, [id])
            self.report.erased += 1
            self.marks.has_erased = True
        if self.marks.has_erased:
            # In the transaction of the removal, so that after a kill the next sync finishes the erasure.
            self._known.save()

    def _erase_decisions(self, verified: Verified) -> None:
        """Erase here the decisions that were erased on another machine; after a kill the next sync finishes this."""
        to_erase: dict[str, list[str]] = {}
        for entry in entries(verified) if verified.decided else ():
            organization, kind, id = entry.key
            if kind in self._known.kinds and _erases_decision(entry):
                here = self._store.get(Decision, organization, id)
                if here is not None and not is_erased_decision(here):
                    to_erase.setdefault(organization, []).append(id)
        caller = with_call(self._caller, reason=f"erased on {verified.header.name}")
        for organization, ids in to_erase.items():
            self._ledger_texts.check(organization)
            self.note_erasure(is_open=True)
            self._ledger_texts.erase(caller, organization, ids)
            self.report.erased += len(ids)

    def note_erasure(self, *, is_open: bool) -> None:
        """Store whether older files and free pages may contain erased text."""
        with self._store.transaction():
            self.marks.has_erased = is_open
            self._known.save()

    def _note_taken(self, verified: Verified, file: tuple[str, int] | None) -> None:
        """Store that a file of changes (`file`) was taken in, and the files that a snapshot covers."""
        if file is not None:
            self.marks.take(*file)
        for machine, number in verified.header.covers.items():
            if machine != self.marks.machine:
                self.marks.cover(machine, number)
        self._known.save()

    def _log(
        self,
        verified: Verified,
        begun: Mapping[str, int],
        conflicts: Sequence[SyncConflict],
        batch: Sequence[ChangeEntry],
    ) -> None:
        """Write to the trail the file that was taken in, the end of its machine's own trail, its memories, and conflicts."""
        header = verified.header
        for name, since in begun.items():
            head = header.heads.get(name)
            end = "" if head is None else f", whose trail stood at entry {head[0]} ({head[1]})"
            subject = (
                f"taken from {header.name} {header.machine}-{header.number:08} "
                f"(sha256 {verified.digest}){end}"
            )
            taken = self._known.taken_from(name, batch)
            self._trail.log_many(self._caller, name, ACT, Kind.MEMORY, subject, taken, since)
        for each in conflicts:
            fields = ", ".join(each.fields) or "it was removed on one"
            reason = f"edited on two machines at once: {fields}{each.other_versions}"
            self._trail.log(
                with_call(self._caller, reason=reason),
                each.organization,
                "conflict",
                each.kind,
                [each.id],
            )

    def _first_missing(self) -> dict[str, int]:
        """Return by machine the number of its first file that was not taken in; nothing for machines without such a file."""
        marks, found = self.marks, {}
        known = {machine: max(files) for machine, files in self.files.changes().items()}
        for machine, noted in self.files.machines().items():
            known[machine] = max(known.get(machine, 0), noted.get("number", 0))
        for machine, last in known.items():
            if machine != marks.machine and last > marks.taken.get(machine, 0):
                found[machine] = marks.taken.get(machine, 0) + 1
        return found

    # To the others

    def send(self) -> None:
        """Send the changes made here, in as many files as necessary, and this store's own file."""
        while rows := self._next_rows():
            number, staged = self.marks.number + 1, self._staged(self.marks.number + 1)
            organizations = sorted({row.key[0] for row in rows})
            with self._store.transaction(*organizations):
                digest = self._stage(staged, number, rows)
                self.marks.outbox = [number, digest]
                self._known.save()
                for name in organizations:
                    subject = f"sent {self.marks.machine}-{number:08}"
                    self._trail.log_many(self._caller, name, ACT, Kind.MEMORY, subject)
            self._publish(number, staged)
        self._remote.publish({}, self._own_file())

    def _next_rows(self) -> list[SyncRow]:
        """Return the rows of the next file; decisions are never split, because the ledger's rules are about all of them."""
        most = BATCH
        while True:
            rows = self._rows.unsent(self._id, most)
            if len(rows) < most or rows[-1].key[1] is not Kind.DECISION:
                return rows
            most *= 2

    def _stage(self, staged: Path, number: int, rows: Sequence[SyncRow]) -> str:
        """Write a file of changes for some rows and flush it to the disk; return its digest."""
        with replacing(staged) as file:
            writer = ChangeWriter(file, self._header(number))
            for row in rows:
                entry = self._known.entry(row.key)
                if entry.erased or _erases_decision(entry):
                    self.marks.has_erased = True
                noted = self._rows.get(self._id, row.key) or row
                writer.add(entry)
                self._rows.put(self._id, SyncRow(row.key, noted.digest, noted.state, number))
                if writer.size > MOST_BYTES and row.key[1] is not Kind.DECISION:
                    break
            writer.seal()
        self.report.sent += writer.count
        return _digest(staged)

    def _publish(self, number: int, staged: Path) -> None:
        """Send a file of changes, and note that it arrived; take another id if the remote has another file of its name."""
        marks = self.marks
        name = f"changes/{name_of_changes(marks.machine, number)}"
        earlier, marks.number = marks.number, number
        try:
            self._remote.publish({name: staged}, self._own_file())
        except NameTaken:
            marks.number = earlier
            self._rename()
            return
        except BaseException:
            marks.number = earlier
            raise
        with self._store.transaction():
            self._rows.sent(self._id, number)
            marks.outbox = None
            self._known.save()
        staged.unlink(missing_ok=True)

    def _own_file(self) -> dict[str, bytes]:
        """Return by its name the file that tells other machines what this store has sent and taken in."""
        marks = self.marks
        content = json_line(
            {
                "machine": marks.machine,
                "name": self._name,
                "number": marks.number,
                "taken": dict(sorted(marks.taken.items())),
            }
        )
        return {f"machines/{marks.machine}.json": content}

    def _header(self, number: int, covers: dict[str, int] | None = None) -> Header:
        heads = {
            name: (head.number, head.digest)
            for name in self._store.organizations()
            if (head := self._trail.head(name)) is not None
        }
        return Header(self._id, self.marks.machine, self._name, number, heads, covers or {})

    # Keeping the remote whole, and small

    def lost(self) -> Iterator[tuple[str, int]]:
        """Yield machine and number of the files that this store knows to have been in the remote and that are missing."""
        return self.files.lost(self.marks.published())

    def compact_if_due(self, *, compact: bool) -> None:
        """Replace files of changes by a snapshot, if they are many or `compact` asks for it; remove files that were cut short."""
        changes = self.files.changes()
        size = sum(sum(files.values()) for files in changes.values())
        count = sum(len(files) for files in changes.values())
        is_due = count >= COMPACT_FROM and size > self.files.size_of_snapshots()
        if not (compact or is_due) or (self.report.refused and not compact):
            if cut := self.files.cut_short(self.files.covered()):
                self._remote.publish({}, self._own_file(), cut)
            return
        snapshots, _ = self.files.verified("snapshots")
        earlier = [each.header.covers for each in snapshots]
        covers = self.marks.published()
        staged = self._work / "snapshot.jsonl"
        with replacing(staged) as file:
            writer = ChangeWriter(file, self._header(self.marks.number, covers))
            rows = self._rows.each(self._id)
            while batch := list(islice(rows, BATCH)):
                with self._store.transaction(*sorted({row.key[0] for row in batch})):
                    for row in batch:
                        writer.add(self._known.entry(row.key))
            digest = writer.seal()
        name = f"{self.marks.machine}-{self.marks.number:08}-{digest[:8]}.jsonl"
        removed = [f"changes/{each}" for each in self._dispensable(changes, covers, earlier)]
        removed += [
            f"snapshots/{each.path.name}"
            for each in snapshots
            if each.path.name != name
            and all(covers.get(m, 0) >= n for m, n in each.header.covers.items())
        ]
        removed += [each for each in self.files.cut_short(covers) if not each.endswith(f"/{name}")]
        try:
            self._remote.publish({f"snapshots/{name}": staged}, self._own_file(), removed)
        except NameTaken:
            # The name has the digest of the content, so the one there is this snapshot, damaged.
            self._remote.publish({}, {}, [f"snapshots/{name}"])
            self._remote.publish({f"snapshots/{name}": staged}, self._own_file(), removed)
        staged.unlink(missing_ok=True)
        self.report.compacted = sum(each.startswith("changes/") for each in set(removed))

    def _dispensable(
        self,
        changes: dict[str, dict[int, int]],
        covers: dict[str, int],
        earlier: Sequence[Mapping[str, int]],
    ) -> Iterator[str]:
        """Yield the names of covered files that every machine has taken in, or that an earlier snapshot contains, too."""
        machines = self.files.machines()
        for machine, files in changes.items():
            for number in files:
                is_taken_by_all = all(
                    name == machine or noted.get("taken", {}).get(machine, 0) >= number
                    for name, noted in machines.items()
                )
                is_old = any(each.get(machine, 0) >= number for each in earlier)
                if covers.get(machine, 0) >= number and (is_taken_by_all or is_old):
                    yield name_of_changes(machine, number)

    def _staged(self, number: int) -> Path:
        return self._work / name_of_changes(self.marks.machine, number)

    def _caller_in(self, organization: str) -> Caller:
        return replace(self._caller, organization=organization)


def _erases_decision(entry: ChangeEntry) -> bool:
    """Tell whether an entry is of a decision with its text erased."""
    records = (each.record for each in entry.state.siblings if entry.key[1] is Kind.DECISION)
    return any(isinstance(each, Decision) and is_erased_decision(each) for each in records)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Return for a sync that it is taken back on the other machine; None for other acts."""
    if act.naming_entry.act != ACT:
        return None
    return Undoing(Reason("take it back on the machine where it was done, then sync again"))
