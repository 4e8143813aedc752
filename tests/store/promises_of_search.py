"""What the protocol promises of texts, vectors, edges, names and changes."""

import threading
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.record.errors import InvalidInput, NotFound
from minutebook.record.filters import Filter
from minutebook.record.records import (
    CLASSES,
    Decision,
    Entity,
    Link,
    Memory,
    MemoryType,
    Mention,
    Relation,
    Status,
    TextRecord,
    Turn,
    Version,
)
from minutebook.store.protocol import Tended
from minutebook.store.values import Tie, VectorSpace
from minutebook.text.words import TextQuery, parse_query, terms, words
from tests.store import given as drawn
from tests.store import lexical
from tests.store.promises import (
    ACME,
    EXAMPLES,
    OTHER_SPACE,
    SPACE,
    Promises,
    check_ranking,
    ids,
    in_a_row,
    in_threads,
)
from tests.store.samples import INSTANTS, START, decision, edge, entity, memory, turn, unit, version

FORMED = replace(SPACE, states="one")
ROW = unit(1, 0, 0, 0)[None]


class SearchPromises(Promises):
    # Text

    @EXAMPLES
    @given(
        st.lists(drawn.memories, max_size=8),
        drawn.memory_filters,
        st.sampled_from(
            ["ana bread", '"ana bread"', '"ana bread" run', '"ana" "bread" 东京', "the", "progress"]
        ),
        st.integers(0, 5),
    )
    def test_match_ranks_as_bm25_says(
        self, several: list[Memory], where: Filter, asked: str, limit: int
    ) -> None:
        query = parse_query(asked)
        with self.fresh() as store:
            for record in several:
                store.put(record)
            last = {(r.organization, r.id): r for r in several}.values()
            documents = {r.id: terms(r.text) for r in last if r.organization == where.organization}
            allowed = {r.id for r in last if where.passes(r)}
            scores = lexical.rank(query, documents)
            expected = {id: score for id, score in scores.items() if id in allowed}
            check_ranking(store.match(Memory, where, query, limit), expected, limit)

    def test_equal_scores_rank_by_id_even_where_they_are_cut(self, store: Tended) -> None:
        with store.transaction("acme"):
            for number in reversed(range(100)):
                store.put(memory(f"{number:03}", "same text"))
        found = store.match(Memory, ACME, parse_query("text"), 3)
        assert ids(found) == ["000", "001", "002"]

    def test_the_statistics_are_those_of_the_organization(self, store: Tended) -> None:
        store.put(memory("a", "bread"))
        store.put(memory("b", "wine"))
        store.put(memory("c", "cheese"))
        before = store.match(Memory, ACME, parse_query("bread"), 9)
        for number in range(9):
            store.put(memory(str(number), "bread bread", organization="zoo"))
        assert store.match(Memory, ACME, parse_query("bread"), 9) == before
        hidden = memory("d", "bread", deleted_at=START)
        store.put(hidden)
        after = store.match(Memory, ACME, parse_query("bread"), 9)
        assert ids(after) == ["a"]
        assert after[0].score < before[0].score

    def test_a_changed_text_is_found_by_its_new_words_only(self, store: Tended) -> None:
        store.put(memory("a", "bread"))
        store.put(memory("a", "wine"))
        assert store.match(Memory, ACME, parse_query("bread"), 9) == []
        assert ids(store.match(Memory, ACME, parse_query("wine"), 9)) == ["a"]

    def test_an_empty_query_matches_nothing(self, store: Tended) -> None:
        store.put(memory("a"))
        assert store.match(Memory, ACME, TextQuery(), 9) == []
        assert store.match(Memory, Filter(organization="none"), parse_query("a"), 9) == []

    @EXAMPLES
    @given(st.lists(drawn.anything, min_size=1, max_size=4))
    def test_every_text_is_found_by_each_of_its_terms(self, contents: list[str]) -> None:
        with self.fresh() as store:
            for number, content in enumerate(contents):
                store.put(memory(str(number), content))
            for number, content in enumerate(contents):
                for term in set(terms(content)):
                    found = store.match(Memory, ACME, TextQuery((term,)), 9)
                    assert str(number) in ids(found), term

    @EXAMPLES
    @given(st.lists(drawn.memories, max_size=6), drawn.memory_filters, drawn.texts)
    def test_a_phrase_matches_whole_words_in_a_row(
        self, several: list[Memory], where: Filter, name: str
    ) -> None:
        with self.fresh() as store:
            for record in several:
                store.put(record)
            last = {(r.organization, r.id): r for r in several}.values()
            run = words(name)
            expected = sorted(
                r.id for r in last if where.passes(r) and in_a_row(words(r.text), run)
            )
            assert store.matches_phrase(Memory, where, run) == expected

    def test_a_phrase_is_words_not_stems(self, store: Tended) -> None:
        store.put(memory("a", "Running shoes"))
        store.put(memory("b", "run shoes"))
        assert store.matches_phrase(Memory, ACME, ["running", "shoes"]) == ["a"]

    # Vectors

    def test_vectors_come_back_as_float16_keeps_them(self, store: Tended) -> None:
        store.put(memory("a"))
        given_rows = np.array([unit(1, 2, 3, 4), unit(4, 3, 2, 1)])
        store.put_vectors(Memory, "acme", "a", SPACE, given_rows)
        kept = store.vectors(Memory, "acme", "a")
        assert kept is not None
        assert kept[0] == SPACE
        np.testing.assert_array_equal(kept[1], given_rows.astype(np.float16))
        assert kept[1].dtype == np.float32

    def test_later_vectors_take_the_place_of_earlier_ones(self, store: Tended) -> None:
        store.put(memory("a"))
        for space, row in ((SPACE, unit(1, 0, 0, 0)), (OTHER_SPACE, unit(0, 1, 0, 0))):
            store.put_vectors(Memory, "acme", "a", space, row[None])
            store.nearest(Memory, ACME, space, row, 9)
        kept = store.vectors(Memory, "acme", "a")
        assert kept is not None
        assert kept[0] == OTHER_SPACE
        assert store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 9) == []

    def test_a_changed_text_loses_its_vectors_and_no_other_change_does(self, store: Tended) -> None:
        store.put(memory("a"))
        store.put_vectors(Memory, "acme", "a", SPACE, unit(1, 0, 0, 0)[None])
        store.put(memory("a", importance=2.0, status=Status.LOCKED))
        assert store.vectors(Memory, "acme", "a") is not None
        assert len(store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 9)) == 1
        store.put(memory("a", "wine"))
        assert store.vectors(Memory, "acme", "a") is None
        assert store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 9) == []

    def test_vectors_need_a_record(self, store: Tended) -> None:
        with pytest.raises(NotFound):
            store.put_vectors(Memory, "acme", "a", SPACE, unit(1, 0, 0, 0)[None])

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            (np.zeros((1, 3), np.float32), r"4.*\(1, 3\)"),
            (np.zeros((0, 4), np.float32), r"\(0, 4\)"),
            (np.ones(4, np.float32), r"\(4,\)"),
            (np.zeros((1, 4), np.float32), "length 1"),
            (np.array([[np.nan, 0, 0, 1]], np.float32), "nan"),
            (np.array([[1, 0, 0, 0], [np.inf, 0, 0, 0]], np.float32), "inf"),
        ],
    )
    def test_what_is_no_vector_is_refused(self, store: Tended, rows: np.ndarray, said: str) -> None:
        store.put(memory("a"))
        with pytest.raises(InvalidInput) as refused:
            store.put_vectors(Memory, "acme", "a", SPACE, rows)
        assert refused.value.argument == "vectors"
        with pytest.raises(InvalidInput):
            store.nearest(Memory, ACME, SPACE, rows, 9)
        assert store.vectors(Memory, "acme", "a") is None

    def test_token_states_come_back_as_they_were_given(self, store: Tended) -> None:
        for id in "ab":
            store.put(memory(id))
            states = b"states of " + id.encode()
            store.put_vectors(Memory, "acme", id, FORMED, ROW, states)
        store.put(memory("c"))
        store.put(memory("a", organization="zoo"))
        found = store.token_states(Memory, "acme", ["b", "c", "none", "a", "b"], FORMED)
        assert found == {"a": b"states of a", "b": b"states of b"}
        assert store.token_states(Memory, "zoo", ["a"], FORMED) == {}
        assert store.token_states(Memory, "acme", [], FORMED) == {}
        assert store.upkeep.states_size(Memory, "acme") == 22
        assert store.upkeep.states_size(Memory, "zoo") == 0
        assert store.upkeep.states_size(Turn, "acme") == 0

    @pytest.mark.parametrize(
        "other", [SPACE, replace(FORMED, states="other"), replace(OTHER_SPACE, states="one")]
    )
    def test_token_states_are_those_of_one_space_and_form(
        self, store: Tended, other: VectorSpace
    ) -> None:
        store.put(memory("a"))
        store.put_vectors(Memory, "acme", "a", FORMED, ROW, b"states")
        assert store.token_states(Memory, "acme", ["a"], other) == {}
        assert store.token_states(Memory, "acme", ["a"], FORMED) == {"a": b"states"}
        store.put_vectors(Memory, "acme", "a", other, ROW)
        assert store.token_states(Memory, "acme", ["a"], FORMED) == {}
        assert store.upkeep.states_size(Memory, "acme") == 0

    def test_token_states_go_with_the_text_and_with_the_record(self, store: Tended) -> None:
        for id in "abc":
            store.put(memory(id))
            store.put_vectors(Memory, "acme", id, FORMED, ROW, b"states")
        store.put(memory("a", importance=2.0))
        store.put(memory("b", "wine"))
        store.delete(Memory, "acme", "c")
        assert set(store.token_states(Memory, "acme", "abc", FORMED)) == {"a"}
        assert store.upkeep.states_size(Memory, "acme") == 6

    def test_token_states_need_a_form(self, store: Tended) -> None:
        store.put(memory("a"))
        with pytest.raises(InvalidInput) as refused:
            store.put_vectors(Memory, "acme", "a", SPACE, ROW, b"states")
        assert refused.value.argument == "states"
        assert store.vectors(Memory, "acme", "a") is None

    def test_records_without_states_of_a_form_lack_something(self, store: Tended) -> None:
        other = replace(FORMED, states="other")
        for id in "edcba":
            store.put(memory(id))
        for id, space, states in (
            ("a", FORMED, b"states"),
            ("b", FORMED, None),
            ("c", SPACE, None),
            ("d", other, b"states"),
        ):
            store.put_vectors(Memory, "acme", id, space, ROW, states)

        def lacking(space: VectorSpace, limit: int = 9) -> str:
            found = store.without_vectors([Memory], space, limit)
            return "".join(sorted(record.id for record in found))

        assert lacking(FORMED) == "bcde"
        assert len(lacking(FORMED, 2)) == 2
        assert set(lacking(FORMED, 2)) <= set("bcde")
        assert lacking(other) == "abce"
        assert lacking(SPACE) == "e"
        counted = [store.count_vectors(Memory, ACME, space) for space in (FORMED, other, SPACE)]
        assert counted == [1, 1, 4]
        assert lacking(replace(OTHER_SPACE, states="one")) == "abcde"

    def test_records_without_vectors_are_given_of_all_organizations_or_of_some(
        self, store: Tended
    ) -> None:
        for id in "dbca":
            store.put(memory(id))
        store.put(memory("z", organization="zoo"))
        store.put(decision("e"))
        store.put_vectors(Memory, "acme", "b", SPACE, unit(1, 0, 0, 0)[None])
        store.put_vectors(Memory, "acme", "c", OTHER_SPACE, unit(1, 0, 0, 0)[None])

        def lacking(
            kinds: Sequence[type[TextRecord]],
            space: VectorSpace,
            limit: int = 9,
            among: Collection[str] | None = None,
        ) -> str:
            found = store.without_vectors(kinds, space, limit, among)
            return "".join(sorted(record.id for record in found))

        assert lacking([Memory], SPACE) == "acdz"
        assert lacking([Memory], OTHER_SPACE) == "abdz"
        assert lacking([Memory, Decision], SPACE, among=["acme"]) == "acde"
        assert lacking([Memory], SPACE, among=["zoo", "nowhere"]) == "z"
        assert lacking([Memory, Decision], SPACE, among=()) == ""
        assert lacking([Decision, Memory], SPACE, 1) == "e"
        assert len(lacking([Memory, Decision], SPACE, 3)) == 3
        assert lacking([Memory, Decision], SPACE, 4) == "adez"

    @EXAMPLES
    @given(
        st.lists(st.tuples(drawn.memories, st.none() | drawn.vectors), max_size=8),
        drawn.memory_filters,
        drawn.directions,
        st.integers(0, 4),
        st.sets(drawn.ids),
    )
    def test_nearest_ranks_by_the_best_part(
        self,
        several: list[tuple[Memory, np.ndarray | None]],
        where: Filter,
        asked: np.ndarray,
        limit: int,
        also: set[str],
    ) -> None:
        with self.fresh() as store:
            expected: dict[str, float] = {}
            for record, rows in several:
                store.delete(Memory, record.organization, record.id)
                store.put(record)
                if rows is not None:
                    store.put_vectors(Memory, record.organization, record.id, SPACE, rows)
                if record.organization == where.organization:
                    expected.pop(record.id, None)
                    if rows is not None and where.passes(record):
                        kept = rows.astype(np.float16).astype(np.float64)
                        lengths = np.linalg.norm(kept, axis=1)
                        expected[record.id] = float((kept @ asked / lengths).max())
            found = store.nearest(Memory, where, SPACE, asked, limit)
            check_ranking(found, expected, limit)
            wider = store.nearest(Memory, where, SPACE, asked, limit, also)
            assert {each.id for each in wider} == set(ids(found)) | (also & expected.keys())
            check_ranking(wider, {each.id: expected[each.id] for each in wider}, len(wider))

    def test_equal_cosines_rank_by_id(self, store: Tended) -> None:
        for id in "cab":
            store.put(memory(id))
            store.put_vectors(Memory, "acme", id, SPACE, unit(1, 2, 3, 4)[None])
        found = store.nearest(Memory, ACME, SPACE, unit(1, 1, 1, 1), 2)
        assert ids(found) == ["a", "b"]
        assert found[0].score == found[1].score

    # Conditions

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            (Filter(organization="acme"), "abcdef"),
            (Filter(organization="acme", with_deleted=True), "abcdefg"),
            (Filter(organization="acme", valid_at=INSTANTS[0]), "aef"),
            (Filter(organization="acme", valid_at=INSTANTS[1]), "abef"),
            (Filter(organization="acme", valid_at=INSTANTS[2]), "bcef"),
            (Filter(organization="acme", valid_at=INSTANTS[3]), "bdef"),
            (Filter(organization="acme", differs_between=(INSTANTS[0], INSTANTS[1])), "b"),
            (Filter(organization="acme", differs_between=(INSTANTS[3], INSTANTS[1])), "ad"),
            (Filter(organization="acme", differs_between=(INSTANTS[1], INSTANTS[1])), ""),
            (Filter(organization="acme", since=START), "abcdef"),
            (Filter(organization="acme", until=START), ""),
            (Filter(organization="acme", users=frozenset()), "abcdf"),
            (Filter(organization="acme", users=frozenset({"u1", "u2"})), "abcdef"),
            (Filter(organization="acme", users=frozenset({"u2"})), "abcdf"),
            (Filter(organization="acme", repositories=frozenset({"r2"})), "abcde"),
            (Filter(organization="acme", repositories=frozenset({"r1"})), "abcdef"),
            (Filter(organization="acme", equal={"user": "u1"}), "e"),
            (Filter(organization="acme", equal={"user": None, "type": "fact"}), "abcd"),
            (Filter(organization="acme", equal={"type": MemoryType.RISK}), "f"),
            (Filter(organization="acme", equal={"author": "nobody"}), ""),
            (Filter(organization="acme", equal={"importance": 2.0}), "b"),
            (Filter(organization="acme", equal={"metadata": {"l": 2, "k": [1]}}), "c"),
            (Filter(organization="acme", equal={"organization": "acme", "id": "d"}), "d"),
            (Filter(organization="acme", equal={"organization": "zoo"}), ""),
            (Filter(organization="zoo"), ""),
        ],
    )
    def test_every_way_to_ask_meets_the_same_conditions(
        self, store: Tended, where: Filter, expected: str
    ) -> None:
        zero, one, two, three = INSTANTS
        for record in (
            memory("a", valid_from=zero, valid_until=two),
            memory("b", valid_from=one, importance=2.0),
            memory("c", valid_from=two, valid_until=three, metadata={"k": [1], "l": 2}),
            memory("d", valid_from=three),
            memory("e", user="u1"),
            memory("f", repository="r1", type=MemoryType.RISK),
            memory("g", valid_from=three, deleted_at=zero),
        ):
            store.put(record)
            store.put_vectors(Memory, "acme", record.id, SPACE, unit(1, 2, 3, 4)[None])
        ids_of = list(expected)
        assert [r.id for r in store.find(Memory, where)] == ids_of
        assert store.count(Memory, where) == len(ids_of)
        assert ids(store.match(Memory, where, parse_query("bread"), 9)) == ids_of
        assert store.matches_phrase(Memory, where, ["bread"]) == ids_of
        assert ids(store.nearest(Memory, where, SPACE, unit(1, 1, 1, 1), 9)) == ids_of

    @pytest.mark.parametrize(
        ("since", "until", "expected"),
        [(1, None, ["b", "c"]), (None, 1, ["a"]), (1, 2, ["b"]), (3, None, [])],
    )
    def test_turns_and_decisions_are_chosen_by_when_they_were_kept(
        self, store: Tended, since: int | None, until: int | None, expected: list[str]
    ) -> None:
        for id, at in zip("abc", INSTANTS, strict=False):
            store.put(turn(id, at=at))
            store.put(decision(id, created_at=at))
            store.put_vectors(Turn, "acme", id, SPACE, unit(1, 2, 3, 4)[None])
        first, end = (None if each is None else INSTANTS[each] for each in (since, until))
        where = Filter(organization="acme", since=first, until=end)
        for of in (Turn, Decision):
            assert [each.id for each in store.find(of, where)] == expected
        assert ids(store.match(Turn, where, parse_query("bread"), 9)) == expected
        assert ids(store.nearest(Turn, where, SPACE, unit(1, 1, 1, 1), 9)) == expected

    @EXAMPLES
    @given(
        st.lists(drawn.memories, min_size=3, max_size=9),
        drawn.memory_filters,
        st.none() | st.integers(0, 4),
    )
    def test_counts_and_ids_stay_the_same_once_words_were_sought(
        self, several: list[Memory], where: Filter, limit: int | None
    ) -> None:
        where = replace(where, organization="acme", ids=None, starts={})
        several = [replace(each, organization="acme") for each in several]
        with self.fresh() as store:
            for number, record in enumerate(several):
                store.put(record)
                if number == 1:
                    # From now on an index knows of the records, and later ones are changes to it.
                    store.match(Memory, where, parse_query("bread"), 9)
            last = {(r.organization, r.id): r for r in several}.values()
            expected = sorted(r.id for r in last if where.passes(r))
            assert store.count(Memory, where) == len(expected)
            assert store.ids(Memory, where, (), limit) == expected[:limit]
            assert store.ids(Memory, where, ("-id",), limit) == expected[::-1][:limit]
            for order in (("-ingestion_time",), ("ingestion_time",), ("-importance",)):
                ordered = store.find(Memory, where, order=order)
                assert store.find(Memory, where, order=order, limit=2, offset=1) == ordered[1:3]
                assert store.page(Memory, [where], order=order, limit=2) == ordered[:2]

    # Neighbours

    @pytest.mark.parametrize("of", [Memory, Turn])
    def test_what_stands_beside_is_told_by_id_nearest_first(
        self, store: Tended, of: type[TextRecord]
    ) -> None:
        make = turn if of is Turn else memory
        with store.transaction("acme"):
            for id in "abcdf":
                store.put(make(id))
        store.put(make("e", organization="zoo"))
        assert store.neighbours(of, "acme", ["c", "a", "f"], 2) == {
            "c": ["b", "d", "a", "f"],
            "a": ["b", "c"],
            "f": ["d", "c"],
        }
        assert store.neighbours(of, "acme", ["e"], 1) == {"e": ["d", "f"]}
        assert store.neighbours(of, "acme", [], 1) == {}
        assert not any(store.neighbours(of, "none", ["a"], 1).values())

    # Edges and names

    def test_edges_touch_a_node_at_either_end(self, store: Tended) -> None:
        store.put(edge(Relation, "a", "b"))
        store.put(edge(Link, "c", "a"))
        store.put(edge(Mention, "c", "d"))
        store.put(edge(Relation, "a", "b", organization="zoo"))
        assert [e.id for e in store.edges("acme", ["a"])] == ["a.b", "c.a"]
        assert [e.id for e in store.edges("acme", ["b", "c", "a"])] == ["a.b", "c.a", "c.d"]
        assert store.edges("acme", []) == []
        assert store.edges("none", ["a"]) == []

    def test_edges_touch_a_node_whose_id_is_no_unicode(self, store: Tended) -> None:
        store.put(edge(Link, "a\ud800", "ü"))
        store.put(edge(Link, "b", "a\ud800"))
        for nodes, found in ((["a\ud800"], 2), (["ü", "none"], 1), (["a", "\ud800"], 0)):
            assert len(store.edges("acme", nodes)) == found
            assert len(store.ties("acme", nodes, 9)) == found

    def test_an_edge_between_two_nodes_is_found_once(self, store: Tended) -> None:
        store.put(edge(Link, "a", "a"))
        store.put(edge(Link, "a", "b"))
        assert [e.id for e in store.edges("acme", ["b", "a", "b"])] == ["a.a", "a.b"]
        assert [e.id for e in store.ties("acme", ["b", "a", "b"], 2)] == ["a.a", "a.b"]

    def test_with_a_limit_the_heaviest_edges_come_first(self, store: Tended) -> None:
        with store.transaction("acme"):
            for number in range(1200):
                store.put(edge(Link, f"n{number:04}", "hub", weight=float(number % 7)))
        nodes = ["hub", *(f"n{number:04}" for number in range(1200))]
        heaviest = store.edges("acme", nodes, 3)
        assert [e.id for e in heaviest] == ["n0006.hub", "n0013.hub", "n0020.hub"]
        ties = store.ties("acme", nodes, 3)
        assert ties == [
            Tie(Link, each.id, each.source, each.target, each.type, each.weight)
            for each in heaviest
        ]
        assert store.ties("none", nodes, 3) == []
        everything = store.edges("acme", nodes)
        assert [e.id for e in everything] == [f"n{n:04}.hub" for n in range(1200)]

    def test_an_entity_is_named_by_its_whole_name_or_alias(self, store: Tended) -> None:
        store.put(entity("a", "Ana Maria", aliases=("The Boss",)))
        store.put(entity("b", "Banana"))
        store.put(entity("c", "C++"))
        store.put(entity("d", "!!"))
        store.put(entity("e", "Ana", user="u1"))
        named = lambda text, where=ACME: store.entities_named(where, words(text))  # noqa: E731
        assert named("with Ana María, who writes C++") == ["a", "c", "e"]
        assert named("with ANA only") == ["e"]
        assert named("ask the boss!") == ["a"]
        assert named("bananas !!") == []
        assert named("ana", Filter(organization="acme", users=frozenset())) == []
        assert named("ana", Filter(organization="zoo")) == []

    def test_a_renamed_or_deleted_entity_is_not_found_by_its_old_name(self, store: Tended) -> None:
        store.put(entity("a", "Ana", aliases=("Annie",)))
        store.put(entity("a", "Bo"))
        assert store.entities_named(ACME, ["ana", "annie"]) == []
        assert store.entities_named(ACME, ["bo"]) == ["a"]
        store.delete(Entity, "acme", "a")
        assert store.entities_named(ACME, ["bo"]) == []

    # Changes

    def test_each_record_stands_once_among_the_changes_at_its_latest(self, store: Tended) -> None:
        store.put(memory("a"))
        store.put(entity("e"))
        store.put(memory("b"))
        store.put(memory("a", importance=2.0))
        store.put(memory("x", organization="zoo"))
        changes = store.changes("acme", 0)
        assert [(CLASSES[c.kind], c.id, c.deleted) for c in changes] == [
            (Entity, "e", False),
            (Memory, "b", False),
            (Memory, "a", False),
        ]
        assert store.sequence("acme") == changes[-1].sequence
        assert store.changes("acme", changes[0].sequence) == changes[1:]
        assert store.changes("acme", 0, 2) == changes[:2]
        assert store.sequence("nowhere") == 0

    def test_vectors_and_deletions_are_changes_too(self, store: Tended) -> None:
        store.put(memory("a"))
        store.put(version("a"))
        store.put(edge(Link, "a", "b"))
        since = store.sequence("acme")
        store.put_vectors(Memory, "acme", "a", SPACE, unit(1, 0, 0, 0)[None])
        (change,) = store.changes("acme", since)
        assert (CLASSES[change.kind], change.id, change.deleted) == (Memory, "a", False)
        since = store.sequence("acme")
        store.delete(Memory, "acme", "a")
        gone = {(CLASSES[c.kind], c.id, c.deleted) for c in store.changes("acme", since)}
        assert gone == {
            (Memory, "a", True),
            (Version, "a.1", True),
            (Link, "a.b", True),
        }

    def test_who_follows_the_changes_misses_none_of_four_writers(self, store: Tended) -> None:
        written = {f"{name}{number:02}" for name in "abcd" for number in range(15)}
        seen: list[str] = []
        is_over = threading.Event()

        def write(name: str) -> None:
            for id in sorted(id for id in written if id[0] == name):
                with store.transaction("acme", "zoo"):
                    store.put(memory(id))
                    store.put(memory(id, organization="zoo"))

        def follow() -> None:
            since, was_over = 0, False
            while not was_over:
                was_over = is_over.is_set()
                for change in store.changes("acme", since):
                    seen.append(change.id)
                    since = change.sequence

        following = threading.Thread(target=follow)
        following.start()
        try:
            in_threads([partial(write, name) for name in "abcd"])
        finally:
            is_over.set()
            following.join()
        assert sorted(seen) == sorted(written)

    def test_two_who_read_judge_and_write_do_not_lose_what_the_other_wrote(
        self, store: Tended
    ) -> None:
        # Each takes the next number that neither has, in both organizations, named in either order.
        def take(*named: str) -> None:
            for _ in range(10):
                with store.transaction(*named):
                    next_number = store.count(Memory, ACME)
                    for organization in named:
                        id = f"{next_number:03}"
                        assert store.get(Memory, organization, id) is None
                        store.put(memory(id, organization=organization))

        in_threads([partial(take, "acme", "zoo"), partial(take, "zoo", "acme")])
        for organization in ("acme", "zoo"):
            found = store.ids(Memory, Filter(organization=organization), ())
            assert found == [f"{number:03}" for number in range(20)]
