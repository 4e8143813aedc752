"""What `knowledge` promises of search by meaning, by words, and by both with the graph."""

import inspect
import math
import re
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from minutebook.memory.search.recall import CANDIDATES
from minutebook.model import Embedding
from tests.serve.contracts.requirements import requirement
from tests.text.walks import personalized_pagerank
from tests.world import Opener, World, bare, failed, loading, worlds

pytestmark = pytest.mark.on_server

TEXTS = [
    "the harbour office closes at nine",
    "Ana repairs the boiler in the harbour",
    "Ben feeds the cat",
    "the cat sleeps on the boiler",
    "nothing of this kind",
]
ONLY_VECTOR = {"bm25_weight": 0, "ppr_weight": 0}
ONLY_WORDS = {"vector_weight": 0, "ppr_weight": 0}
ONLY_GRAPH = {"vector_weight": 0, "bm25_weight": 0}


@pytest.fixture
def told(world: World) -> list[str]:
    """The ids of the texts."""
    return [world.remember(text) for text in TEXTS]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world that is only read."""
    with worlds(tmp_path_factory.mktemp("library")) as open_one:
        yield open_one()


@pytest.fixture(scope="module")
def shelved(library: World) -> list[str]:
    """The ids of the texts in it."""
    return [library.remember(text) for text in TEXTS]


def scores(world: World, query: str, **arguments: Any) -> dict[str, float]:
    answer = world.call("recall", query=query, **arguments)
    return {each["id"]: each["score"] for each in answer["results"]}


@requirement("knowledge/search/output", "knowledge/search/semantic")
def test_search_ranks_by_cosine_and_tells_it(library: World, shelved: list[str]) -> None:
    answer = library.call("search", query="the cat sleeps on the boiler")
    assert set(answer) == {"results", "count", "query"}
    assert (answer["count"], answer["query"]) == (
        len(answer["results"]),
        "the cat sleeps on the boiler",
    )
    first = answer["results"][0]
    assert first == {
        "id": shelved[3],
        "content": TEXTS[3],
        "memory_type": "semantic",
        "score": pytest.approx(1, abs=2e-3),
        "relevance": 1.0,
        "at": first["at"],
        "by": "agent",
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", first["at"])
    found = [each["score"] for each in answer["results"]]
    assert found == sorted(found, reverse=True)
    assert all(-1 <= score <= 1 for score in found)


@requirement("knowledge/search_text/output", "knowledge/search_text/bm25")
def test_search_text_ranks_by_bm25_and_tells_it(library: World, shelved: list[str]) -> None:
    answer = library.call("search_text", query="boiler harbour")
    assert set(answer) == {"results", "count", "query"}
    assert [each["id"] for each in answer["results"]] == [shelved[1], shelved[3], shelved[0]] or [
        each["id"] for each in answer["results"]
    ] == [shelved[1], shelved[0], shelved[3]]
    assert answer["count"] == 3
    assert set(answer["results"][0]) == {"id", "content", "memory_type", "score", "at", "by"}
    found = [each["score"] for each in answer["results"]]
    assert found == sorted(found, reverse=True)
    assert min(found) > 0


@requirement("knowledge/search/limit", "knowledge/search_text/limit", "knowledge/recall/limit")
@pytest.mark.parametrize("tool", ["search", "search_text", "recall"])
def test_ten_are_found_unless_told_and_at_most_fifty(opener: Opener, tool: str) -> None:
    world = opener(recall_tokens=0)
    for number in range(53):
        world.remember(f"tea {number}")
    assert len(world.ids(tool, query="tea")) == 10
    assert len(world.ids(tool, query="tea", limit=1)) == 1
    assert len(world.ids(tool, query="tea", limit=50)) == 50
    if tool != "recall":
        assert "`limit`" in world.refused(tool, query="tea", limit=51)


@requirement("common/bad-input/clamped")
def test_recall_takes_a_larger_limit_for_fifty(opener: Opener) -> None:
    world = opener(recall_tokens=0)
    for number in range(60):
        world.remember(f"tea {number}")
    assert len(world.ids("recall", query="tea", limit=51)) == 50
    assert len(world.ids("recall", query="tea", limit=10**30)) == 50


@requirement("knowledge/search/text-parts")
@pytest.mark.parametrize(
    ("content", "queries"),
    [
        ("state is in_progress now", ["in_progress", "progress"]),
        ("call camelCaseName here", ["camelCaseName", "camel", "case", "camelcasename"]),
        ("see path/to/file.py there", ["path/to/file.py", "file.py", "file", "path"]),
        ("released v1.2.3 today", ["v1.2.3", "1.2.3", "1.2"]),
        ("Die Übergröße paßt", ["Übergröße", "ubergröße", "passt"]),
        ("мой дом у моря", ["дом", "моря"]),
        ("彼は東京に住む", ["東京", "東京に住む", "京"]),
        ("café à la carte", ["cafe", "café"]),
    ],
)
def test_what_is_written_together_is_found_whole_and_by_part(
    world: World, content: str, queries: list[str]
) -> None:
    id = world.remember(content)
    world.remember("nothing of this kind")
    for query in queries:
        assert world.ids("search_text", query=query) == [id], query


@requirement("knowledge/search/text-any-term")
def test_any_term_finds_and_more_of_them_rank_higher(library: World, shelved: list[str]) -> None:
    found = library.ids("search_text", query="cat boiler")
    assert found[0] == shelved[3]
    assert set(found) == {shelved[1], shelved[2], shelved[3]}
    assert library.ids("search_text", query="zebra") == []


@requirement("knowledge/search/text-phrases")
def test_a_quoted_phrase_is_found_in_a_row_only(library: World, shelved: list[str]) -> None:
    assert library.ids("search_text", query='"harbour office"') == [shelved[0]]
    assert library.ids("search_text", query='"office harbour"') == []
    assert library.ids("search_text", query='"the cat" boiler')[0] == shelved[3]
    assert set(library.ids("search_text", query="harbour office")) == {shelved[0], shelved[1]}


@requirement("knowledge/search_text/no-model", "knowledge/search/text-while-loading")
def test_search_text_needs_no_model(opener: Opener) -> None:
    id = opener(name="same").remember("Ana likes tea")
    release = threading.Event()
    for embedding in (loading(release), failed()):
        assert opener(embedding, name="same").ids("search_text", query="tea") == [id]
    release.set()


@requirement("knowledge/search/not-ready", "knowledge/errors/embedding-not-ready")
def test_while_the_model_loads_meaning_cannot_be_searched(opener: Opener) -> None:
    release = threading.Event()
    world = opener(loading(release))
    text = world.refused("search", query="tea")
    assert text == "Embedding service not ready. Please try again."
    release.set()


def test_a_model_that_failed_leaves_recall_by_words_and_graph(opener: Opener) -> None:
    world = opener(failed("model.onnx is damaged"), wait=10)
    id = world.remember("Ana likes tea")
    world.entity("Ana")
    world.entity("Ben")
    answer = world.call("recall", query="tea")
    assert [each["id"] for each in answer["results"]] == [id]
    assert answer["results"][0]["vector_score"] == 0
    text = world.refused("search", query="tea")
    assert text.startswith("Embedding service not ready. Please try again.")
    assert "model.onnx is damaged" in text
    assert world.call("update_memory", id=id, content="Ana likes ale")["content"] == "Ana likes ale"


@requirement("knowledge/recall/output", "knowledge/recall/normalised", "knowledge/recall/hybrid")
def test_recall_tells_the_part_of_each_signal(world: World, told: list[str]) -> None:
    world.entity("Ana")
    answer = world.call("recall", query="Ana and the boiler")
    assert set(answer) == {
        "results",
        "query",
        "subgraph_nodes",
        "memories_count",
        "code_count",
    }
    assert answer["query"] == "Ana and the boiler"
    assert (answer["memories_count"], answer["code_count"]) == (len(answer["results"]), 0)
    first = answer["results"][0]
    assert set(first) == {
        "id",
        "content",
        "source",
        "score",
        "vector_score",
        "bm25_score",
        "ppr_score",
        "relevance",
        "at",
        "by",
    }
    assert 0 < first["relevance"] <= 1
    assert (first["id"], first["source"]) == (told[1], "memory")
    parts = ("score", "vector_score", "bm25_score", "ppr_score")
    assert all(0 <= each[part] <= 1 for each in answer["results"] for part in parts)
    found = [each["score"] for each in answer["results"]]
    assert found == sorted(found, reverse=True)


@requirement("knowledge/recall/weights", "knowledge/recall/weighted-mean")
@pytest.mark.parametrize(
    ("arguments", "weights"),
    [
        ({}, (0.40, 0.15, 0.45)),
        ({"vector_weight": 1, "bm25_weight": 1, "ppr_weight": 2}, (0.25, 0.25, 0.5)),
        ({"ppr_weight": 0}, (0.40 / 0.55, 0.15 / 0.55, 0)),
        (ONLY_VECTOR, (1, 0, 0)),
        (ONLY_WORDS, (0, 1, 0)),
        (ONLY_GRAPH, (0, 0, 1)),
    ],
)
def test_the_score_is_the_weighted_mean_of_the_three(
    world: World, told: list[str], arguments: dict[str, float], weights: tuple[float, ...]
) -> None:
    world.entity("boiler")
    world.entity("cat")
    answer = world.call("recall", query="the cat on the boiler", **arguments)
    assert answer["results"]
    for each in answer["results"]:
        parts = (each["vector_score"], each["bm25_score"], each["ppr_score"])
        mean = math.fsum(weight * part for weight, part in zip(weights, parts, strict=True))
        assert each["score"] == pytest.approx(mean, abs=1e-3)


@requirement("knowledge/recall/weights-relative")
def test_weights_are_relative(world: World, told: list[str]) -> None:
    world.entity("cat")
    once = scores(world, "cat", vector_weight=0.2, bm25_weight=0.3, ppr_weight=0.5)
    more = scores(world, "cat", vector_weight=20, bm25_weight=30, ppr_weight=50)
    assert more == pytest.approx(once)


@requirement("knowledge/recall/weights-relative")
@pytest.mark.parametrize("name", ["vector_weight", "bm25_weight", "ppr_weight"])
@pytest.mark.parametrize("weight", [-1, -1e-9, math.nan, math.inf, 10**400])
def test_a_weight_that_is_no_weight_is_refused_by_name(
    library: World, shelved: list[str], name: str, weight: float
) -> None:
    assert f"`{name}`" in library.refused("recall", query="tea", **{name: weight})


@requirement("knowledge/recall/weights-relative")
def test_weights_that_are_all_zero_are_refused(library: World) -> None:
    text = library.refused("recall", query="a", vector_weight=0, bm25_weight=0, ppr_weight=0)
    assert "weight" in text


@requirement("knowledge/recall/empty-graph")
def test_an_empty_graph_costs_the_other_signals_nothing(library: World, shelved: list[str]) -> None:
    without = library.call("recall", query="cat boiler", ppr_weight=0)["results"]
    answer = library.call("recall", query="cat boiler")
    assert answer["results"] == without
    assert answer["subgraph_nodes"] == 0
    (best, *_) = library.call("recall", query="Ben feeds the cat")["results"]
    assert best["id"] == shelved[2]
    assert best["score"] > 0.7


@requirement(
    "knowledge/recall/ppr", "knowledge/recall/ppr-seeds", "knowledge/recall/subgraph_nodes"
)
@pytest.mark.parametrize("weights", [{}, {"vector_weight": 0}])
def test_the_graph_finds_what_neither_words_nor_meaning_can(
    world: World, weights: dict[str, float]
) -> None:
    boiler, pump = world.entity("boiler"), world.entity("P-17")
    world.relate(boiler, pump, "has_part")
    named = world.remember("the boiler hums")
    behind = world.remember("order P-17 from Kiel")
    world.remember("P-17 ships on Mondays")
    unrelated = world.remember("the cat sleeps")
    answer = world.call("recall", query="boiler", **weights)
    found = {each["id"]: each for each in answer["results"]}
    ranks = {id: rank for rank, id in enumerate(found)}
    assert ranks[named] < ranks[behind] < ranks.get(unrelated, len(ranks))
    assert found[behind]["ppr_score"] > found.get(unrelated, {"ppr_score": 0})["ppr_score"]
    assert found[behind]["bm25_score"] == 0
    assert found[named]["ppr_score"] == 1
    # Three memories name one of two entities: five nodes; the fourth memory names none.
    assert answer["subgraph_nodes"] == 5


def test_a_memory_that_the_graph_alone_finds_counts_for_something(world: World) -> None:
    boiler, pump = world.entity("boiler"), world.entity("P-17")
    world.relate(boiler, pump, "has_part")
    world.remember("the boiler hums")
    behind = world.remember("order P-17 from Kiel")
    world.remember("the cat sleeps")
    (found,) = (
        each
        for each in world.call("recall", query="boiler", vector_weight=0)["results"]
        if each["id"] == behind
    )
    assert found["score"] > 0


def test_the_memory_nearer_in_the_graph_ranks_higher(opener: Opener) -> None:
    world = opener(failed(), wait=10)
    chain = [world.entity(name) for name in ("boiler", "pump", "valve")]
    for source, target in pairwise(chain):
        world.relate(source, target, "has_part")
    memories = [world.remember(text) for text in ("boiler", "pump", "valve")]
    answer = world.call("recall", query="boiler", **ONLY_GRAPH)
    assert [each["id"] for each in answer["results"]] == memories


def test_each_signal_proposes_at_least_fifty(opener: Opener) -> None:
    world = opener(recall_tokens=0)
    made = [world.remember("tea " * (60 - number)) for number in range(60)]
    for only in (ONLY_VECTOR, ONLY_WORDS):
        assert len(world.ids("recall", query="tea", limit=50, **only)) == 50
    assert set(world.ids("recall", query="tea", limit=50)) < set(made)
    assert CANDIDATES >= 50


@requirement("knowledge/recall/ppr")
def test_the_walk_is_as_the_contract_has_it() -> None:
    told = inspect.signature(personalized_pagerank).parameters
    assert {
        name: each.default for name, each in told.items() if name not in ("edges", "seeds")
    } == {
        "damping": 0.5,
        "iterations": 15,
        "tolerance": 1e-6,
    }


@requirement("knowledge/recall/include_memories")
def test_without_memories_there_is_nothing(library: World, shelved: list[str]) -> None:
    assert library.call("recall", query="cat", include_memories=False) == {
        "results": [],
        "query": "cat",
        "subgraph_nodes": 0,
        "memories_count": 0,
        "code_count": 0,
    }


@requirement("knowledge/recall/code-filters")
@pytest.mark.parametrize("name", ["project_id", "language"])
def test_a_filter_of_code_without_code_is_refused(library: World, name: str) -> None:
    text = library.refused("recall", query="cat", **{name: "rust"})
    assert f"`{name}`" in text
    assert "include_code" in text


@pytest.mark.parametrize("query", ["", None])
def test_an_empty_query_is_refused(library: World, query: str | None) -> None:
    for tool in ("search", "search_text", "recall"):
        assert "`query`" in library.refused(tool, query=query)


@pytest.mark.parametrize("query", [" ", "!?", "\u0000", "\ud800", "the", '""', '"', "a" * 10_000])
def test_a_query_of_nothing_is_answered(library: World, shelved: list[str], query: str) -> None:
    for tool in ("search", "search_text", "recall"):
        library.call(tool, query=query)


@pytest.mark.parametrize("tool", ["search", "search_text", "recall"])
def test_the_same_question_has_the_same_answer_with_ties_in_order_of_id(
    world: World, tool: str
) -> None:
    made = sorted(world.remember("the same text") for _ in range(12))
    first = world.call(tool, query="same text", limit=50)
    assert world.call(tool, query="same text", limit=50) == first
    assert [bare(each["id"]) for each in first["results"]] == made


def test_several_organizations_are_ranked_as_one(world: World) -> None:
    one = world.by(organization="acme").remember("the cat sleeps")
    other = world.by(organization="other").remember("the cat sleeps on the boiler")
    for tool in ("search", "search_text", "recall"):
        assert set(world.ids(tool, query="cat boiler")) == {one, other}
        assert world.ids(tool, query="the cat sleeps on the boiler")[0] == other
        assert world.by(organization="acme").ids(tool, query="cat boiler") == [one]


@requirement("knowledge/search/semantic")
def test_the_built_in_model_finds_by_meaning_and_across_languages(
    opener: Opener, built_in: Embedding
) -> None:
    world = opener(built_in, wait=60)
    car = world.remember("My automobile broke down on the motorway.")
    world.remember("The recipe asks for two eggs and some flour.")
    tea = world.remember("Ana trinkt am liebsten grünen Tee.")
    world.remember("The meeting was moved to Thursday.")
    assert world.ids("search", query="vehicle trouble")[0] == car
    assert world.ids("search", query="What does Ana like to drink?")[0] == tea
    assert world.ids("recall", query="vehicle trouble")[0] == car
    assert world.ids("search_text", query="vehicle trouble") == []
