"""Keep the stores of a person's machines in step, through a place that all of them reach."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from minutebook.disk.atomic_file import replacing
from minutebook.domain import policy
from minutebook.domain.caller import Caller, in_call
from minutebook.domain.errors import (
    InvalidArchive,
    InvalidInput,
    LedgerError,
    MinutebookError,
    StoreBusy,
)
from minutebook.domain.filters import Filter
from minutebook.domain.ids import RandomBits
from minutebook.domain.json_lines import json_line
from minutebook.domain.records import CLASSES, Kind
from minutebook.domain.replication import (
    TRAVELLING,
    UNKNOWN,
    Sibling,
    State,
    digest_of,
    merge,
    travelling_line,
)
from minutebook.domain.sync_conflicts import SyncConflict, resolve
from minutebook.services.access.audit import Trail
from minutebook.services.infrastructure import Infrastructure
from minutebook.services.knowledge.mentions import Mentions
from minutebook.services.ledger.rebuilding import Rebuilds
from minutebook.services.sync.change_files import (
    ChangeWriter,
    Entry,
    Header,
    Verified,
    entries,
    verify,
)
from minutebook.services.sync.known import Known, Marks
from minutebook.services.sync.remotes import NameTaken, Remote, names_in
from minutebook.store.protocol import Tended
from minutebook.store.sync_rows import SyncRow, SyncRows

ACT = "sync"

BATCH = 500
"""Records that are written or taken in by one transaction, and in one file of changes at most."""

MOST_BYTES = 8 << 20
"""Bytes after which a file of changes ends."""

COMPACT_FROM = 64
"""Files of changes from which on a snapshot may take their place."""

_FILE = re.compile(r"([0-9a-f]{16})-([0-9]{8})\.jsonl")
_HEADER = "sync.json"
_FORMAT = "minutebook-sync-remote"

_MISSING = (
    "it is missing: a program that copies the folder may still be at it; if it stays away, "
    "`minutebook sync REMOTE --compact` on another machine mends that"
)


@dataclass(slots=True)
class SyncReport:
    """What a sync did: records that were sent and taken, conflicts, files that could not be read."""

    machine: str = ""
    sent: int = 0
    taken: int = 0
    files: Counter[str] = field(default_factory=Counter)
    """How many files were taken in, by the name of the machine that wrote them."""
    conflicts: list[SyncConflict] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Files that were not taken in, and why."""
    compacted: int = 0
    """Files of changes that a snapshot took the place of."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A record of which this store and the remote do not hold the same: `here`, `there` or `both`."""

    organization: str
    kind: Kind
    id: str
    held: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a store and its remote hold: how many records are the same, and which are not."""

    equal: int
    differences: tuple[Difference, ...]
    refused: tuple[tuple[str, str], ...]
    behind: dict[str, int]
    """By the name of each other machine, how many files it has not taken in."""


class MachineSync:
    """Exchanges edits with the stores of other machines; what is killed is ended by the next sync."""

    def __init__(
        self,
        infrastructure: Infrastructure,
        mentions: Mentions,
        rebuilds: Rebuilds,
        work: Path,
        name: str,
        *,
        decisions_travel: bool,
    ) -> None:
        self._store = infrastructure.store
        self._trail = infrastructure.trail
        self._embeddings = infrastructure.embeddings
        self._locks = infrastructure.locks
        self._rules = infrastructure.rules
        self._randbits = infrastructure.randbits
        self._mentions = mentions
        self._rebuilds = rebuilds
        self._work = work
        self._name = name
        self._kinds = frozenset(TRAVELLING) - (set() if decisions_travel else {Kind.DECISION})

    def run(self, caller: Caller, remote: Remote, *, compact: bool = False) -> SyncReport:
        """Take in what other machines changed, and send what was changed here.

        Raises Refused if the caller may not take out and bring in a whole store, InvalidInput if the
        store or the remote does not fit, StoreBusy if a sync is under way, StoreError if the remote cannot
        be reached.
        """
        with self._exchange(caller, remote) as exchange:
            exchange.resume()
            exchange.take()
            exchange.send()
            exchange.tidy(compact=compact)
        self._embeddings.notify()
        return exchange.report

    def compare(self, caller: Caller, remote: Remote) -> Comparison:
        """Compare every record here with what the remote's files come to; nothing is changed here.

        Raises as `run` does.
        """
        with self._exchange(caller, remote) as exchange:
            return exchange.compare()

    @contextmanager
    def _exchange(self, caller: Caller, remote: Remote) -> Iterator["_Exchange"]:
        with self._trail.audit_refusals(caller, None, ACT, Kind.MEMORY, "sync"):
            policy.check_may_export(caller, whole=True)
            policy.check_may_import(caller, self._rules(), whole=True)
        rows = self._store.sync_rows
        if rows is None:
            raise InvalidInput(
                "REMOTE", "is for stores in a file; machines that use a server share its store"
            )
        with self._locks.hold("sync") as held:
            if held is None:
                raise StoreBusy("another sync of this store is under way; try again when it is done")
            remote.pull()
            known = partial(
                Known,
                self._store,
                rows,
                mentions=self._mentions,
                randbits=self._randbits,
                kinds=self._kinds,
            )
            id = _identity_of(remote, self._randbits)
            yield _Exchange(
                self._store,
                self._trail,
                self._rebuilds,
                caller,
                remote,
                rows,
                id,
                known(remote=id),
                self._work / id,
                self._name,
            )


class _Exchange:
    """One sync, which has the store's turn to sync."""

    def __init__(
        self,
        store: Tended,
        trail: Trail,
        rebuilds: Rebuilds,
        caller: Caller,
        remote: Remote,
        rows: SyncRows,
        id: str,
        known: Known,
        work: Path,
        name: str,
    ) -> None:
        self._store = store
        self._trail = trail
        self._rebuilds = rebuilds
        self._caller = caller
        self._remote = remote
        self._rows = rows
        self._id = id
        self._known = known
        self._work = work
        self._name = name
        self.report = SyncReport(known.marks.machine)

    @property
    def _marks(self) -> Marks:
        return self._known.marks

    # What was cut short

    def resume(self) -> None:
        """End what a kill cut short: send the file that was on its way; find out about a copy of this store."""
        marks = self._marks
        self._work.mkdir(parents=True, exist_ok=True, mode=0o700)
        if marks.outbox is not None:
            staged = self._staged(marks.outbox[0])
            if not staged.is_file() or _digest(staged) != marks.outbox[1]:
                # Lost with a restored backup: what it held is sent anew, under another name.
                self._rename()
            else:
                self._publish(marks.outbox[0], staged)
        last = max(self._changes().get(marks.machine, {}), default=0)
        if last > marks.number:
            self._rename()
        self._known.scan()

    def _rename(self) -> None:
        with self._store.transaction():
            self._known.rename()
        self.report.machine = self._marks.machine

    # From the others

    def take(self) -> None:
        """Take in every file that is new here, each whole or not at all."""
        damaged: set[tuple[str, int]] = set()
        for machine, files in sorted(self._changes().items()):
            for number in sorted(files):
                is_new = machine != self._marks.machine and not self._marks.has_taken(machine, number)
                if is_new and not self._take(self._path("changes", machine, number), machine, number):
                    damaged.add((machine, number))
        lacking = self._lacking()
        if not lacking:
            return
        for path, header_of in self._snapshots():
            if any(header_of.header.covers.get(m, 0) > self._marks.taken.get(m, 0) for m in lacking):
                self._take_verified(path, header_of, None)
        for machine, number in sorted(self._lacking().items()):
            if (machine, number) not in damaged:
                self.report.refused.append((f"{machine}-{number:08}.jsonl", _MISSING))
        self.report.refused = [
            each for each in self.report.refused if not self._is_covered(each[0])
        ]

    def _take(self, path: Path, machine: str, number: int) -> bool:
        before = deepcopy(self._marks)
        try:
            verified = verify(path, self._id)
            if (verified.header.machine, verified.header.number) != (machine, number):
                raise InvalidArchive(path.name, "its name is not that of its header")
            self._take_verified(path, verified, (machine, number))
        except (InvalidArchive, InvalidInput, LedgerError) as error:
            self._known.marks = before
            self.report.refused.append((path.name, _reason(error)))
            return False
        return True

    def _take_verified(self, path: Path, verified: Verified, file: tuple[str, int] | None) -> None:
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
                found = self._known.take_all([(each.key, each.state) for each in batch])
                self._log(verified, organizations, found)
                if is_last:
                    self._mark(verified, file)
                # Last, since a commit is not undone.
                for organization in decided:
                    rebuildings[organization].run(self._caller_in(organization))
            taken += len(batch)
            conflicts += found
            self._caller.call.progress(0.0, f"{path.name}: {taken:,} records")
            if is_last:
                break
        self.report.taken += taken
        self.report.conflicts += conflicts
        self.report.files[verified.header.name] += 1

    def _mark(self, verified: Verified, file: tuple[str, int] | None) -> None:
        if file is not None:
            self._marks.take(*file)
        for machine, number in verified.header.covers.items():
            if machine != self._marks.machine:
                self._marks.cover(machine, number)
        self._known.save()

    def _log(
        self, verified: Verified, organizations: Sequence[str], conflicts: Sequence[SyncConflict]
    ) -> None:
        """Write to the trail what came, from which machine, and where that machine's own trail stood."""
        header = verified.header
        for name in organizations:
            head = header.heads.get(name)
            stood = "" if head is None else f", whose trail stood at entry {head[0]} ({head[1]})"
            subject = (
                f"taken from {header.name} {header.machine}-{header.number:08} "
                f"(sha256 {verified.digest}){stood}"
            )
            self._trail.log(self._caller, name, ACT, Kind.MEMORY, [subject])
        for each in conflicts:
            kept = f"; the other version is kept as {', '.join(each.copies)}" if each.copies else ""
            fields = ", ".join(each.fields) or "it was removed on one"
            reason = f"edited on two machines at once: {fields}{kept}"
            self._trail.log(
                in_call(self._caller, reason=reason), each.organization, "conflict", each.kind, [each.id]
            )

    def _lacking(self) -> dict[str, int]:
        """Return by machine the first number of a file that was not taken in, where a later one is known of."""
        marks, found = self._marks, {}
        known = {machine: max(files) for machine, files in self._changes().items()}
        for machine, noted in self._machines().items():
            known[machine] = max(known.get(machine, 0), noted.get("number", 0))
        for machine, last in known.items():
            if machine != marks.machine and last > marks.taken.get(machine, 0):
                found[machine] = marks.taken.get(machine, 0) + 1
        return found

    def _is_covered(self, name: str) -> bool:
        match = _FILE.fullmatch(name)
        return match is not None and self._marks.has_taken(match[1], int(match[2]))

    # To the others

    def send(self) -> None:
        """Send what was changed here, in as many files as it takes, and how far this store has come."""
        while rows := self._rows.unsent(self._id, BATCH):
            number, staged = self._marks.number + 1, self._staged(self._marks.number + 1)
            organizations = sorted({row.key[0] for row in rows})
            with self._store.transaction(*organizations):
                digest = self._stage(staged, number, rows)
                self._marks.outbox = [number, digest]
                self._known.save()
                for name in organizations:
                    subject = f"sent {self._marks.machine}-{number:08}"
                    self._trail.log(self._caller, name, ACT, Kind.MEMORY, [subject])
            self._publish(number, staged)
        self._remote.publish({}, self._own())

    def _stage(self, staged: Path, number: int, rows: Sequence[SyncRow]) -> str:
        """Write a file of changes, on the disk before the transaction ends; return its digest."""
        with replacing(staged) as file:
            writer = ChangeWriter(file, self._header(number))
            for row in rows:
                entry = Entry(row.key, self._known.observe(row.key))
                noted = self._rows.get(self._id, row.key) or row
                writer.add(entry)
                self._rows.put(self._id, SyncRow(row.key, noted.digest, noted.state, number))
                if writer.size > MOST_BYTES:
                    break
            writer.seal()
        self.report.sent += writer.count
        return _digest(staged)

    def _publish(self, number: int, staged: Path) -> None:
        marks = self._marks
        name = f"changes/{marks.machine}-{number:08}.jsonl"
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
        marks = self._marks
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
        return Header(self._id, self._marks.machine, self._name, number, heads, covers or {})

    # Keeping the remote small

    def tidy(self, *, compact: bool) -> None:
        """Put a snapshot in the place of files of changes, where they are many or it is asked for."""
        changes, snapshots = self._changes(), names_in(self._remote.folder, "snapshots")
        size = sum(sum(files.values()) for files in changes.values())
        count = sum(len(files) for files in changes.values())
        is_due = count >= COMPACT_FROM and size > max(snapshots.values(), default=0)
        if not (compact or is_due) or self.report.refused and not compact:
            return
        earlier = [each.header.covers for _, each in self._snapshots()]
        covers = {**self._marks.taken, self._marks.machine: self._marks.number}
        staged = self._work / "snapshot.jsonl"
        with replacing(staged) as file:
            writer = ChangeWriter(file, self._header(self._marks.number, covers))
            rows = self._rows.each(self._id)
            while batch := list(islice(rows, BATCH)):
                with self._store.transaction(*sorted({row.key[0] for row in batch})):
                    for row in batch:
                        writer.add(Entry(row.key, self._known.observe(row.key)))
            digest = writer.seal()
        name = f"{self._marks.machine}-{self._marks.number:08}-{digest[:8]}.jsonl"
        gone = [f"changes/{each}" for each in self._passed(changes, covers, earlier)]
        gone += [
            f"snapshots/{path.name}"
            for path, each in self._snapshots()
            if path.name != name
            and all(covers.get(m, 0) >= n for m, n in each.header.covers.items())
        ]
        self._remote.publish({f"snapshots/{name}": staged}, self._own(), gone)
        staged.unlink(missing_ok=True)
        self.report.compacted = sum(each.startswith("changes/") for each in gone)

    def _passed(
        self,
        changes: dict[str, dict[int, int]],
        covers: dict[str, int],
        earlier: Sequence[Mapping[str, int]],
    ) -> Iterator[str]:
        """Yield the files that every machine has taken in, or that an earlier snapshot holds too."""
        machines = self._machines()
        for machine, files in changes.items():
            for number in files:
                is_passed = all(
                    name == machine or noted.get("taken", {}).get(machine, 0) >= number
                    for name, noted in machines.items()
                )
                is_old = any(each.get(machine, 0) >= number for each in earlier)
                if covers.get(machine, 0) >= number and (is_passed or is_old):
                    yield f"{machine}-{number:08}.jsonl"

    # Looking

    def compare(self) -> Comparison:
        """Compare what is here with what all files of the remote come to."""
        there, refused = self._replayed()
        equal, differences = 0, list[Difference]()
        for organization in self._store.organizations():
            for kind in sorted(self._known.kinds):
                where = Filter(organization=organization, with_deleted=True)
                for record in self._store.each(CLASSES[kind], where, ()):
                    digest = there.pop((organization, kind, record.id), "")
                    if digest == digest_of(travelling_line(record)):
                        equal += 1
                    else:
                        held = "both" if digest else "here"
                        differences.append(Difference(organization, kind, record.id, held))
        differences += [Difference(*key, "there") for key, digest in sorted(there.items()) if digest]
        changes = self._changes()
        behind = {
            str(noted.get("name", machine)): sum(
                number > noted.get("taken", {}).get(other, 0)
                for other, files in changes.items()
                if other != machine
                for number in files
            )
            for machine, noted in self._machines().items()
            if machine != self._marks.machine
        }
        return Comparison(equal, tuple(differences), tuple(refused), behind)

    def _replayed(self) -> tuple[dict[tuple[str, Kind, str], str], list[tuple[str, str]]]:
        """Return the digest of each record as all files of the remote have it, and what cannot be read."""
        files, refused = list[Verified](), list[tuple[str, str]]()
        for kind in ("snapshots", "changes"):
            for name in names_in(self._remote.folder, kind):
                try:
                    files.append(verify(self._remote.folder / kind / name, self._id))
                except (InvalidArchive, InvalidInput) as error:
                    refused.append((name, _reason(error)))
        known: dict[tuple[str, Kind, str], State] = {}
        for each in self._of(files):
            known[each.key] = merge(known.get(each.key, UNKNOWN), _bare(each.state))
        several = {key for key, state in known.items() if len(state.digests) > 1}
        whole: dict[tuple[str, Kind, str], State] = {}
        for each in self._of(files) if several else ():
            if each.key in several:
                whole[each.key] = merge(whole.get(each.key, UNKNOWN), each.state)
        digests = {key: next(iter(state.digests)) for key, state in known.items() if key not in several}
        for key, state in whole.items():
            digests[key] = digest_of(travelling_line(resolve(state).shown))
        return digests, refused

    def _of(self, files: Sequence[Verified]) -> Iterator[Entry]:
        for file in files:
            yield from (each for each in entries(file) if each.key[1] in self._known.kinds)

    # The remote's files

    def _changes(self) -> dict[str, dict[int, int]]:
        """Return by machine the numbers of its files of changes, and their sizes."""
        found: dict[str, dict[int, int]] = {}
        for name, size in names_in(self._remote.folder, "changes").items():
            if match := _FILE.fullmatch(name):
                found.setdefault(match[1], {})[int(match[2])] = size
        return found

    def _snapshots(self) -> list[tuple[Path, Verified]]:
        found = []
        for name in names_in(self._remote.folder, "snapshots"):
            path = self._remote.folder / "snapshots" / name
            try:
                found.append((path, verify(path, self._id)))
            except (InvalidArchive, InvalidInput) as error:
                self.report.refused.append((name, _reason(error)))
        return found

    def _machines(self) -> dict[str, dict[str, Any]]:
        """Return what each machine told of itself; what cannot be read is passed over."""
        found = {}
        for name in names_in(self._remote.folder, "machines"):
            try:
                noted = json.loads((self._remote.folder / "machines" / name).read_bytes())
            except (OSError, ValueError, RecursionError):
                continue
            is_sound = (
                isinstance(noted, dict)
                and isinstance(noted.get("taken"), dict)
                and isinstance(noted.get("number"), int)
                and all(isinstance(each, int) for each in noted["taken"].values())
                and noted.get("machine") == name.removesuffix(".json")
            )
            if is_sound:
                found[name.removesuffix(".json")] = noted
        return found

    def _path(self, kind: str, machine: str, number: int) -> Path:
        return self._remote.folder / kind / f"{machine}-{number:08}.jsonl"

    def _staged(self, number: int) -> Path:
        return self._work / f"{self._marks.machine}-{number:08}.jsonl"

    def _caller_in(self, organization: str) -> Caller:
        return replace(self._caller, organization=organization)


