"""Readers of the records that a caller may see; services get them from `Records.seen_by`.

The folder that a caller works in narrows searches and lists; a record that is named by its id is found
wherever the caller may see it.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any, TypedDict, Unpack
from uuid import UUID

from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.errors import NotFound
from minutebook.record.filters import Filter, MemoryQuery, open_organizations, visible_filter
from minutebook.record.ids import uuid_named
from minutebook.record.policy import Owned, scope_between
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Edge,
    Entry,
    Head,
    Kind,
    LedgerMark,
    Memory,
    Record,
    Summary,
    TextRecord,
    Token,
    Version,
)
from minutebook.record.writing.turns import Session
from minutebook.store.disk.encryption import Key
from minutebook.store.protocol import Snapshot, Store, Tended
from minutebook.store.values import Candidate, Group, R, Tie, Vectors, VectorSpace
from minutebook.text.words import TextQuery

Clock = Callable[[], datetime]
"""Returns the present instant, in UTC."""

_EDGES_AT_ONCE = 1000
"""The most edges of which the ends are looked up by one statement, because statements are limited in size."""

FAR = 1000
"""The least offset of a page that is read from the nearer end of the list."""

_UNOWNED = frozenset({Version, Entry, Head, LedgerMark, Token})
"""Classes of records without a repository or user, so a Filter would pass all of an organization's."""


class Conditions(TypedDict, total=False):
    """The conditions of a Filter on records, without those of visibility."""

    valid_at: datetime | None
    differs_between: tuple[datetime, datetime] | None
    equal: Mapping[str, object]
    starts: Mapping[str, str]
    ids: frozenset[str] | None
    client: str | None
    since: datetime | None
    until: datetime | None
    with_deleted: bool


