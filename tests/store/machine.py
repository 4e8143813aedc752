"""One engine and the oracle, led through the same life and compared all along."""

import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import ClassVar

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from minutebook.record.filters import Filter
from minutebook.record.records import (
    CodeChunk,
    Decision,
    Entity,
    Entry,
    File,
    Head,
    LedgerMark,
    Link,
    Memory,
    Mention,
    Project,
    Proposal,
    Record,
    Relation,
    Summary,
    TextRecord,
    Token,
    Turn,
    Version,
)
from minutebook.store.protocol import Store
from minutebook.store.values import VectorSpace
from minutebook.text.words import parse_query, terms, words
from tests.store import given as drawn
from tests.store.dict_engine import DictStore
from tests.store.engine import Engine
from tests.store.promises import check_ranking
from tests.store.samples import FORMS, ORGANIZATIONS, SPACES

CLASSES = (
    Memory,
    Version,
    Entity,
    Relation,
    Link,
    Mention,
    Entry,
    Head,
    Project,
    File,
    CodeChunk,
    Decision,
    Proposal,
    LedgerMark,
    Token,
    Turn,
    Summary,
)
spaces = st.builds(
    lambda space, form: replace(space, states=form),
    st.sampled_from(SPACES),
    st.sampled_from(FORMS),
)
"""Spaces that name a form of token states, or none."""
text_classes = st.sampled_from([Memory, CodeChunk, Decision, Proposal, Turn, Summary])
STEADY = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
"""What every machine is run with."""

Selection = tuple[type[TextRecord], Filter]
queries = st.sampled_from(["ana", "bread running", '"ana bread" run', "progress 东京", "the"])


class _Undo(Exception):
    """Ends a transaction that is to leave nothing."""