def _identity_of(remote: Remote, randbits: RandomBits) -> str:
    """Return the remote's identity, made if nobody has begun it.

    Raises InvalidInput if the folder holds other things, or a later version wrote it.
    """
    path = remote.folder / _HEADER
    if not path.exists():
        foreign = sorted(e.name for e in remote.folder.iterdir() if not e.name.startswith("."))
        if foreign:
            raise InvalidInput(
                "REMOTE",
                f"must be an empty folder, or one that sync has begun; {remote.folder} holds "
                f"{foreign[0]}",
            )
        made = {"format": _FORMAT, "version": 1, "id": f"{randbits(128):032x}"}
        try:
            remote.publish({_HEADER: json_line(made)}, {})
        except NameTaken:
            # Another machine began it at the same moment.
            remote.pull()
    try:
        noted = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput("REMOTE", f"is damaged: {path} cannot be read") from error
    is_ours = isinstance(noted, dict) and noted.get("format") == _FORMAT
    id = noted.get("id") if is_ours else None
    if not isinstance(id, str) or not re.fullmatch(r"[0-9a-f]{32}", id):
        raise InvalidInput("REMOTE", f"is damaged: {path} is no header of a sync")
    if noted.get("version") != 1:
        raise InvalidInput("REMOTE", "was begun by a later version; upgrade Minutebook")
    return id


def _bare(state: State) -> State:
    """Return a state without lines, so that many can be held."""
    return State(state.context, tuple(Sibling(e.dot, e.digest) for e in state.siblings))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _reason(error: MinutebookError) -> str:
    match error:
        case InvalidArchive(reason=reason, line=line):
            return reason if line is None else f"line {line}: {reason}"
        case _:
            return str(error)
