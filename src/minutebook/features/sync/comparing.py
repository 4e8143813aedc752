"""Compares a store with the merged files of a remote, record by record."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from minutebook.features.sync.change_files import ChangeEntry, Verified, entries
from minutebook.features.sync.known import Marks
from minutebook.features.sync.remote_files import RemoteFiles, name_of_changes
from minutebook.features.sync.replication import (
    UNKNOWN,
    ReplicaState,
    Sibling,
    digest_of,
    merge,
    travelling_line,
)
from minutebook.features.sync.sync_conflicts import resolve
from minutebook.record.filters import Filter
from minutebook.record.records import CLASSES, Key, Kind
from minutebook.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Difference:
    """A record that differs between this store and the remote; `held` tells who has one: `here`, `there` or `both`."""

    organization: str
    kind: Kind
    id: str
    held: str


@dataclass(frozen=True, slots=True)
class MachineComparison:
    """The comparison of a store and its remote: the number of equal records, and the records that differ.

    `refused` has the names of unreadable files with the reasons.
    """

    equal: int
    differences: tuple[Difference, ...]
    refused: tuple[tuple[str, str], ...]
    behind: dict[str, int]
    """By the name of each other machine, the number of files that it has not taken in."""
    lost: tuple[str, ...] = ()
    """Files that were published in the remote and are no longer there."""


def compare(
    store: Store, files: RemoteFiles, marks: Marks, kinds: frozenset[Kind]
) -> MachineComparison:
    """Compare a store's records of some kinds with the merged files of the remote."""
    there, refused = _replayed(files, kinds)
    equal, differences = 0, list[Difference]()
    for organization in store.organizations():
        for kind in sorted(kinds):
            where = Filter(organization=organization, with_deleted=True)
            for record in store.each(CLASSES[kind], where, ()):
                digest = there.pop((organization, kind, record.id), "")
                if digest == digest_of(travelling_line(record)):
                    equal += 1
                else:
                    held = "both" if digest else "here"
                    differences.append(Difference(organization, kind, record.id, held))
    differences += [Difference(*key, "there") for key, digest in sorted(there.items()) if digest]
    published = _published(files, marks)
    lost = tuple(name_of_changes(*each) for each in files.lost(published))
    behind = _behind(files, marks.machine, published)
    return MachineComparison(equal, tuple(differences), tuple(refused), behind, lost)


def _published(files: RemoteFiles, marks: Marks) -> dict[str, int]:
    """Return by machine the number of its last file in the remote, as far as this store or the remote knows."""
    there, here = files.known(), marks.published()
    return {name: max(there.get(name, 0), here.get(name, 0)) for name in {*there, *here}}


def _behind(files: RemoteFiles, own: str, published: Mapping[str, int]) -> dict[str, int]:
    """Return by the name of each other machine the number of files that it has not taken in, lost ones included."""
    return {
        str(noted.get("name", machine)): sum(
            max(last - noted["taken"].get(other, 0), 0)
            for other, last in published.items()
            if other != machine
        )
        for machine, noted in files.machines().items()
        if machine != own
    }


def _replayed(
    files: RemoteFiles, kinds: frozenset[Kind]
) -> tuple[dict[Key, str], list[tuple[str, str]]]:
    """Return the digest of each record after merging all files of the remote, and the unreadable files with the reasons.

    Lines are read again only for records in conflict, so that memory is bounded.
    """
    snapshots, refused = files.verified("snapshots")
    changes, others = files.verified("changes")
    read = [*snapshots, *changes]
    known: dict[Key, ReplicaState] = {}
    for each in _entries(read, kinds):
        known[each.key] = merge(known.get(each.key, UNKNOWN), _bare(each.state))
    in_conflict = {key for key, state in known.items() if len(state.digests) > 1}
    with_lines: dict[Key, ReplicaState] = {}
    for each in _entries(read, kinds) if in_conflict else ():
        if each.key in in_conflict:
            with_lines[each.key] = merge(with_lines.get(each.key, UNKNOWN), each.state)
    digests = {key: min(state.digests) for key, state in known.items() if key not in in_conflict}
    for key, state in with_lines.items():
        digests[key] = digest_of(travelling_line(resolve(state).shown))
    return digests, [*refused, *others]


def _entries(files: Sequence[Verified], kinds: frozenset[Kind]) -> Iterator[ChangeEntry]:
    for file in files:
        yield from (each for each in entries(file) if each.key[1] in kinds)


def _bare(state: ReplicaState) -> ReplicaState:
    """Return a state without lines, so that many can be kept in memory."""
    return ReplicaState(state.context, tuple(Sibling(e.dot, e.digest) for e in state.siblings))
