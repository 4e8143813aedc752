"""What the protocol promises of transactions and records."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.record.errors import InvalidInput, StoreClosed, StoreError
from minutebook.record.filters import Filter
from minutebook.record.records import (
    Decision,
    Entity,
    Entry,
    Link,
    Memory,
    Mention,
    Record,
    Relation,
    Version,
)
from minutebook.store.protocol import Tended
from minutebook.text.words import parse_query
from tests.store import given as drawn
from tests.store.promises import (
    ACME,
    EXAMPLES,
    SPACE,
    Promises,
    ids,
    in_threads,
    last_text_field,
)
from tests.store.samples import (
    START,
    decision,
    edge,
    entity,
    entry,
    memory,
    unit,
    version,
)


class RecordPromises(Promises):
    # Transactions

    def test_what_is_put_is_there_at_once(self, store: Tended) -> None:
        store.put(memory("a"))
        assert store.get(Memory, "acme", "a") == memory("a")

    def test_an_exception_undoes_all_of_a_transaction(self, store: Tended) -> None:
        store.put(memory("kept"))
        before = store.sequence("acme")
        with pytest.raises(ZeroDivisionError), store.transaction("acme"):  # noqa: PT012
            store.put(memory("a", "bread and butter"))
            store.put_vectors(Memory, "acme", "a", SPACE, unit(1, 0, 0, 0)[None])
            store.put(entity("e", "butter"))
            store.put(edge(Mention, "a", "e"))
            store.delete(Memory, "acme", "kept")
            _ = 1 / 0
        assert [r.id for r in store.find(Memory, ACME)] == ["kept"]
        assert store.match(Memory, ACME, parse_query("butter"), 9) == []
        assert store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 9) == []
        assert store.edges("acme", ["a"]) == []
        assert store.entities_named(ACME, ["butter"]) == []
        assert store.sequence("acme") == before
        assert store.changes("acme", before) == []

    def test_a_failed_inner_transaction_leaves_the_outer_one_whole(self, store: Tended) -> None:
        with store.transaction("acme"):
            store.put(memory("outer"))
            with pytest.raises(ZeroDivisionError), store.transaction("acme"):  # noqa: PT012
                store.put(memory("inner"))
                _ = 1 / 0
            store.put(memory("later"))
        assert [r.id for r in store.find(Memory, ACME)] == ["later", "outer"]

    def test_the_first_text_of_an_organization_can_be_undone_by_itself(self, store: Tended) -> None:
        with store.transaction("acme", "zoo"):
            store.put(entity("outer"))
            with pytest.raises(ZeroDivisionError), store.transaction("zoo"):  # noqa: PT012
                store.put(memory("inner", organization="zoo"))
                _ = 1 / 0
        assert store.organizations() == ["acme"]
        store.put(memory("inner", organization="zoo"))
        zoo = Filter(organization="zoo")
        assert [c.id for c in store.match(Memory, zoo, parse_query("bread"), 9)] == ["inner"]

    def test_a_write_to_an_organization_that_is_not_named_is_refused(self, store: Tended) -> None:
        other = memory("other", organization="zoo")
        store.put(other)
        writes: list[Callable[[], object]] = [
            lambda: store.put(memory("new", organization="zoo")),
            lambda: store.delete(Memory, "zoo", "other"),
            lambda: store.put_vectors(Memory, "zoo", "other", SPACE, unit(1, 0, 0, 0)[None]),
        ]
        for write in writes:
            for named in ((), ("acme",)):
                expected = "'acme' cannot write to 'zoo'" if named else "no organization"
                with pytest.raises(StoreError, match=expected), store.transaction(*named):
                    write()
        assert store.find(Memory, replace(ACME, organization="zoo")) == [other]
        assert store.vectors(Memory, "zoo", "other") is None
        with store.transaction("acme", "zoo"):
            store.put(memory("a"))
            store.delete(Memory, "zoo", "other")
        assert store.count(Memory, ACME) == 1
        assert store.get(Memory, "zoo", "other") is None

    def test_a_transaction_inside_another_names_some_of_its_organizations(
        self, store: Tended
    ) -> None:
        refused = pytest.raises(StoreError, match="'acme' cannot hold one that names 'zoo' too")
        with refused, store.transaction("acme"):
            store.put(memory("a"))
            with store.transaction("acme", "zoo"):
                pass
        refused = pytest.raises(StoreError, match="'acme' cannot write to 'zoo'")
        with refused, store.transaction("acme", "zoo"), store.transaction("acme"):
            store.put(memory("a", organization="zoo"))
        assert store.organizations() == []
        with store.transaction("acme", "zoo"):
            with store.transaction("acme"):
                store.put(memory("a"))
            store.put(memory("a", organization="zoo"))
        assert store.organizations() == ["acme", "zoo"]

    def test_an_inner_transaction_is_undone_with_the_outer_one(self, store: Tended) -> None:
        with pytest.raises(ZeroDivisionError), store.transaction("acme"):  # noqa: PT012
            with store.transaction("acme"):
                store.put(memory("inner"))
            _ = 1 / 0
        assert store.find(Memory, ACME) == []

    def test_a_refused_put_inside_a_transaction_leaves_nothing_behind(self, store: Tended) -> None:
        with store.transaction("acme"):
            store.put(memory("a"))
            with pytest.raises(InvalidInput):
                store.put_vectors(Memory, "acme", "a", SPACE, unit(1, 0, 0)[None])
        assert store.vectors(Memory, "acme", "a") is None
        assert store.get(Memory, "acme", "a") is not None

    def test_inside_a_transaction_the_thread_reads_what_it_wrote(self, store: Tended) -> None:
        store.put(memory("old", "bread"))
        store.put_vectors(Memory, "acme", "old", SPACE, unit(1, 0, 0, 0)[None])
        assert len(store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 9)) == 1
        with store.transaction("acme"):
            store.put(memory("a", "fresh bread"))
            store.put_vectors(Memory, "acme", "a", SPACE, unit(0, 1, 0, 0)[None])
            store.put(entity("e", "bread"))
            store.put(edge(Mention, "a", "e"))
            assert store.count(Memory, ACME) == 2
            assert ids(store.match(Memory, ACME, parse_query("fresh"), 9)) == ["a"]
            near = store.nearest(Memory, ACME, SPACE, unit(0, 1, 0, 0), 9)
            assert ids(near) == ["a", "old"]
            assert store.matches_phrase(Memory, ACME, ["bread"]) == ["a", "old"]
            assert store.entities_named(ACME, ["bread"]) == ["e"]
            assert [e.id for e in store.edges("acme", ["e"])] == ["a.e"]
            assert store.changes("acme", 0)[-1].id == "a.e"
            store.delete(Memory, "acme", "old")
            near = store.nearest(Memory, ACME, SPACE, unit(0, 1, 0, 0), 9)
            assert ids(near) == ["a"]

    def test_others_see_all_of_a_transaction_or_nothing(self, store: Tended) -> None:
        seen: list[tuple[int, int, int, int]] = []

        def look() -> None:
            found = store.match(Memory, ACME, parse_query("bread"), 9)
            near = store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 9)
            seen.append((store.count(Memory, ACME), len(found), len(near), store.sequence("acme")))

        with store.transaction("acme"):
            for id in "ab":
                store.put(memory(id))
                store.put_vectors(Memory, "acme", id, SPACE, unit(1, 0, 0, 0)[None])
                store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 9)
                in_threads([look])
        in_threads([look])
        assert seen == [(0, 0, 0, 0), (0, 0, 0, 0), (2, 2, 2, store.sequence("acme"))]

    def test_what_is_given_one_by_one_is_of_one_moment(self, store: Tended) -> None:
        for id in "abcd":
            store.put(memory(id))
        given = store.each(Memory, ACME, ["-ingestion_time"])
        assert next(given).id == "d"
        store.delete(Memory, "acme", "b")
        store.put(memory("e"))
        assert store.get(Memory, "acme", "b") is None
        assert [record.id for record in given] == ["c", "b", "a"]
        assert store.ids(Memory, ACME, ["-ingestion_time"]) == ["e", "d", "c", "a"]
        with store.transaction("acme"):
            store.put(memory("f"))
            assert "f" in store.ids(Memory, ACME, [])
            assert "f" not in {record.id for record in store.each(Memory, ACME, [])}

    def test_a_snapshot_reads_one_moment_of_everything(self, store: Tended) -> None:
        store.put(memory("b"))
        store.put(memory("a", organization="zoo"))
        with store.snapshot("acme", "zoo") as moment:
            store.put(memory("a"))
            store.put(entity("e"))
            store.delete(Memory, "zoo", "a")
            assert [moment.count(each, ACME) for each in (Memory, Entity)] == [1, 0]
            assert [each.id for each in moment.each(Memory, ACME)] == ["b"]
            assert moment.count(Memory, replace(ACME, organization="zoo")) == 1
        with store.transaction("acme"):
            store.put(memory("c"))
            with store.snapshot("acme") as moment:
                assert [each.id for each in moment.each(Memory, ACME)] == ["a", "b"]

    def test_a_snapshot_reads_the_organizations_alone_that_it_names(self, store: Tended) -> None:
        zoo = Filter(organization="zoo")
        store.put(memory("a"))
        store.put(memory("a", organization="zoo"))
        with store.snapshot("acme") as moment:
            assert moment.count(Memory, ACME) == 1
            with pytest.raises(StoreError, match="names 'acme' cannot read 'zoo'"):
                moment.count(Memory, zoo)
            with pytest.raises(StoreError, match="names 'acme' cannot read 'zoo'"):
                list(moment.each(Memory, zoo))
        with store.snapshot("nowhere") as moment:
            assert list(moment.each(Memory, Filter(organization="nowhere"))) == []

    def test_writers_wait_for_one_another(self, store: Tended) -> None:
        store.put(memory("counter", "0"))

        def count() -> None:
            for _ in range(5):
                with store.transaction("acme"):
                    counter = store.get(Memory, "acme", "counter")
                    assert isinstance(counter, Memory)
                    store.put(replace(counter, content=str(int(counter.content) + 1)))

        in_threads([count] * 4)
        counter = store.get(Memory, "acme", "counter")
        assert isinstance(counter, Memory)
        assert counter.content == "20"

    # Records

    @EXAMPLES
    @given(drawn.records)
    def test_a_record_comes_back_as_it_was(self, record: Record) -> None:
        with self.fresh() as store:
            store.put(record)
            kept = store.get(type(record), record.organization, record.id)
            assert kept == record
            assert type(kept) is type(record)
            everything = Filter(organization=record.organization, with_deleted=True)
            assert store.find(type(record), everything) == [record]

    def test_the_keys_of_an_object_keep_their_order(self, store: Tended) -> None:
        given: dict[str, object] = {"z": 1, "a": {"y": [1], "b": None}, "\ud800": "half", "m": True}
        store.put(memory("a", metadata=given))
        kept = store.get(Memory, "acme", "a")
        assert isinstance(kept, Memory)
        assert json.dumps(kept.metadata) == json.dumps(given)
        turned = dict(reversed(given.items()))
        store.put(memory("a", metadata=turned))
        (found,) = store.find(Memory, Filter(organization="acme", equal={"metadata": given}))
        assert json.dumps(found.metadata) == json.dumps(turned)
        others: list[dict[str, object]] = [{}, {"z": 1}, given | {"m": False}, given | {"a": {}}]
        for other in others:
            where = Filter(organization="acme", equal={"metadata": other})
            assert store.find(Memory, where) == []

    def test_an_instant_comes_back_whatever_its_zone(self, store: Tended) -> None:
        there = datetime(2026, 3, 1, 2, 3, 4, 567_891, timezone(timedelta(hours=7)))
        ages_ago = datetime(1, 1, 1, tzinfo=UTC)
        far_off = datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)
        record = memory("a", valid_from=ages_ago, valid_until=far_off, event_time=there)
        store.put(record)
        assert store.get(Memory, "acme", "a") == record

    def test_organization_kind_and_id_together_name_a_record(self, store: Tended) -> None:
        several: list[Record] = [
            memory("a"),
            memory("a", organization="zoo"),
            entity("a"),
            *(edge(of, "x", "y", id="a") for of in (Relation, Link, Mention)),
        ]
        for record in several:
            store.put(record)
        assert [store.get(type(r), r.organization, r.id) for r in several] == several

    def test_putting_again_replaces(self, store: Tended) -> None:
        for record in (memory("a"), entity("a"), version("a"), edge(Link, "a", "b"), entry(1)):
            store.put(record)
            later = replace(record, **{last_text_field(record): "later"})  # type: ignore[arg-type]
            store.put(later)
            assert store.find(type(record), ACME) == [later]

    def test_what_is_not_there_is_none(self, store: Tended) -> None:
        store.put(memory("a"))
        assert store.get(Memory, "zoo", "a") is None
        assert store.get(Memory, "acme", "b") is None
        assert store.get(Entity, "acme", "a") is None

    # Find and count

    @EXAMPLES
    @given(
        st.lists(drawn.memories, max_size=8),
        drawn.memory_filters,
        st.lists(
            st.sampled_from(
                ["ingestion_time", "-ingestion_time", "valid_until", "-valid_until", "-importance"]
            ),
            max_size=2,
        ),
        st.none() | st.integers(0, 4),
        st.integers(0, 3),
    )
    def test_find_selects_orders_and_cuts(
        self,
        several: list[Memory],
        where: Filter,
        order: list[str],
        limit: int | None,
        offset: int,
    ) -> None:
        with self.fresh() as store:
            for record in several:
                store.put(record)
            last = {(r.organization, r.id): r for r in several}.values()
            expected = [r for r in last if where.passes(r)]
            expected.sort(key=lambda r: r.id, reverse=bool(order) and order[0][0] == "-")
            for name in reversed(order):
                field = name.removeprefix("-")
                expected.sort(
                    key=lambda r: (getattr(r, field) is not None, getattr(r, field) or START),
                    reverse=name.startswith("-"),
                )
            assert store.count(Memory, where) == len(expected)
            end = None if limit is None else offset + limit
            found = store.find(Memory, where, order=order, limit=limit, offset=offset)
            assert found == expected[offset:end]
            fields = ("id", "title", "origin", "valid_until", "metadata")
            values = {each[0]: each for each in store.values(Memory, where, fields)}
            assert values == {r.id: tuple(getattr(r, f) for f in fields) for r in expected}

    @EXAMPLES
    @given(
        st.lists(drawn.memories, max_size=8),
        drawn.memory_filters,
        st.sampled_from(["ingestion_time", "-ingestion_time", "valid_until", "-title", "-id"]),
        st.integers(0, 4),
        st.integers(0, 3),
    )
    def test_a_page_is_cut_from_all_organizations_together(
        self, several: list[Memory], where: Filter, order: str, limit: int, offset: int
    ) -> None:
        wheres = [replace(where, organization=name) for name in ("acme", "zoo", "nobody")]
        with self.fresh() as store:
            for record in several:
                store.put(record)
            last = {(r.organization, r.id): r for r in several}.values()
            expected = [r for where in wheres for r in last if where.passes(r)]
            is_descending, field = order[0] == "-", order.removeprefix("-")
            expected.sort(key=lambda r: r.id, reverse=is_descending)
            values = attrgetter(field)
            expected.sort(
                key=lambda r: (values(r) is not None, *filter(None, [values(r)])),
                reverse=is_descending,
            )
            page = store.page(Memory, wheres, order=[order], limit=limit, offset=offset)
            assert page == expected[offset : offset + limit]

    def test_a_page_is_cut_from_very_many_organizations(self, store: Tended) -> None:
        several = [replace(entity(f"{n:03}"), organization=f"of {n % 211}") for n in range(422)]
        with store.transaction(*{record.organization for record in several}):
            for record in several:
                store.put(record)
        wheres = [Filter(organization=name) for name in store.organizations()]
        page = store.page(Entity, wheres, order=["-id"], limit=5, offset=200)
        assert [each.id for each in page] == ["221", "220", "219", "218", "217"]

    def test_counts_follow_every_change(self, store: Tended) -> None:
        store.put(memory("a"))
        assert store.count(Memory, ACME) == 1
        store.put(memory("b"))
        assert store.count(Memory, ACME) == 2
        with pytest.raises(KeyError), store.transaction("acme"):  # noqa: PT012
            store.put(memory("c"))
            assert store.count(Memory, ACME) == 3
            raise KeyError
        assert store.count(Memory, ACME) == 2
        store.put(memory("a", deleted_at=START))
        assert store.count(Memory, ACME) == 1
        store.delete(Memory, "acme", "b")
        assert store.count(Memory, ACME) == 0

    @EXAMPLES
    @given(st.lists(drawn.entities | drawn.edges | drawn.entries, max_size=8), drawn.filters)
    def test_conditions_on_fields_that_a_kind_lacks_are_met(
        self, several: list[Record], where: Filter
    ) -> None:
        with self.fresh() as store:
            for record in several:
                store.put(record)
            last = {(r.organization, r.kind, r.id): r for r in several}.values()
            for of in (Entity, Relation, Link, Mention, Entry):
                expected = [r for r in last if isinstance(r, of) and where.passes(r)]
                found = store.find(of, where)
                assert found == sorted(expected, key=lambda r: r.id)
                assert store.count(of, where) == len(expected)

    def test_with_the_first_field_descending_ids_descend_too(self, store: Tended) -> None:
        for id in "bca":
            store.put(memory(id))
        descending = store.find(Memory, ACME, order=["-ingestion_time"])
        assert [r.id for r in descending] == ["c", "b", "a"]
        ascending = store.find(Memory, ACME, order=["ingestion_time", "-importance"])
        assert [r.id for r in ascending] == ["a", "b", "c"]

    def test_decisions_are_found_by_what_all_spellings_of_their_target_share(
        self, store: Tended
    ) -> None:
        for id, target in (("a", "API Auth"), ("b", "api-auth"), ("c", "api"), ("d", "\ud800")):
            store.put(decision(id, target=target))
        same = Filter(organization="acme", equal={"target_key": "api-auth"})
        assert [r.id for r in store.find(Decision, same)] == ["a", "b"]
        store.put(decision("b", target="other"))
        assert [r.id for r in store.find(Decision, same)] == ["a"]
        half = Filter(organization="acme", equal={"target_key": "\ud800"})
        assert [r.id for r in store.find(Decision, half)] == ["d"]

    def test_a_field_that_no_record_of_the_kind_has_is_a_mistake(self, store: Tended) -> None:
        store.put(entity("a"))
        with pytest.raises(AttributeError, match="content"):
            store.find(Entity, Filter(organization="acme", equal={"content": "x"}))
        with pytest.raises(AttributeError, match="content"):
            store.find(Entity, ACME, order=["content"])
        with pytest.raises(AttributeError, match="content"):
            store.values(Entity, ACME, ["content"])

    # Delete

    def test_delete_tells_whether_the_record_was_there(self, store: Tended) -> None:
        store.put(memory("a"))
        assert store.delete(Memory, "acme", "a")
        assert not store.delete(Memory, "acme", "a")
        assert not store.delete(Memory, "nowhere", "a")

    def test_a_deleted_memory_leaves_neither_text_nor_vectors_nor_versions(
        self, store: Tended
    ) -> None:
        for id in "ab":
            store.put(memory(id))
            store.put(version(id))
            store.put_vectors(Memory, "acme", id, SPACE, unit(1, 0, 0, 0)[None])
        store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 9)
        store.delete(Memory, "acme", "a")
        assert ids(store.match(Memory, ACME, parse_query("bread"), 9)) == ["b"]
        assert ids(store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 9)) == ["b"]
        assert store.vectors(Memory, "acme", "a") is None
        assert [r.id for r in store.find(Version, ACME)] == ["b.1"]
        store.put(memory("a"))
        assert store.vectors(Memory, "acme", "a") is None

    def test_the_edges_that_touch_a_deleted_node_go_with_it(self, store: Tended) -> None:
        # A memory and an entity may share an id; the kind of edge tells whose end it is.
        def fill() -> None:
            store.put(memory("x"))
            store.put(entity("x"))
            for of, source, target in (
                (Relation, "x", "y"),
                (Relation, "y", "x"),
                (Link, "x", "y"),
                (Link, "y", "x"),
                (Mention, "x", "y"),
                (Mention, "y", "x"),
                (Link, "y", "z"),
            ):
                store.put(edge(of, source, target))

        fill()
        store.delete(Memory, "acme", "x")
        left = {(type(e), e.id) for e in store.edges("acme", ["x", "y"])}
        assert left == {
            (Relation, "x.y"),
            (Relation, "y.x"),
            (Mention, "y.x"),
            (Link, "y.z"),
        }
        fill()
        store.delete(Entity, "acme", "x")
        left = {(type(e), e.id) for e in store.edges("acme", ["x", "y"])}
        assert left == {
            (Link, "x.y"),
            (Link, "y.x"),
            (Mention, "x.y"),
            (Link, "y.z"),
        }

    def test_organizations_are_those_that_hold_or_held_a_record(self, store: Tended) -> None:
        assert store.organizations() == []
        store.put(memory("a", organization="zoo"))
        store.put(entry(1, organization="acme"))
        store.delete(Memory, "zoo", "a")
        with pytest.raises(ZeroDivisionError), store.transaction("undone"):  # noqa: PT012
            store.put(memory("a", organization="undone"))
            _ = 1 / 0
        assert store.organizations() == ["acme", "zoo"]
        assert store.organizations({"zoo", "nowhere", "acme"}) == ["acme", "zoo"]
        assert store.organizations(["zoo", "zoo"]) == ["zoo"]
        assert store.organizations(()) == []

    # The end

    def test_after_close_every_call_says_so_until_it_is_opened_again(self, store: Tended) -> None:
        for id in ("a", "b"):
            store.put(memory(id))
            store.put_vectors(Memory, "acme", id, SPACE, unit(1, 0, 0, 0)[None])
            assert store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 5)
            assert [store.upkeep.is_open] == [True]
            store.upkeep.open()
            store.close()
            store.close()
            assert [store.upkeep.is_open] == [False]
            with pytest.raises(StoreClosed):
                store.get(Memory, "acme", id)
            with pytest.raises(StoreClosed):
                store.count(Memory, ACME)
            with pytest.raises(StoreClosed):
                store.put(memory("c"))
            with pytest.raises(StoreClosed), store.transaction("acme"):
                pass
            with pytest.raises(StoreClosed), store.snapshot("acme"):
                pass
            store.upkeep.open()
        assert store.count(Memory, ACME) == 2
        assert ids(store.nearest(Memory, ACME, SPACE, unit(1, 0, 0, 0), 5)) == ["a", "b"]
        assert self.engine.faults(store) == []
