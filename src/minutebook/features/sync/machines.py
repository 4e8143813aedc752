"""Keep the stores of a person's machines in step, through a place that all of them reach."""

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
"""Records that are written or taken in by one transaction, and in one file of changes, unless more are decisions."""

MOST_BYTES = 8 << 20
"""Bytes after which a file of changes ends."""

COMPACT_FROM = 64
"""Files of changes from which on a snapshot may take their place."""

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
    """How many files were taken in, by the name of the machine that wrote them."""
    conflicts: list[SyncConflict] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Files that were not taken in, and why."""
    erased: int = 0
    """Records that were erased on another machine, and are now here, too."""
    compacted: int = 0
    """Files of changes that a snapshot took the place of."""
    lost: int = 0
    """Files that had been in the remote and were gone, of which a snapshot was sent."""


class MachineSync:
    """Exchanges edits with the stores of other machines; the next sync ends one that was killed."""

    def __init__(self, app: App) -> None:
        self._of = app.infrastructure
        self._trail, self._mentions, self._doors = app.trail, app.mentions, app.doors
        self._rebuilds, self._ledger_texts = app.get(Rebuilds), app.get(LedgerTexts)
        self._work, self._name = sync_folder(app.settings), machine_name()
        decisions_travel = app.settings.of(LedgerSettings).ledger is None
        self._kinds = frozenset(TRAVELLING) - (set() if decisions_travel else {Kind.DECISION})

    def run(
        self, caller: Caller, remote: Remote, *, compact: bool = False, again: bool = False
    ) -> SyncReport:
        """Take in the changes of other machines, and send those made here.

        What was removed here, and comes from a machine that cannot have heard of it, is taken in only `again`: else
        it goes from the others, too.

        Raises Refused if the caller may not take out and bring in a whole store, InvalidInput if the
        store or the remote does not fit, StoreBusy if a sync is under way, StoreError if the remote cannot
        be reached or a file cannot be read or written.
        """
        with self._exchange(caller, remote, again=again) as exchange:
            exchange.resume()
            exchange.take()
            exchange.send()
            exchange.report.lost = sum(1 for _ in exchange.lost())
            is_asked = compact or exchange.marks.has_erased
            exchange.tidy(compact=is_asked or exchange.report.lost > 0)
            if exchange.marks.has_erased:
                # The copies of remotes hold the files of before, and free pages what was removed just now.
                remove_copies(self._work)
                self._of.store.upkeep.scrub()
                exchange.note_erasure(is_open=False)
        self._of.embeddings.notify()
        return exchange.report

    def compare(self, caller: Caller, remote: Remote) -> MachineComparison:
        """Compare every record here with the merged files of the remote; nothing is changed here.

        Raises as `run` does.
        """
        with self._exchange(caller, remote) as exchange:
            return compare(self._of.store, exchange.files, exchange.marks, self._kinds)

    @contextmanager
    def _exchange(
        self, caller: Caller, remote: Remote, *, again: bool = False
    ) -> Iterator["_Exchange"]:
        with self._trail.audit_refusals(caller, None, ACT, Kind.MEMORY, "sync"):
            policy.check_may_export(caller, whole=True)
            policy.check_may_import(caller, self._of.rules(), whole=True)
        rows = SyncRows(self._of.store.database)
        if self._of.store.database.leases is not None:
            raise InvalidInput(
                "REMOTE", "is for stores in a file; machines that use a server share its store"
            )
        with self._of.locks.hold("sync") as held:
            if held is None:
                raise StoreBusy(
                    "another sync of this store is under way; try again when it is done"
                )
            try:
                remove_copies(self._work, only_begun=True)
                remote.pull()
                id = identity_of(remote, self._of.randbits)
                known = KnownRecords(
                    self._of.store,
                    Removals(self._of, again=again),
                    rows,
                    id,
                    self._mentions,
                    self._of.randbits,
                    self._kinds,
                    self._doors,
                )
                yield _Exchange(self, caller, remote, rows, known)
            except OSError as error:
                place = error.filename or remote.folder
                raise StoreError(os_error_reason(place, error)) from error
            finally:
                if self._of.store.database.key is not None:
                    # Copies of what others can read; beside an encrypted store nothing plain is left of them,
                    # though it failed: what was on its way is sent again, under another name.
                    remove_copies(self._work)


class _Exchange:
    """One sync, which has the store's turn to sync."""

    def __init__(
        self, of: MachineSync, caller: Caller, remote: Remote, rows: SyncRows, known: KnownRecords
    ) -> None:
        self._store, self._trail = of._of.store, of._trail
        self._rebuilds = of._rebuilds
        self._ledger_texts = of._ledger_texts
        self._caller = caller
        self._remote = remote
        self._rows = rows
        self._id = known.remote
        self.files = RemoteFiles(remote.folder, self._id)
        self._known = known
        self._work = of._work / self._id
        self._name = of._name
        self.report = SyncReport(machine=known.marks.machine)

    @property
    def marks(self) -> Marks:
        """How far this store and the remote have come with one another."""
        return self._known.marks

    # What was cut short

    def resume(self) -> None:
        """End an exchange cut short by a kill: send the file on its way; find out about a copy of this store."""
        marks = self.marks
        self._work.mkdir(parents=True, exist_ok=True, mode=0o700)
        if marks.outbox is not None:
            staged = self._staged(marks.outbox[0])
            if not staged.is_file() or _digest(staged) != marks.outbox[1]:
                # Lost with a restored backup: what it held is sent anew, under another name.
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
        if not self._lacking():
            return
        snapshots, self.report.refused = self.files.verified("snapshots")
        for each in snapshots:
            covers = each.header.covers
            if any(covers.get(machine, 0) >= number for machine, number in self._lacking().items()):
                self._take_verified(each, None)
        if refused and snapshots:
            refused = self._take_files()
        self.report.refused += [
            (name_of_changes(*file), reason) for file, reason in refused.items()
        ]
        for file in sorted(self._lacking().items()):
            if file not in refused:
                self.report.refused.append((name_of_changes(*file), _MISSING))

    def _take_files(self) -> dict[tuple[str, int], str]:
        """Take in files of changes; return those that cannot be taken, and why.

        A file may need what another machine's brings, such as the decision that one of its own takes the place of.
        So those that were refused are tried again, as long as others were taken.
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
        """Take in a file of changes; return why it cannot be taken, or None."""
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
        self._erase_decisions(verified)
        taken = 0
        conflicts: list[SyncConflict] = []
        read = (each for each in entries(verified) if each.key[1] in self._known.kinds)
        # Decisions are brought to Git at the end of a transaction; so of each file in one.
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
                    self._mark(verified, file)
                # Last, since a commit is not undone.
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
        """Enter in the trail the erasures of another machine that are new here; the features forget them."""
        new = [k for k in erased if k[1] is not Kind.VERSION and not self._known.is_erased(k)]
        if new:
            forget_erased(self._store, new)
        for organization, kind, id in new:
            reason = f"erased on {verified.header.name}"
            self._trail.log(with_call(self._caller, reason=reason), organization, ERASE, kind, [id])
            self.report.erased += 1
            self.marks.has_erased = True
        if self.marks.has_erased:
            # In the transaction of the removal, so that a kill leaves it to the next sync to end the erasure.
            self._known.save()

    def _erase_decisions(self, verified: Verified) -> None:
        """Erase here the decisions erased on another machine; a repeated sync ends one cut short by a kill."""
        going: dict[str, list[str]] = {}
        for entry in entries(verified) if verified.decided else ():
            organization, kind, id = entry.key
            if kind in self._known.kinds and _erases_decision(entry):
                here = self._store.get(Decision, organization, id)
                if here is not None and not is_erased_decision(here):
                    going.setdefault(organization, []).append(id)
        caller = with_call(self._caller, reason=f"erased on {verified.header.name}")
        for organization, ids in going.items():
            self._ledger_texts.check(organization)
            self.note_erasure(is_open=True)
            self._ledger_texts.erase(caller, organization, ids)
            self.report.erased += len(ids)

    def note_erasure(self, *, is_open: bool) -> None:
        """Note that older files and free pages may hold erased text, or that none does any more."""
        with self._store.transaction():
            self.marks.has_erased = is_open
            self._known.save()

    def _mark(self, verified: Verified, file: tuple[str, int] | None) -> None:
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
        """Write to the trail the records that came, their machine, and where that machine's own trail ended."""
        header = verified.header
        for name, since in begun.items():
            head = header.heads.get(name)
            whence = "" if head is None else f", whose trail stood at entry {head[0]} ({head[1]})"
            subject = (
                f"taken from {header.name} {header.machine}-{header.number:08} "
                f"(sha256 {verified.digest}){whence}"
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

    def _lacking(self) -> dict[str, int]:
        """Return by machine the first number of a file that was not taken in, where a later one is known of."""
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
        """Send the changes made here, in as many files as it takes, and how far this store has come."""
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
        self._remote.publish({}, self._own())

    def _next_rows(self) -> list[SyncRow]:
        """Return the rows of the next file: of an organization's decisions all, since the rules hold for them together."""
        most = BATCH
        while True:
            rows = self._rows.unsent(self._id, most)
            if len(rows) < most or rows[-1].key[1] is not Kind.DECISION:
                return rows
            most *= 2

    def _stage(self, staged: Path, number: int, rows: Sequence[SyncRow]) -> str:
        """Write a file of changes, on the disk before the transaction ends; return its digest."""
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
        marks = self.marks
        name = f"changes/{name_of_changes(marks.machine, number)}"
        earlier, marks.number = marks.number, number
        try:
            self._remote.publish({name: staged}, self._own())
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

    def _own(self) -> dict[str, bytes]:
        """Return the file that tells the others how far this store has come."""
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
        """Yield the files that this store knows to have been in the remote and that are there no longer."""
        return self.files.lost(self.marks.published())

    def tidy(self, *, compact: bool) -> None:
        """Put a snapshot in the place of files of changes, where they are many or it is asked for."""
        changes = self.files.changes()
        size = sum(sum(files.values()) for files in changes.values())
        count = sum(len(files) for files in changes.values())
        is_due = count >= COMPACT_FROM and size > self.files.size_of_snapshots()
        if not (compact or is_due) or (self.report.refused and not compact):
            if cut := self.files.cut_short(self.files.covered()):
                self._remote.publish({}, self._own(), cut)
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
        gone = [f"changes/{each}" for each in self._passed(changes, covers, earlier)]
        gone += [
            f"snapshots/{each.path.name}"
            for each in snapshots
            if each.path.name != name
            and all(covers.get(m, 0) >= n for m, n in each.header.covers.items())
        ]
        gone += [each for each in self.files.cut_short(covers) if not each.endswith(f"/{name}")]
        try:
            self._remote.publish({f"snapshots/{name}": staged}, self._own(), gone)
        except NameTaken:
            # The same snapshot, damaged: its name has the digest of what it held.
            self._remote.publish({}, {}, [f"snapshots/{name}"])
            self._remote.publish({f"snapshots/{name}": staged}, self._own(), gone)
        staged.unlink(missing_ok=True)
        self.report.compacted = sum(each.startswith("changes/") for each in set(gone))

    def _passed(
        self,
        changes: dict[str, dict[int, int]],
        covers: dict[str, int],
        earlier: Sequence[Mapping[str, int]],
    ) -> Iterator[str]:
        """Yield the files that every machine has taken in, or that an earlier snapshot holds too."""
        machines = self.files.machines()
        for machine, files in changes.items():
            for number in files:
                is_passed = all(
                    name == machine or noted.get("taken", {}).get(machine, 0) >= number
                    for name, noted in machines.items()
                )
                is_old = any(each.get(machine, 0) >= number for each in earlier)
                if covers.get(machine, 0) >= number and (is_passed or is_old):
                    yield name_of_changes(machine, number)

    def _staged(self, number: int) -> Path:
        return self._work / name_of_changes(self.marks.machine, number)

    def _caller_in(self, organization: str) -> Caller:
        return replace(self._caller, organization=organization)


def _erases_decision(entry: ChangeEntry) -> bool:
    """Tell whether an edit of a decision stands that erased its text."""
    records = (each.record for each in entry.state.siblings if entry.key[1] is Kind.DECISION)
    return any(isinstance(each, Decision) and is_erased_decision(each) for each in records)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Say of a sync that the other machine's acts are taken back there."""
    if act.named.act != ACT:
        return None
    return Undoing(Reason("take it back on the machine where it was done, then sync again"))
