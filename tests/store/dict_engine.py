"""The plainest engine that could be right: dictionaries, and the pure rules said aloud."""

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import cast

import numpy as np

from minutebook.record.errors import InvalidInput, NotFound, StoreClosed
from minutebook.record.filters import Filter
from minutebook.record.records import Edge, Entity, Kind, Record, TextRecord, Version
from minutebook.store.protocol import Tended
from minutebook.store.transaction_names import TransactionNames, check_in_snapshot
from minutebook.store.values import Candidate, Change, Group, R, T, Tie, Vectors, VectorSpace
from minutebook.text.words import TextQuery, terms
from minutebook.text.words import words as words_of
from tests.store import lexical
from tests.store.engine import Engine

Key = tuple[str, Kind, str]


@dataclass
class State:
    records: dict[Key, Record] = field(default_factory=dict)
    vectors: dict[Key, tuple[VectorSpace, Vectors]] = field(default_factory=dict)
    states: dict[Key, bytes] = field(default_factory=dict)
    changes: dict[Key, tuple[int, bool]] = field(default_factory=dict)

    def __copy__(self) -> "State":
        return State(dict(self.records), dict(self.vectors), dict(self.states), dict(self.changes))


@dataclass(frozen=True)
class DictSnapshot:
    state: State
    organizations: frozenset[str]

    def count(self, of: type[Record], where: Filter) -> int:
        check_in_snapshot(self.organizations, where.organization)
        return len(_selected(self.state, of, where))

    def each(self, of: type[R], where: Filter, order: Sequence[str] = ()) -> Iterator[R]:
        check_in_snapshot(self.organizations, where.organization)
        yield from _sorted(_selected(self.state, of, where), order)

    def wrong_names(self, organization: str) -> list[str]:
        # Names are looked up in the entities themselves.
        check_in_snapshot(self.organizations, organization)
        return []


