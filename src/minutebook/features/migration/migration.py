"""Move all records of one store into another: from a file to a server, or back."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from minutebook.features.migration.rows import Transfer
from minutebook.memory.access.audit import Trail
from minutebook.memory.access.visibility import Clock
from minutebook.record.caller import Progress
from minutebook.record.errors import StoreError
from minutebook.record.filters import Filter
from minutebook.record.reason import count_of
from minutebook.record.records import CLASSES, TEXT_CLASSES, Kind, Record
from minutebook.store.protocol import Tended
from minutebook.store.values import Carried, Change, RemovedRecord, TextVectors

BATCH = 500
"""Changes that are moved in one transaction."""

_COPYING = 0.8
"""The part of the progress that copying takes; comparing takes the rest."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """The content of the target, all of it compared with the source.

    `breaks` name the organizations whose trail does not hold, in the source as in the target.
    """

    organizations: int
    changes: int
    """The number of records and removals that were moved this time."""
    records: Counter[Kind] = field(default_factory=Counter)
    vectors: int = 0
    breaks: tuple[str, ...] = ()


class Migration:
    """A move by the source's feed of changes, organization by organization; the target notes how far it came.

    So the next run continues one that was cut short, and a run after the end brings what was written
    since. The source is only read; nobody can write to it meanwhile.
    """

    def __init__(self, source: Tended, target: Tended, clock: Clock) -> None:
        self._source = source
        self._target = target
        self._transfer = Transfer(target.database)
        self._trail = Trail(target, clock)

    def run(self, progress: Progress) -> Migrated:
        """Move the records that the target lacks, then compare all; a complete target is not changed.

        Raises StoreError if the target holds other records, StoreBusy if somebody writes to the
        source for too long.
        """
        if self._transfer.has_all_of(self._source.database.identity):
            names = self._source.organizations()
            with self._source.transaction(*names):
                if all(self._transfer.received(n) == self._source.sequence(n) for n in names):
                    return self._compare(names, 0, progress)
        self._transfer.begin(self._source.database.identity)
        moved = 0
        while True:
            names = self._source.organizations()
            with self._source.transaction(*names):
                moved += self._move_changes(names, progress)
                if self._source.organizations() != names:
                    # The first record of an organization was written before this transaction named it.
                    continue
                self._transfer.copy_side_tables(names, self._source.database)
                done = self._compare(names, moved, progress)
                self._transfer.end()
            return done

    def _move_changes(self, organizations: Sequence[str], progress: Progress) -> int:
        """Move the changes since the target's last one; return their number."""
        begun = {name: self._transfer.received(name) for name in organizations}
        ahead = {name: self._source.sequence(name) - begun[name] for name in organizations}
        total, passed, moved = sum(ahead.values()), 0, 0
        for name in organizations:
            for batch in self._batches(name, begun[name]):
                self._move_batch(name, batch)
                moved += len(batch)
                reached = passed + batch[-1].sequence - begun[name]
                progress(_COPYING * reached / total, f"{name}: {count_of(moved, 'change')}")
            passed += ahead[name]
        return moved

    def _batches(self, organization: str, since: int) -> Iterator[list[Change]]:
        while batch := self._source.changes(organization, since, BATCH):
            yield batch
            since = batch[-1].sequence

    def _move_batch(self, organization: str, changes: Sequence[Change]) -> None:
        gone: list[RemovedRecord] = [
            (CLASSES[each.kind], each.id) for each in changes if each.deleted
        ]
        carried: list[Carried] = []
        for kind in dict.fromkeys(each.kind for each in changes):
            ids = [each.id for each in changes if each.kind is kind and not each.deleted]
            found = _by_ids(self._source, CLASSES[kind], organization, ids)
            vectors = _embeddings(self._source, kind, organization, ids)
            carried += (Carried(each, vectors.get(each.id)) for each in found)
        self._transfer.receive(organization, carried, gone, changes[-1].sequence)

    def _compare(self, organizations: Sequence[str], moved: int, progress: Progress) -> Migrated:
        """Compare every record of the target with the source's. Raises StoreError if one differs."""
        records: Counter[Kind] = Counter()
        vectors, breaks = 0, []
        for place, name in enumerate(organizations):
            for step, (kind, record_class) in enumerate(CLASSES.items()):
                part = (place + step / len(CLASSES)) / len(organizations)
                progress(_COPYING + (1 - _COPYING) * part, f"{name}: comparing {kind}")
                count, embedded = self._compare_kind(name, record_class)
                records[kind] += count
                vectors += embedded
            if self._trail.verify(name) is not None:
                breaks.append(name)
        progress(1.0, "done")
        return Migrated(len(organizations), moved, records, vectors, tuple(breaks))

    def _compare_kind(self, organization: str, of: type[Record]) -> tuple[int, int]:
        """Compare the records of a class; return their number and that of those with vectors. Raises StoreError."""
        everything = Filter(organization=organization, with_deleted=True)
        counts = [store.count(of, everything) for store in (self._source, self._target)]
        if counts[0] != counts[1]:
            raise self._differs(organization, of.kind, f"{counts[1]:,} instead of {counts[0]:,}")
        seen = embedded = 0
        records = self._source.each(of, everything, ()) if counts[0] else iter(())
        while batch := list(islice(records, BATCH)):
            ids = [each.id for each in batch]
            # Also keeps the source's transaction from being taken for one that was left open.
            vectors = _embeddings(self._source, of.kind, organization, ids)
            moved = {each.id: each for each in _by_ids(self._target, of, organization, ids)}
            moved_vectors = _embeddings(self._target, of.kind, organization, ids)
            for each in batch:
                if moved.get(each.id) != each:
                    raise self._differs(organization, of.kind, f"{each.id} is another")
            if vectors.keys() != moved_vectors.keys() or not all(
                each.same_as(moved_vectors[id]) for id, each in vectors.items()
            ):
                raise self._differs(organization, of.kind, "vectors are others")
            seen += len(batch)
            embedded += len(vectors)
        return seen, embedded

    def _differs(self, organization: str, kind: Kind, what: str) -> StoreError:
        return StoreError(
            "{place} does not hold what {other} does (the {kind} records of {name}: {what}); the source "
            "is as it was. Empty the target and move again",
            place=self._target.database.place,
            other=self._source.database.place,
            kind=kind,
            name=organization,
            what=what,
        )


def _by_ids(store: Tended, of: type[Record], organization: str, ids: Sequence[str]) -> list[Record]:
    where = Filter(organization=organization, ids=frozenset(ids), with_deleted=True)
    return list(store.find(of, where)) if ids else []


def _embeddings(
    store: Tended, kind: Kind, organization: str, ids: Sequence[str]
) -> dict[str, TextVectors]:
    """Return, by id, the vectors of records; of a kind that has none, only show that the transaction is in use."""
    if kind not in TEXT_CLASSES:
        store.sequence(organization)
        return {}
    return Transfer(store.database).embeddings(TEXT_CLASSES[kind], organization, ids)