@dataclass(frozen=True, slots=True)
class View:
    """The records of one organization that a caller may see, or a part of them; no method widens it.

    Its methods do what those of `Store` with the same names do. An edge is visible if both its ends are. Raises TypeError
    for classes of records without a repository or user, such as versions and audit entries.
    """

    _store: Store = field(repr=False, compare=False)
    _where: Filter
    _reads_all: bool = False

    @property
    def organization(self) -> str:
        """The organization."""
        return self._where.organization

    @property
    def ids(self) -> frozenset[str] | None:
        """The ids of the records that it is narrowed to; None: any."""
        return self._where.ids

    def where(self, **conditions: Unpack[Conditions]) -> "View":
        """Return the view with some conditions replaced by these."""
        return replace(self, _where=replace(self._where, **conditions))

    def narrowed(self, **equal: object) -> "View":
        """Return the view of the records with fields that equal these values, too."""
        return replace(self, _where=narrowed(self._where, **equal))

    def matching(self, query: MemoryQuery) -> "View":
        """Return the view of the memories that match the query, except for its conditions on metadata."""
        return replace(self, _where=query.narrow(self._where))

    def passes(self, record: Record) -> bool:
        """Tell whether a record that is not an edge is in the view."""
        return self._where.passes(record)

    def get(self, of: type[R], id: str) -> R | None:
        """Return the record with an id if it is in the view, or None."""
        record = self._store.get(self._owned(of), self.organization, id)
        if record is None or not self._where.passes(record):
            return None
        if isinstance(record, Edge) and not self._seen_among([record]):
            return None
        return record

    def find(
        self, of: type[R], *, order: Sequence[str] = (), limit: int | None = None, offset: int = 0
    ) -> list[R]:
        """Return the records, sorted by the fields of `order`, then by id."""
        if _is_edge(of):
            seen = list(self._with_ends(self._store.find(of, self._where, order=order)))
            return seen[offset:] if limit is None else seen[offset : offset + limit]
        return self._store.find(
            self._owned(of), self._where, order=order, limit=limit, offset=offset
        )

    def each(self, of: type[R], order: Sequence[str] = ()) -> Iterator[R]:
        """Yield the records, as of the moment when the first is asked for, with few of them in memory."""
        records = self._store.each(self._owned(of), self._where, order)
        return self._with_ends(records) if _is_edge(of) else records

    def read_ids(
        self, of: type[Record], order: Sequence[str] = (), limit: int | None = None
    ) -> list[str]:
        """Return the ids of the records, in the order of `find`."""
        return self._store.ids(self._no_edge(of), self._where, order, limit)

    def values(self, of: type[Record], fields: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return some fields of each record, in no order."""
        return self._store.values(self._no_edge(of), self._where, fields)

    def groups(self, of: type[Record], by: Sequence[str], span: str) -> list[Group]:
        """Return the records as groups that agree in the text fields `by`, latest first."""
        return self._store.groups(self._no_edge(of), self._where, by, span)

    def count(self, of: type[Record]) -> int:
        """Return the number of records."""
        if _is_edge(of) and not self._is_whole:
            return sum(1 for _ in self.each(of))
        return self._store.count(self._owned(of), self._where)

    def count_vectors(self, of: type[TextRecord], space: VectorSpace) -> int:
        """Count the records that have vectors of a space."""
        return self._store.count_vectors(of, self._where, space)

    def versions(self) -> Iterator[Version]:
        """Yield the versions of the memories in the view."""
        ids = set(self.read_ids(Memory))
        versions = self._store.each(Version, Filter(organization=self.organization), ())
        return (each for each in versions if each.memory in ids)

    def match(self, of: type[TextRecord], query: TextQuery, limit: int) -> list[Candidate]:
        """Rank the records that hold any term of a query by BM25."""
        return self._store.match(of, self._where, query, limit)

    def holding_words(self, of: type[TextRecord], words: Sequence[Sequence[str]]) -> list[set[str]]:
        """Return for each word the ids of the records that have any of its terms."""
        return self._store.holding_words(of, self._where, words)

    def nearest(
        self,
        of: type[TextRecord],
        space: VectorSpace,
        vector: Vectors,
        limit: int,
        also: Collection[str] = (),
    ) -> list[Candidate]:
        """Rank the records by the cosine of their best part with a unit vector."""
        return self._store.nearest(of, self._where, space, vector, limit, also)

    def entities_named(self, words: Sequence[str]) -> list[str]:
        """Return the sorted ids of the entities of which a name occurs in the words."""
        return self._store.entities_named(self._where, words)

    def successor(self, id: str) -> str | None:
        """Return the id of the first memory in the view on the chain of supersessions from a memory; None if there is none."""
        following: str | None = id
        seen: set[str] = set()
        while following is not None and following not in seen:
            seen.add(following)
            memory = self._store.get(Memory, self.organization, following)
            if memory is None:
                return None
            if self._where.passes(memory):
                return memory.id
            following = memory.superseded_by
        return None

    def edges(self, nodes: Collection[str], limit: int | None = None) -> list[Edge]:
        """Return the edges that touch any of the nodes, of the `limit` heaviest those that the caller may see."""
        return list(self._with_ends(self._store.edges(self.organization, nodes, limit)))

    def ties(self, nodes: Collection[str], limit: int) -> list[Tie]:
        """Return the heaviest edges that touch any of the nodes, even if the caller may not see their other ends."""
        return self._store.ties(self.organization, nodes, limit)

    def neighbours(
        self, of: type[TextRecord], ids: Collection[str], reach: int
    ) -> dict[str, list[str]]:
        """Return for each of the ids those written before and after it, even if the caller may not see them."""
        return self._store.neighbours(of, self.organization, ids, reach)

    def _owned(self, of: type[R]) -> type[R]:
        """Return the class. Raises TypeError if its records have no repository or user to check."""
        if of in _UNOWNED and not self._reads_all:
            raise TypeError(f"a {of.kind} does not say whom it concerns")
        return of

    def _no_edge(self, of: type[R]) -> type[R]:
        """Return the class as `_owned` does. Raises TypeError for edges, too, because the caller does not check their ends."""
        if _is_edge(of):
            raise TypeError(f"the ends of a {of.kind} are not looked at")
        return self._owned(of)

    @property
    def _is_whole(self) -> bool:
        return self._where.repositories is None and self._where.users is None

    def _with_ends(self, edges: Iterable[R]) -> Iterator[R]:
        """Yield those edges of which the caller may see both ends; these may be soft-deleted."""
        waiting = iter(edges)
        while some := list(islice(waiting, _EDGES_AT_ONCE)):
            yield from self._seen_among(some)

    def _seen_among(self, edges: list[R]) -> list[R]:
        ends: defaultdict[type[Record], set[str]] = defaultdict(set)
        for edge in edges:
            assert isinstance(edge, Edge)
            for of, id in zip(edge.joins, (edge.source, edge.target), strict=True):
                ends[of].add(id)
        base = Filter(
            organization=self.organization,
            repositories=self._where.repositories,
            users=self._where.users,
            with_deleted=True,
        )
        seen = {
            (of, id)
            for of, ids in ends.items()
            for id in self._store.ids(of, replace(base, ids=frozenset(ids)), ("id",))
        }
        return [
            edge
            for edge in edges
            if isinstance(edge, Edge)
            and {(edge.joins[0], edge.source), (edge.joins[1], edge.target)} <= seen
        ]


@dataclass(frozen=True, slots=True)
class VisibleMoment:
    """The records of a view as of one moment; edges without a check of their ends."""

    _snapshot: Snapshot = field(repr=False, compare=False)
    _where: Filter

    @property
    def organization(self) -> str:
        """The organization."""
        return self._where.organization

    def where(self, **conditions: Unpack[Conditions]) -> "VisibleMoment":
        """Return the moment with some conditions replaced by these."""
        return VisibleMoment(self._snapshot, replace(self._where, **conditions))

    def narrowed(self, **equal: object) -> "VisibleMoment":
        """Return the moment of the records with fields that equal these values, too."""
        return VisibleMoment(self._snapshot, narrowed(self._where, **equal))

    def each(self, of: type[R], order: Sequence[str] = ()) -> Iterator[R]:
        """Yield the records, with few of them in memory."""
        return self._snapshot.each(of, self._where, order)

    def count(self, of: type[Record]) -> int:
        """Count the records."""
        return self._snapshot.count(of, self._where)


@dataclass(frozen=True, slots=True)
class Seen:
    """The records that a caller may see, organization by organization, or a part of them."""

    _store: Store = field(repr=False, compare=False)
    views: tuple[View, ...]

    def __iter__(self) -> Iterator[View]:
        return iter(self.views)

    @property
    def organizations(self) -> list[str]:
        """The names of the organizations, sorted."""
        return [each.organization for each in self.views]

    def where(self, **conditions: Unpack[Conditions]) -> "Seen":
        """Return the reader with some conditions replaced by these."""
        return Seen(self._store, tuple(each.where(**conditions) for each in self.views))

    def narrowed(self, **equal: object) -> "Seen":
        """Return the reader of the records with fields that equal these values, too."""
        return Seen(self._store, tuple(each.narrowed(**equal) for each in self.views))

    def matching(self, query: MemoryQuery) -> "Seen":
        """Return the reader of the memories that match the query, except for its conditions on metadata."""
        return Seen(self._store, tuple(each.matching(query) for each in self.views))

    def view_of(self, organization: str) -> View | None:
        """Return the view of an organization, or None if it is not among them."""
        return next((each for each in self.views if each.organization == organization), None)

    def find(self, of: type[R]) -> list[R]:
        """Return the records, organization by organization."""
        return [record for each in self.views for record in each.find(of)]

    def count(self, of: type[Record]) -> int:
        """Count the records."""
        return sum(each.count(of) for each in self.views)

    def page(self, of: type[R], order: str, limit: int, offset: int = 0) -> list[R]:
        """Return a page of the records of all organizations, by a field (`-name`: descending), then by id."""
        wheres = [each._where for each in self.views]
        for each in self.views:
            each._no_edge(of)
        return self._store.page(of, wheres, order=[order], limit=limit, offset=offset)

    def listing(self, of: type[R], order: str, limit: int, offset: int) -> tuple[list[R], int]:
        """Return a page as `page` does, and the number of all records.

        With one organization, a page far from the start but near the end is read backwards from the end, because an engine
        reads all rows before a page.
        """
        if offset < FAR or len(self.views) > 1:
            found = self.page(of, order, limit, offset)
            if len(found) < limit and (found or not offset):
                return found, offset + len(found)
            return found, self.count(of)
        total = self.count(of)
        after_page = max(total - offset - limit, 0)
        if after_page > offset:
            return self.page(of, order, limit, offset), total
        backwards = order.removeprefix("-") if order.startswith("-") else f"-{order}"
        found = self.page(of, backwards, max(min(limit, total - offset), 0), after_page)
        return found[::-1], total

    @contextmanager
    def moments(self) -> Iterator[list[VisibleMoment]]:
        """Open a reader of each organization, all as of one moment from now on; it may stay open long."""
        with self._store.snapshot(*self.organizations) as snapshot:
            yield [VisibleMoment(snapshot, each._where) for each in self.views]


class Records:
    """The store for services: they write records, and read those that a caller may see.

    Modules that need the whole store, for work in nobody's name, are listed in `tools/house.toml`.
    """

    def __init__(self, store: Tended) -> None:
        self._store = store
        # Services write to the store directly.
        self.transaction, self.put, self.delete = store.transaction, store.put, store.delete

    def seen_by(self, caller: Caller) -> Seen:
        """Return a reader of the records that the caller may see, narrowed to those that their folder shows."""
        return seen_by(self._store, caller)

    def seen_in(self, organization: str, caller: Caller) -> View:
        """Return a reader of the records of an organization that the caller may see.

        Raises NotFound if it is not open to them.
        """
        return seen_in(self._store, organization, caller)

    def read(self, caller: Caller, of: type[R], id: str, *, with_deleted: bool = False) -> R:
        """Return a record, `with_deleted` also a soft-deleted memory.

        Raises NotFound if there is none or the caller may not see it.
        """
        for view in self.seen_by(without_folder_scope(caller)):
            record = view.where(with_deleted=with_deleted).get(of, id)
            if record is not None:
                return record
        raise NotFound(of.kind, id)

    # The following take records that the caller has read already

    def kept(self, record: R) -> R | None:
        """Return the stored record with the id of this one, or None."""
        return self._store.get(type(record), record.organization, record.id)

    def versions(self, memory: Memory) -> list[Version]:
        """Return the versions of a memory, the first one first."""
        here = Filter(organization=memory.organization, equal={"memory": memory.id})
        return self._store.find(Version, here, order=("number",))

    def version(self, memory: Memory, id: str) -> Version | None:
        """Return a version of a memory by its id, or None."""
        found = self._store.get(Version, memory.organization, id)
        return found if found is not None and found.memory == memory.id else None

    def entries(self, memory: Memory) -> list[Entry]:
        """Return the audit entries about a memory, the first one first."""
        here = Filter(organization=memory.organization, equal={"subject": memory.id})
        return self._store.find(Entry, here, order=("number",))

    def first_act(self, record: Record, act: str) -> Entry | None:
        """Return the first audit entry of an act about a record, or None."""
        about = {"subject": record.id, "subject_kind": record.kind, "act": act}
        here = Filter(organization=record.organization, equal=about)
        return next(iter(self._store.find(Entry, here, order=("number",), limit=1)), None)

    def are_linked(self, one: Memory, other: Memory) -> bool:
        """Tell whether a link joins two memories: somebody has said how they are related."""
        edges = self._store.edges(one.organization, [one.id])
        return any(e.kind is Kind.LINK and other.id in (e.source, e.target) for e in edges)

    def summary(self, session: Session) -> Summary | None:
        """Return the summary of a session, or None."""
        return self._store.get(Summary, session.organization, session.summary_id)

    def owned_by(self, record: Record) -> Owned:
        """Return the scope of a record, as `owned_by` does. Raises NotFound if an end of an edge is gone."""
        return owned_by(self._store, record)

    def vectors(self, record: TextRecord) -> tuple[VectorSpace, Vectors] | None:
        """Return the vectors of a record, or None."""
        return self._store.vectors(type(record), record.organization, record.id)

    def organization_with(self, caller: Caller, id: UUID) -> str:
        """Return the organization with a UUID, as `organization_with` does."""
        return organization_with(self._store, caller, id)

    @property
    def key(self) -> Key | None:
        """The key with which the store's file is encrypted; None if it is plain, or on a server."""
        return self._store.database.key

    def states_size(self, of: type[TextRecord], organization: str) -> int:
        """Return the bytes of all token states of an organization's records of a class, whoever may see them."""
        return self._store.upkeep.states_size(of, organization)

    def is_taken(self, of: type[Record], organization: str, id: str) -> bool:
        """Tell whether there is a record with an id, whoever may see it."""
        return self._store.get(of, organization, id) is not None

    @property
    def tokens(self) -> View:
        """A reader of all tokens, for commands that find one by a part of its id."""
        return everything_in(self._store, SYSTEM_ORGANIZATION)

    def sequence(self, organization: str) -> int:
        """Return the sequence of the organization's latest change, 0 when there is none."""
        return self._store.sequence(organization)

    def one_moment(self) -> AbstractContextManager[None]:
        """Let all reads of this thread inside the block see the data of one moment: see `Database.one_moment`."""
        return self._store.database.one_moment()

    def scrub(self) -> list[str]:
        """Remove every byte of removed records from the store's files: see `Upkeep.scrub`."""
        return self._store.upkeep.scrub()


def seen_by(store: Store, caller: Caller) -> Seen:
    """Return a reader of the records that a caller may see, narrowed to those that their folder shows."""
    names = store.organizations(open_organizations(caller))
    return Seen(store, tuple(View(store, visible_filter(caller, name)) for name in names))


def seen_in(store: Store, organization: str, caller: Caller) -> View:
    """Return a reader of the records of an organization that a caller may see.

    Raises NotFound if it is not open to them.
    """
    open_to_caller = open_organizations(caller)
    if open_to_caller is not None and organization not in open_to_caller:
        raise NotFound("organization", organization)
    return View(store, visible_filter(caller, organization))


def everything_in(store: Store, organization: str) -> View:
    """Return a reader of all records of an organization, for work in nobody's name."""
    return View(store, Filter(organization=organization), _reads_all=True)


def owned_by(store: Store, record: Record) -> Owned:
    """Return the scope of a record: itself, or for an edge the scope of both ends. Raises NotFound if an end is gone."""
    if not isinstance(record, Edge):
        return record  # type: ignore[return-value]
    pairs = zip(record.joins, (record.source, record.target), strict=True)
    ends = [store.get(of, record.organization, id) for of, id in pairs]
    if None in ends:
        raise NotFound(record.kind, record.id)
    return scope_between(ends[0], ends[1])  # type: ignore[arg-type]


def organization_with(store: Store, caller: Caller, id: UUID) -> str:
    """Return the name of the organization with a UUID: the caller's, else one in the store, else the UUID itself.

    This checks no permission: `policy.narrowed_to` refuses a name that is not the caller's.
    """
    known = store.organizations() if caller.organization is None else [caller.organization]
    return _name_with(id, (name for name in known if name != SYSTEM_ORGANIZATION))


def repository_with(caller: Caller, id: UUID) -> str:
    """Return the name of the repository with a UUID: one of the caller's, else the UUID itself."""
    return _name_with(id, sorted(caller.repositories or ()))


def narrowed(where: Filter, **conditions: object) -> Filter:
    """Return a Filter that passes of the same records those with fields that equal these values, too."""
    return replace(where, equal={**where.equal, **conditions})


def _is_edge(of: type[Record]) -> bool:
    return issubclass(of, Edge)


def _name_with(id: UUID, names: Iterable[str]) -> str:
    return next((name for name in names if uuid_named(name) == id), str(id))