class StoreMachine(RuleBasedStateMachine):
    """Inherit it and say which engine it is."""

    engine: ClassVar[Engine]

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp())
        self.engine.make(self.folder)
        self.store = self.engine.open(self.folder)
        self.oracle = DictStore()
        self.levels: list[ExitStack] = []

    def teardown(self) -> None:
        while self.levels:
            self.levels.pop().close()
        assert self.engine.faults(self.store) == []
        self.store.close()
        self.engine.discard(self.folder)

    # What happens

    @rule(record=drawn.records)
    def put(self, record: Record) -> None:
        self.store.put(record)
        self.oracle.put(record)

    @rule(
        record=drawn.text_records,
        rows=drawn.vectors,
        space=spaces,
        states=st.none() | st.binary(max_size=3),
    )
    def put_with_vectors(
        self, record: TextRecord, rows: np.ndarray, space: VectorSpace, states: bytes | None
    ) -> None:
        kept = states if space.states else None
        for store in (self.store, self.oracle):
            with store.transaction(*ORGANIZATIONS):
                store.put(record)
                store.put_vectors(type(record), record.organization, record.id, space, rows, kept)

    @rule(
        of=text_classes,
        organization=drawn.organizations,
        id=drawn.ids,
        rows=drawn.vectors,
        space=st.sampled_from(SPACES),
    )
    def put_vectors(
        self, of: type[TextRecord], organization: str, id: str, rows: np.ndarray, space: VectorSpace
    ) -> None:
        if self.oracle.get(of, organization, id) is not None:
            self.store.put_vectors(of, organization, id, space, rows)
            self.oracle.put_vectors(of, organization, id, space, rows)

    @rule(of=st.sampled_from(CLASSES), organization=drawn.organizations, id=drawn.ids)
    def delete(self, of: type[Record], organization: str, id: str) -> None:
        gone = self.store.delete(of, organization, id)
        assert gone == self.oracle.delete(of, organization, id)

    @precondition(lambda self: len(self.levels) < 3)
    @rule()
    def begin(self) -> None:
        level = ExitStack()
        level.enter_context(self.store.transaction(*ORGANIZATIONS))
        level.enter_context(self.oracle.transaction(*ORGANIZATIONS))
        self.levels.append(level)

    @precondition(lambda self: self.levels)
    @rule()
    def commit(self) -> None:
        self.levels.pop().close()

    @precondition(lambda self: self.levels)
    @rule()
    def undo(self) -> None:
        error = _Undo()
        with suppress(_Undo):
            self.levels.pop().__exit__(_Undo, error, None)

    @precondition(lambda self: not self.levels)
    @rule()
    def close_and_reopen(self) -> None:
        self.store.close()
        self.store = self.engine.open(self.folder)

    @precondition(lambda self: not self.levels)
    @rule()
    def crash_and_reopen(self) -> None:
        self.folder = self.engine.crash(self.store, self.folder)
        self.store = self.engine.open(self.folder)

    # What is asked

    @rule(where=drawn.memory_filters, order=st.sampled_from([(), ("-ingestion_time",)]))
    def find_is_the_same(self, where: Filter, order: tuple[str, ...]) -> None:
        found = self.store.find(Memory, where, order=order)
        assert found == self.oracle.find(Memory, where, order=order)
        if not self.levels:
            # Inside a transaction it gives what is committed.
            assert list(self.store.each(Memory, where, order)) == found
        assert self.store.ids(Memory, where, order) == [record.id for record in found]

    @rule(selection=drawn.selections, space=spaces)
    def counts_are_the_same(self, selection: Selection, space: VectorSpace) -> None:
        assert self.store.count(*selection) == self.oracle.count(*selection)
        counted = self.store.count_vectors(*selection, space)
        assert counted == self.oracle.count_vectors(*selection, space)

    @rule(
        of=st.sampled_from([Turn, Summary]),
        where=drawn.turn_filters,
        by=st.sampled_from([("session",), ("repository", "session", "user")]),
    )
    def groups_are_the_same(self, of: type[TextRecord], where: Filter, by: tuple[str, ...]) -> None:
        groups = self.store.groups(of, where, by, "at")
        assert groups == self.oracle.groups(of, where, by, "at")

    @rule(selection=drawn.selections, asked=queries, limit=st.integers(1, 5))
    def match_is_the_same(self, selection: Selection, asked: str, limit: int) -> None:
        query = parse_query(asked)
        expected = {c.id: c.score for c in self.oracle.match(*selection, query, 99)}
        check_ranking(self.store.match(*selection, query, limit), expected, limit)

    @rule(
        selection=drawn.selections,
        space=st.sampled_from(SPACES),
        vector=drawn.directions,
        limit=st.integers(1, 5),
    )
    def nearest_is_the_same(
        self, selection: Selection, space: VectorSpace, vector: np.ndarray, limit: int
    ) -> None:
        nearest = self.oracle.nearest(*selection, space, vector, 99)
        expected = {c.id: c.score for c in nearest}
        found = self.store.nearest(*selection, space, vector, limit)
        check_ranking(found, expected, limit)

    @rule(where=drawn.memory_filters, name=drawn.texts)
    def phrases_and_names_are_the_same(self, where: Filter, name: str) -> None:
        run = words(name)
        found = self.store.matches_phrase(Memory, where, run)
        assert found == self.oracle.matches_phrase(Memory, where, run)
        each = [(term, f"{term}s") for term in terms(name)]
        held = self.store.holding_words(Memory, where, each)
        assert held == self.oracle.holding_words(Memory, where, each)
        anyone = Filter(organization=where.organization, users=where.users)
        named = self.store.entities_named(anyone, run)
        assert named == self.oracle.entities_named(anyone, run)

    @rule(
        organization=drawn.organizations,
        nodes=st.sets(drawn.ids),
        limit=st.none() | st.integers(0, 3),
    )
    def edges_are_the_same(self, organization: str, nodes: set[str], limit: int | None) -> None:
        found = self.store.edges(organization, nodes, limit)
        assert found == self.oracle.edges(organization, nodes, limit)
        if limit is not None:
            ties = self.store.ties(organization, nodes, limit)
            assert ties == self.oracle.ties(organization, nodes, limit)

    @rule(
        of=text_classes,
        organization=drawn.organizations,
        ids=st.sets(drawn.ids),
        space=spaces,
    )
    def states_are_the_same(
        self, of: type[TextRecord], organization: str, ids: set[str], space: VectorSpace
    ) -> None:
        found = self.store.token_states(of, organization, ids, space)
        assert found == self.oracle.token_states(of, organization, ids, space)
        size = self.store.upkeep.states_size(of, organization)
        assert size == self.oracle.states_size(of, organization)

    @rule(
        kinds=st.lists(text_classes, unique=True),
        space=spaces,
        limit=st.integers(0, 3),
        among=st.none() | st.sets(drawn.organizations),
    )
    def what_lacks_vectors_is_the_same(
        self, kinds: list[type[TextRecord]], space: VectorSpace, limit: int, among: set[str] | None
    ) -> None:
        everything = self.oracle.without_vectors(kinds, space, 99, among)
        found = self.store.without_vectors(kinds, space, 99, among)
        assert _keys(found) == _keys(everything)
        first = self.store.without_vectors(kinds, space, limit, among)
        assert [type(each) for each in first] == [type(each) for each in everything[:limit]]
        assert _keys(first) <= _keys(everything)
        assert len(_keys(first)) == len(first)

    @precondition(lambda self: self.levels)
    @rule()
    def others_see_what_was_committed(self) -> None:
        differing: list[object] = []

        def look() -> None:
            if _records(self.store) != _records(self.oracle):
                differing.append(_records(self.store))

        _in_a_thread(look)
        assert differing == []

    # What always holds

    @invariant()
    def records_are_the_same(self) -> None:
        assert _records(self.store) == _records(self.oracle)
        assert self.store.organizations() == self.oracle.organizations()

    @invariant()
    def vectors_are_the_same(self) -> None:
        for record in _records(self.oracle):
            if isinstance(record, TextRecord):
                where = (type(record), record.organization, record.id)
                kept, expected = self.store.vectors(*where), self.oracle.vectors(*where)
                assert (kept is None) == (expected is None)
                if kept is not None and expected is not None:
                    assert kept[0] == expected[0]
                    np.testing.assert_array_equal(kept[1], expected[1])

    @invariant()
    def changes_are_the_same(self) -> None:
        for organization in ORGANIZATIONS:
            changes = self.store.changes(organization, 0)
            expected = self.oracle.changes(organization, 0)
            # In which order what goes with a deleted record goes is the engine's own business.
            assert {(c.kind, c.id, c.deleted) for c in changes} == {
                (c.kind, c.id, c.deleted) for c in expected
            }
            sequences = [c.sequence for c in changes]
            assert sequences == sorted(set(sequences))
            assert self.store.sequence(organization) == max(sequences, default=0)


def _records(store: Store) -> list[Record]:
    return [
        record
        for organization in ORGANIZATIONS
        for of in CLASSES
        for record in store.find(of, Filter(organization=organization, with_deleted=True))
    ]


def _keys(records: Iterable[Record]) -> set[tuple[str, str, str]]:
    return {(each.organization, each.kind, each.id) for each in records}


def _in_a_thread(task: Callable[[], None]) -> None:
    thread = threading.Thread(target=task)
    thread.start()
    thread.join()