class DictStore:
    def __init__(self) -> None:
        self._committed = State()
        self._turn = threading.RLock()
        self._local = threading.local()
        self._names = TransactionNames()
        self.is_open = True

    @property
    def upkeep(self) -> "DictStore":
        return self

    @contextmanager
    def transaction(self, *organizations: str) -> Iterator[None]:
        with self._names.within(organizations), self._writing():
            yield

    @contextmanager
    def snapshot(self, *organizations: str) -> Iterator[DictSnapshot]:
        if not self.is_open:
            raise StoreClosed("closed")
        yield DictSnapshot(self._committed, frozenset(organizations))

    def put(self, record: Record) -> None:
        key = _key(record)
        with self._writing(record.organization) as state:
            earlier = state.records.get(key)
            if earlier is not None and getattr(earlier, "text", "") != getattr(record, "text", ""):
                state.vectors.pop(key, None)
                state.states.pop(key, None)
            state.records[key] = record
            _note(state, key, False)

    def get(self, of: type[R], organization: str, id: str) -> R | None:
        record = self._state().records.get((organization, of.kind, id))
        return record if isinstance(record, of) else None

    def find(
        self,
        of: type[R],
        where: Filter,
        *,
        order: Sequence[str] = (),
        limit: int | None = None,
        offset: int = 0,
    ) -> list[R]:
        found = _sorted(self._selected(of, where), order)
        return found[offset:] if limit is None else found[offset : offset + limit]

    def page(
        self,
        of: type[R],
        wheres: Sequence[Filter],
        *,
        order: Sequence[str],
        limit: int,
        offset: int = 0,
    ) -> list[R]:
        everything = [record for where in wheres for record in self._selected(of, where)]
        return _sorted(everything, order)[offset : offset + limit]

    def each(self, of: type[R], where: Filter, order: Sequence[str]) -> Iterator[R]:
        if not self.is_open:
            raise StoreClosed("closed")
        yield from _sorted(_selected(self._committed, of, where), order)

    def ids(
        self, of: type[Record], where: Filter, order: Sequence[str], limit: int | None = None
    ) -> list[str]:
        return [record.id for record in self.find(of, where, order=order, limit=limit)]

    def count(self, of: type[Record], where: Filter) -> int:
        return len(self._selected(of, where))

    def values(self, of: type[Record], where: Filter, fields: Sequence[str]) -> list[tuple]:
        return [tuple(getattr(each, name) for name in fields) for each in self._selected(of, where)]

    def groups(self, of: type[Record], where: Filter, by: Sequence[str], span: str) -> list[Group]:
        found: dict[tuple, list] = {}
        for record in self._selected(of, where):
            values = tuple(getattr(record, name) for name in by)
            found.setdefault(values, []).append(getattr(record, span))
        groups = [Group(values, len(at), min(at), max(at)) for values, at in found.items()]
        groups.sort(key=lambda g: tuple(map(_none_first, g.values)))
        return sorted(groups, key=lambda g: g.last, reverse=True)

    def delete(self, of: type[Record], organization: str, id: str) -> bool:
        key = (organization, of.kind, id)
        with self._writing(organization) as state:
            if key not in state.records:
                return False
            gone = [k for k, r in state.records.items() if _goes_with(r, key)]
            for each in [*gone, key]:
                del state.records[each]
                state.vectors.pop(each, None)
                state.states.pop(each, None)
                _note(state, each, True)
            return True

    def organizations(self, among: Collection[str] | None = None) -> list[str]:
        known = {organization for organization, _, _ in self._state().changes}
        return sorted(known if among is None else known & set(among))

    def match(
        self, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        everything = Filter(organization=where.organization, with_deleted=True)
        documents = {r.id: terms(r.text) for r in self._selected(of, everything)}
        allowed = {r.id for r in self._selected(of, where)}
        ranked = lexical.rank(query, documents).items()
        return [Candidate(id, score) for id, score in ranked if id in allowed][:limit]

    def holding_words(
        self, of: type[TextRecord], where: Filter, words: Sequence[Sequence[str]]
    ) -> list[set[str]]:
        held = {r.id: set(terms(r.text)) for r in self._selected(of, where)}
        return [{id for id, own in held.items() if own & set(word)} for word in words]

    def matches_phrase(
        self, of: type[TextRecord], where: Filter, words: Sequence[str]
    ) -> list[str]:
        return sorted(r.id for r in self._selected(of, where) if _stand_in(words_of(r.text), words))

    def put_vectors(
        self,
        of: type[TextRecord],
        organization: str,
        id: str,
        space: VectorSpace,
        vectors: Vectors,
        states: bytes | None = None,
    ) -> None:
        key = (organization, of.kind, id)
        with self._writing(organization) as state:
            if vectors.ndim != 2 or not len(vectors) or vectors.shape[1] != space.dimensions:
                raise InvalidInput("vectors", f"{vectors.shape}, not {space.dimensions}")
            if not np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=0.01):
                raise InvalidInput("vectors", "not of length 1")
            if key not in state.records:
                raise NotFound(of.kind, id)
            if states is not None and not space.states:
                raise InvalidInput("states", "no form")
            state.vectors[key] = (space, vectors.astype(np.float16).astype(np.float32))
            state.states.pop(key, None)
            if states is not None:
                state.states[key] = states
            _note(state, key, False)

    def vectors(
        self, of: type[TextRecord], organization: str, id: str
    ) -> tuple[VectorSpace, Vectors] | None:
        return self._state().vectors.get((organization, of.kind, id))

    def token_states(
        self, of: type[TextRecord], organization: str, ids: Collection[str], space: VectorSpace
    ) -> dict[str, bytes]:
        state = self._state()
        return {
            id: state.states[organization, of.kind, id]
            for id in ids
            if _has_states(state, (organization, of.kind, id), space)
        }

    def states_size(self, of: type[TextRecord], organization: str) -> int:
        held = self._state().states.items()
        return sum(len(states) for key, states in held if key[:2] == (organization, of.kind))

    def without_vectors(
        self,
        kinds: Sequence[type[T]],
        space: VectorSpace,
        limit: int,
        among: Collection[str] | None = None,
    ) -> list[T]:
        state = self._state()
        lacking = [
            record
            for of in kinds
            for key, record in sorted(state.records.items(), reverse=True)
            if isinstance(record, of)
            and (among is None or record.organization in among)
            and not _has_all(state, key, space)
        ]
        return sorted(lacking, key=lambda each: _key(each) in state.vectors)[:limit]

    def count_vectors(self, of: type[TextRecord], where: Filter, space: VectorSpace) -> int:
        state = self._state()
        return sum(_has_all(state, _key(r), space) for r in self._selected(of, where))

    def nearest(
        self,
        of: type[TextRecord],
        where: Filter,
        space: VectorSpace,
        vector: Vectors,
        limit: int,
        also: Collection[str] = (),
    ) -> list[Candidate]:
        if vector.shape != (space.dimensions,):
            raise InvalidInput("vector", f"{vector.shape}, not {space.dimensions}")
        if not abs(np.linalg.norm(vector) - 1) < 0.01:
            raise InvalidInput("vector", "not of length 1")
        found = []
        for record in self._selected(of, where):
            held, rows = self._state().vectors.get(_key(record), (None, None))
            if rows is not None and held == space:
                best = max(_cosine(row, vector) for row in rows)
                found.append(Candidate(record.id, best))
        found.sort(key=lambda c: (-c.score, c.id))
        return [*found[:limit], *(each for each in found[limit:] if each.id in also)]

    def edges(
        self, organization: str, nodes: Collection[str], limit: int | None = None
    ) -> list[Edge]:
        found = [
            r
            for r in self._state().records.values()
            if isinstance(r, Edge)
            and r.organization == organization
            and (r.source in nodes or r.target in nodes)
        ]
        if limit is None:
            return sorted(found, key=lambda e: (e.id, e.kind))
        return sorted(found, key=lambda e: (-e.weight, e.id, e.kind))[:limit]

    def neighbours(
        self, of: type[TextRecord], organization: str, ids: Collection[str], reach: int
    ) -> dict[str, list[str]]:
        known = sorted(
            (
                r.id
                for r in self._state().records.values()
                if type(r) is of and r.organization == organization
            ),
            key=lambda each: each.encode("utf-8", "surrogatepass"),
        )
        found = {}
        for id in ids:
            before = [each for each in known if each < id][::-1][:reach]
            behind = [each for each in known if each > id][:reach]
            pairs = zip_longest(before, behind)
            found[id] = [each for pair in pairs for each in pair if each is not None]
        return found

    def ties(self, organization: str, nodes: Collection[str], limit: int) -> list[Tie]:
        return [
            Tie(type(e), e.id, e.source, e.target, e.type, e.weight)
            for e in self.edges(organization, nodes, limit)
        ]

    def entities_named(self, where: Filter, words: Sequence[str]) -> list[str]:
        return sorted(
            r.id
            for r in self._selected(Entity, where)
            if any(_stand_in(list(words), words_of(name)) for name in (r.name, *r.aliases))
        )

    def changes(self, organization: str, since: int, limit: int | None = None) -> list[Change]:
        found = [
            Change(sequence, kind, id, deleted)
            for (where, kind, id), (sequence, deleted) in self._state().changes.items()
            if where == organization and sequence > since
        ]
        return sorted(found, key=lambda c: c.sequence)[:limit]

    def sequence(self, organization: str) -> int:
        return max((c.sequence for c in self.changes(organization, 0)), default=0)

    def open(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False

    @contextmanager
    def _writing(self, organization: str | None = None) -> Iterator[State]:
        if organization is not None:
            self._names.check(organization)
        with self._turn:
            before = self._state()
            outermost = getattr(self._local, "working", None) is None
            self._local.working = copy(before)
            done = False
            try:
                yield self._local.working
                done = True
            finally:
                after = self._local.working if done else before
                if outermost:
                    self._local.working = None
                    self._committed = after
                else:
                    self._local.working = after

    def _state(self) -> State:
        if not self.is_open:
            raise StoreClosed("closed")
        return getattr(self._local, "working", None) or self._committed

    def _selected(self, of: type[R], where: Filter) -> list[R]:
        return _selected(self._state(), of, where)


class DictEngine(Engine):
    name = "dict"

    def open(self, folder: Path) -> Tended:
        return cast("Tended", DictStore())


def _has_states(state: State, key: Key, space: VectorSpace) -> bool:
    held = state.vectors.get(key)
    return (
        key in state.states
        and held is not None
        and (held[0], held[0].states) == (space, space.states)
    )


def _has_all(state: State, key: Key, space: VectorSpace) -> bool:
    if space.states:
        return _has_states(state, key, space)
    return state.vectors.get(key, (None,))[0] == space


def _selected(state: State, of: type[R], where: Filter) -> list[R]:
    return [r for r in state.records.values() if isinstance(r, of) and where.passes(r)]


def _sorted(found: list[R], order: Sequence[str]) -> list[R]:
    found.sort(key=lambda r: r.id, reverse=bool(order) and order[0].startswith("-"))
    for name in reversed(order):
        found.sort(
            key=lambda r: _none_first(getattr(r, name.removeprefix("-"))),
            reverse=name.startswith("-"),
        )
    return found


def _key(record: Record) -> Key:
    return record.organization, record.kind, record.id


def _note(state: State, key: Key, deleted: bool) -> None:
    latest = max((n for (where, *_), (n, _) in state.changes.items() if where == key[0]), default=0)
    state.changes[key] = (latest + 1, deleted)


def _goes_with(record: Record, key: Key) -> bool:
    organization, whole, id = key
    if record.organization != organization:
        return False
    if isinstance(record, Version):
        return whole is Kind.MEMORY and record.memory == id
    if not isinstance(record, Edge):
        return False
    ends = zip(record.joins, (record.source, record.target), strict=True)
    return any((of.kind, end) == (whole, id) for of, end in ends)


def _none_first(value: object) -> tuple[bool, object]:
    return (False, 0) if value is None else (True, value)


def _stand_in(words: list[str], run: Sequence[str]) -> bool:
    length = len(run)
    return length > 0 and any(
        words[place : place + length] == list(run) for place in range(len(words) - length + 1)
    )


def _cosine(row: Vectors, vector: Vectors) -> float:
    one, other = row.astype(np.float64), vector.astype(np.float64)
    return float(np.dot(one, other) / np.linalg.norm(one) / np.linalg.norm(other))
