"""The store of LangGraph, held to what LangGraph's own store in memory does."""

import asyncio
from typing import Any

import pytest

from minutebook.ask import Minutebook
from tests.adapters.conftest import library

library("langgraph")

from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from minutebook.adapters.langgraph import MinutebookStore

ITEMS: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {
    (("users", "ana"), "food"): {"text": "likes green tea", "score": 5, "tags": ["a", "b"]},
    (("users", "ana"), "work"): {"text": "writes parsers", "score": 3, "at": {"city": "Rome"}},
    (("users", "ben"), "food"): {"text": "likes coffee", "score": 1, "none": None},
    (("docs",), "food"): {"text": "tea is a drink", "score": 2.5},
    (("docs", "v1", "draft"), "Ünïcode/key"): {"text": "…", "score": 0},
}


@pytest.fixture
def store(memory: Minutebook) -> BaseStore:
    return MinutebookStore(memory)


@pytest.fixture
def reference() -> BaseStore:
    return InMemoryStore()


@pytest.fixture
def both(store: BaseStore, reference: BaseStore) -> tuple[BaseStore, BaseStore]:
    for (namespace, key), value in ITEMS.items():
        store.put(namespace, key, value)
        reference.put(namespace, key, value)
    return store, reference


def told(items: Any) -> list[Any]:
    return sorted((each.namespace, each.key, sorted(each.value.items(), key=str)) for each in items)


def test_an_item_comes_back_as_it_was_put(both: tuple[BaseStore, BaseStore]) -> None:
    store, _ = both
    for (namespace, key), value in ITEMS.items():
        item = store.get(namespace, key)
        assert item is not None
        assert (item.value, item.key, item.namespace) == (value, key, namespace)
        assert item.created_at == item.updated_at
    assert store.get(("users",), "food") is None


def test_an_item_that_is_put_again_is_replaced_and_its_past_is_kept(
    store: BaseStore, memory: Minutebook
) -> None:
    store.put(("a",), "k", {"n": 1})
    store.put(("a",), "k", {"n": 2})
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value == {"n": 2}
    (kept,) = memory.list_memories().memories
    assert [version.content for version in memory.history(kept.id)] == ['{"n": 1}', '{"n": 2}']


def test_an_item_that_was_deleted_is_gone_and_may_come_again(store: BaseStore) -> None:
    store.put(("a",), "k", {"n": 1})
    store.delete(("a",), "k")
    store.delete(("a",), "k")
    assert store.get(("a",), "k") is None
    assert store.search(("a",)) == []
    store.put(("a",), "k", {"n": 2})
    assert [item.value for item in store.search(("a",))] == [{"n": 2}]


@pytest.mark.parametrize("prefix", [(), ("users",), ("users", "ana"), ("use",), ("docs", "v1")])
@pytest.mark.parametrize(
    "wanted",
    [
        None,
        {"score": 5},
        {"score": {"$gte": 2.5}},
        {"score": {"$gt": 1, "$lt": 5}},
        {"score": {"$ne": 3}},
        {"text": {"$eq": "likes coffee"}},
        {"tags": ["a", "b"]},
        {"tags": ["a"]},
        {"at": {"city": "Rome"}},
        {"at": {"city": {"$ne": "Rome"}}},
        {"none": None},
        {"score": {"$lte": 3}, "text": "writes parsers"},
    ],
)
def test_a_search_selects_as_the_reference_does(
    both: tuple[BaseStore, BaseStore], prefix: tuple[str, ...], wanted: dict[str, Any] | None
) -> None:
    store, reference = both
    found = store.search(prefix, filter=wanted)
    assert told(found) == told(reference.search(prefix, filter=wanted))
    assert all(each.score is None for each in found)


def test_a_page_of_a_search_follows_the_last(both: tuple[BaseStore, BaseStore]) -> None:
    store, _ = both
    for query in (None, "tea"):
        whole = told(store.search((), query=query, limit=5))
        pages = [store.search((), query=query, limit=2, offset=offset) for offset in (0, 2, 4)]
        assert told(item for page in pages for item in page) == whole
        assert len(whole) == 5


def test_a_query_ranks_what_answers_it_first(both: tuple[BaseStore, BaseStore]) -> None:
    store, _ = both
    found = store.search(("users",), query="green tea", limit=3)
    assert (found[0].namespace, found[0].key) == (("users", "ana"), "food")
    assert found[0].score is not None
    assert len(found) == 3
    (hit,) = store.search(("users",), query="green tea", filter={"score": 1})
    assert hit.key == "food"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prefix": ("users",)},
        {"suffix": ("draft",)},
        {"prefix": ("*", "v1")},
        {"prefix": ("users", "*")},
        {"prefix": ("docs",), "suffix": ("*", "draft")},
        {"max_depth": 1},
        {"max_depth": 2, "limit": 2, "offset": 1},
    ],
)
def test_namespaces_are_listed_as_the_reference_lists_them(
    both: tuple[BaseStore, BaseStore], options: dict[str, Any]
) -> None:
    store, reference = both
    assert store.list_namespaces(**options) == reference.list_namespaces(**options)


def test_a_batch_reads_before_it_writes_and_the_last_write_holds(store: BaseStore) -> None:
    store.put(("a",), "k", {"n": 1})
    done = store.batch(
        [
            PutOp(("a",), "k", {"n": 2}),
            GetOp(("a",), "k"),
            PutOp(("a",), "k", {"n": 3}),
            SearchOp(("a",)),
            ListNamespacesOp((MatchCondition("prefix", ("a",)),)),
        ]
    )
    assert done[0] is done[2] is None
    assert done[1].value == {"n": 1}
    assert [item.value for item in done[3]] == [{"n": 1}]
    assert done[4] == [("a",)]
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value == {"n": 3}


def test_the_async_methods_do_the_same(store: BaseStore) -> None:
    async def run() -> None:
        await store.aput(("a",), "k", {"n": 1})
        item = await store.aget(("a",), "k")
        assert item is not None
        assert item.value == {"n": 1}
        assert [each.key for each in await store.asearch(("a",), query="1")] == ["k"]
        assert await store.alist_namespaces() == [("a",)]
        await store.adelete(("a",), "k")
        assert await store.aget(("a",), "k") is None

    asyncio.run(run())


def test_what_the_store_cannot_do_is_refused(store: BaseStore) -> None:
    with pytest.raises(NotImplementedError):
        store.put(("a",), "k", {"n": 1}, ttl=5)
    for namespace in ((), ("a.b",), ("",), ("langgraph", "x")):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {"n": 1})
    store.put(("a",), "k", {"n": 1})
    with pytest.raises(ValueError, match="operator"):
        store.search(("a",), filter={"n": {"$in": [1]}})
    with pytest.raises(ValueError, match="operation"):
        store.batch(["put"])


def test_two_stores_of_one_memory_are_apart(memory: Minutebook) -> None:
    one, other = MinutebookStore(memory, name="one"), MinutebookStore(memory, name="other")
    one.put(("a",), "k", {"n": 1})
    assert other.get(("a",), "k") is None
    assert other.search(()) == []
    assert other.list_namespaces() == []
