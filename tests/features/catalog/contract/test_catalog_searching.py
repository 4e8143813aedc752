"""What a client of `catalog` finds: every match, in the promised order, inside its own scopes."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.config import settings_with
from minutebook.config.models import open_embedding
from tests.examples import examples
from tests.features.catalog.contract.cataloged import facts_of, found, write
from tests.serve.contracts.requirements import requirement
from tests.world import DIMENSIONS, Opener, WordEmbedder, World, failed, worlds

pytestmark = pytest.mark.on_server


@pytest.fixture
def facts(world: World) -> World:
    return facts_of(world)


@pytest.fixture(scope="module")
def kettles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Six memories that filters tell apart; nobody changes them."""
    with worlds(tmp_path_factory.mktemp("kettles")) as open_one:
        facts = facts_of(open_one())
        write(facts, "a kettle")
        write(facts, "b kettle", memory_type="risk")
        write(facts, "c kettle", status="verified")
        write(facts, "d kettle", scope_type="user")
        write(facts, "e kettle", repository="api", metadata={"n": 1})
        write(facts, "f kettle", repository="api", metadata={"n": 1, "team": "ops", "x": [1]})
        yield facts


@requirement("catalog/memory-search/array")
def test_a_search_answers_with_an_array_of_complete_memories_as_text_only(facts: World) -> None:
    told = write(facts, "The kettle is in the attic", title="Kettle", metadata={"k": 1})
    answer = facts.contract.call(facts.app, facts.caller, "memory-search", {})
    assert answer.content is None
    assert facts.told("memory-search") == [told]
    (hit,) = facts.told("memory-search", query="kettle")
    assert hit == told | {"relevance": hit["relevance"]}


@requirement("catalog/memory-search/unbounded", "catalog/tools/listed")
def test_all_matches_come_however_many(facts: World) -> None:
    items = [
        {
            "organization": "acme",
            "scope_type": "organization",
            "memory_type": "fact",
            "current_content": f"kettle number {number}",
        }
        for number in range(620)
    ]
    facts.told("memory-batch-write", items=items)
    assert len(found(facts)) == 620
    assert len(found(facts, "kettle")) == 620
    assert found(facts, "kettle", memory_type="risk") == []


@requirement("catalog/memory-search/relevance", "catalog/memory-search/sorting")
def test_with_a_query_the_best_comes_first_with_its_relevance(facts: World) -> None:
    write(facts, "a kettle and much else: pans, pots, cups, spoons, forks", importance=10)
    write(facts, "the kettle")
    write(facts, "pans")
    results = facts.told("memory-search", query="the kettle")
    assert results[0]["current_content"] == "the kettle"
    relevance = [each["relevance"] for each in results]
    assert all(isinstance(each, float) for each in relevance)
    assert relevance == sorted(relevance, reverse=True)
    assert relevance[0] > relevance[-1]


@requirement("catalog/memory-search/sorting", "catalog/memory-search/no-query")
@pytest.mark.parametrize("query", [None, "", "  "])
def test_without_a_query_importance_then_the_newest_come_first(
    facts: World, query: str | None
) -> None:
    for content, importance in (("a", 1), ("b", 5), ("c", 1), ("d", 5)):
        write(facts, content, importance=importance)
    assert found(facts, query) == ["d", "b", "c", "a"]
    assert all("relevance" not in each for each in facts.told("memory-search"))


@requirement("catalog/memory-search/sorting")
def test_what_is_equally_relevant_is_ordered_by_importance_then_the_newest(facts: World) -> None:
    for importance in (1, 5, 1, 5):
        write(facts, "the kettle", importance=importance)
    results = facts.told("memory-search", query="kettle")
    assert len({each["relevance"] for each in results}) == 1
    told = [(each["importance"], each["created_at"][-10:-8]) for each in results]
    assert told == [(5, "04"), (5, "02"), (1, "03"), (1, "01")]


@requirement("catalog/memory-search/matches")
def test_a_term_matches_whole_or_in_part(opener: Opener) -> None:
    facts = facts_of(opener(embedding=failed()))
    write(facts, "tokens are checked by check_session_token")
    write(facts, "bread")
    for query in ("check_session_token", "session", "checking tokens", "session-free TOKEN"):
        assert "tokens are checked by check_session_token" in found(facts, query)
    assert found(facts, "session bread") == ["bread", "tokens are checked by check_session_token"]
    assert found(facts, "zebra") == []


@requirement("catalog/memory-search/matches")
def test_a_meaning_that_stands_out_matches_and_what_is_unrelated_stays_away(
    opener: Opener, built_in: Any
) -> None:
    facts = facts_of(opener(embedding=built_in))
    said = [
        "Failed payments are retried three times, then a person is called.",
        "The staging database listens on port 5432.",
        "Ada prefers short pull requests with one idea each.",
        "Session tokens live for one hour.",
        "The office closes at six on Fridays.",
        "Our logo is a green heron.",
        "Backups are kept for ninety days.",
        "Lunch is served in the garden when it is dry.",
    ]
    for each in said:
        write(facts, each)
    results = found(facts, "what happens when a customer's card is declined")
    assert results[0] == said[0]
    assert len(results) <= len(said) // 2


def test_without_a_model_a_search_goes_by_words(opener: Opener) -> None:
    facts = facts_of(opener(embedding=failed()))
    write(facts, "The kettle is in the attic")
    assert found(facts, "kettle") == ["The kettle is in the attic"]
    failure = facts.failure("memory-vector-search", query="kettle")
    assert failure.code == -32603
    assert "memory-search" in failure.text
    unknown = facts_of(
        opener(name="unknown", embedding=open_embedding(settings_with(embedder="none")))
    )
    assert unknown.failure("memory-vector-search", vector=[0.5, 0.5]).code == -32603


@requirement("catalog/memory-search/filters", "catalog/memory-search/equality")
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "abcdef"),
        ({"memory_type": "risk"}, "b"),
        ({"status": "verified"}, "c"),
        ({"scope_type": "user"}, "d"),
        ({"repository": "api"}, "abcdef"),
        ({"repository": "web"}, "abcd"),
        ({"metadata": {"team": "ops"}}, "f"),
        ({"metadata": {"team": "ops", "n": 1}}, "f"),
        ({"metadata": {"n": 1}}, "ef"),
        ({"metadata": {"n": "1"}}, ""),
        ({"metadata": {"other": None}}, ""),
        ({"metadata": {}}, "abcdef"),
        ({"memory_type": "fact", "repository": "api", "metadata": {"n": 1}}, "ef"),
        ({"memory_type": "task"}, ""),
    ],
)
@pytest.mark.parametrize("query", [None, "kettle"])
def test_the_filters_are_equality(
    kettles: World, filters: dict[str, Any], expected: str, query: str | None
) -> None:
    assert "".join(sorted(each[0] for each in found(kettles, query, **filters))) == expected


@requirement("catalog/memory-search/repository", "catalog/server/versioning")
def test_a_repository_finds_its_own_and_the_wider_ones_never_anothers(facts: World) -> None:
    write(facts, "of all", scope_type="system")
    write(facts, "of acme")
    write(facts, "of api", scope_type="repository", repository="api")
    write(facts, "of web", scope_type="repository", repository="web")
    assert set(found(facts, repository="api")) == {"of all", "of acme", "of api"}
    held = facts.by(repositories=frozenset({"api"}), organization="acme")
    assert set(found(held)) == {"of all", "of acme", "of api"}
    for query in (None, "of web"):
        assert found(held, query, repository="web") == []
    assert held.told("memory-vector-search", query="of web", repository="web") == []


@requirement("catalog/memory-search/organization")
def test_an_organization_may_be_named_among_the_filters(facts: World) -> None:
    write(facts, "of acme")
    write(facts, "of zoo", organization="zoo")
    assert found(facts, organization="zoo") == ["of zoo"]
    assert found(facts, "of", organization="acme") == ["of acme"]
    held = facts.by(organization="zoo")
    assert found(held) == ["of zoo"]
    assert found(held, organization="acme") == []


@requirement("catalog/memory-search/user", "policy/read")
def test_a_users_memory_shows_to_that_user_only(facts: World) -> None:
    ana, ben = facts.by(user="ana"), facts.by(user="ben")
    id = write(ana, "Ana likes tea", scope_type="user")["id"]
    assert found(ana, "tea") == ["Ana likes tea"]
    assert found(ben, "tea") == []
    assert ben.failure("memory-update", id=id, title="x").code == 404
    assert facts.by(role="viewer", user="ana").told("memory-search", query="tea") != []


@requirement("catalog/memory-search/deleted")
def test_soft_deleted_memories_never_show(facts: World) -> None:
    id = write(facts, "the kettle")["id"]
    facts.told("memory-delete", id=id)
    assert found(facts) == []
    assert found(facts, "kettle") == []
    assert facts.told("memory-vector-search", query="the kettle", threshold=-1) == []


@requirement("catalog/memory-search/deprecated")
@pytest.mark.parametrize("query", [None, "kettle"])
def test_every_status_shows_and_the_deprecated_come_last(facts: World, query: str | None) -> None:
    for status in ("deprecated", "draft", "verified", "locked", "active"):
        write(facts, f"kettle {status}", status=status, importance=11 - len(status))
    results = found(facts, query)
    assert len(results) == 5
    assert results[-1] == "kettle deprecated"


@requirement("catalog/memory-vector-search/shape")
def test_the_rank_score_is_the_promised_formula(facts: World) -> None:
    write(facts, "kettle attic", importance=10)
    facts.clock.now += timedelta(days=15)
    write(facts, "kettle", importance=2)
    facts.clock.now += timedelta(days=15)
    results = facts.told("memory-vector-search", query="kettle", threshold=0.0)
    assert len(results) == 2
    ages = {"kettle attic": 30, "kettle": 15}
    for each in results:
        freshness = max(0.5, 1 - ages[each["current_content"]] / 60)
        expected = 0.6 * each["similarity"] + 0.3 * each["importance"] / 10 + 0.1 * freshness
        assert each["rank_score"] == pytest.approx(expected, abs=1e-4)
    assert results[0]["current_content"] == "kettle attic"
    assert results[0]["similarity"] < results[1]["similarity"]


def test_the_threshold_is_the_least_cosine_and_half_by_default(facts: World) -> None:
    for content in ("kettle", "kettle attic", "kettle attic stairs door roof", "bread"):
        write(facts, content)
    every = facts.told("memory-vector-search", query="kettle", threshold=-1)
    assert len(every) == 4
    half = {each["id"] for each in facts.told("memory-vector-search", query="kettle")}
    assert half == {each["id"] for each in every if each["similarity"] >= 0.5}
    assert 0 < len(half) < 4


@requirement("catalog/memory-vector-search/one-of", "catalog/memory-vector-search/length")
def test_a_vector_finds_what_its_text_would_and_must_have_the_models_length(facts: World) -> None:
    write(facts, "kettle")
    vector = [float(each) for each in WordEmbedder().embed_query("kettle").vector]
    by_text = facts.told("memory-vector-search", query="kettle")
    for same in (vector, [each * 7 for each in vector]):
        (again,) = facts.told("memory-vector-search", vector=same)
        assert again["id"] == by_text[0]["id"]
        assert again["similarity"] == pytest.approx(by_text[0]["similarity"], abs=1e-6)
    for wrong in ({}, {"query": "kettle", "vector": vector}):
        failure = facts.failure("memory-vector-search", **wrong)
        assert (failure.code, failure.structured) == (-32602, {"argument": "query"})
    short = facts.failure("memory-vector-search", vector=vector[:-1])
    assert short.structured == {"argument": "vector"}
    assert str(DIMENSIONS) in short.text
    assert str(DIMENSIONS - 1) in short.text
    assert facts.failure("memory-vector-search", vector=[0.0] * DIMENSIONS).code == -32602


@requirement("catalog/memory-vector-search/narrowed")
def test_repository_filters_and_limit_narrow_a_vector_search(facts: World) -> None:
    for content, repository in (("kettle a", "api"), ("kettle w", "web"), ("kettle s", "api")):
        write(facts, content, repository=repository)

    def contents(**more: Any) -> list[str]:
        results = facts.told("memory-vector-search", query="kettle", threshold=0, **more)
        return sorted(each["current_content"] for each in results)

    assert contents(repository="api") == ["kettle a", "kettle s"]
    assert contents(filters={"repository": "web"}) == ["kettle w"]
    assert len(contents(limit=2)) == 2
    assert contents(filters={"memory_type": "risk"}) == []
    failure = facts.failure(
        "memory-vector-search", query="x", repository="api", filters={"repository": "web"}
    )
    assert failure.structured == {"argument": "filters.repository"}


@requirement("common/one-memory", "common/ids-of-all")
def test_what_one_contract_writes_the_others_find_under_ids_of_their_own_form(world: World) -> None:
    facts = facts_of(world)
    told = write(facts, "The kettle is in the attic", id="550e8400-e29b-41d4-a716-446655440000")
    (recalled,) = world.call("recall", query="kettle")["results"]
    assert recalled["content"] == "The kettle is in the attic"
    for id in (told["id"], recalled["id"]):
        assert world.call("get_memory", id=id)["id"]["id"]["String"] == recalled["id"]
    other = world.remember("The teapot is in the cellar")
    (hit,) = facts.told("memory-search", query="teapot")
    assert (hit["memory_type"], hit["status"], hit["importance"]) == ("semantic", "active", 1)
    for id in (other, hit["id"]):
        assert facts.call("memory-update", id=id, importance=3)["id"] == hit["id"]
    assert world.call("get_memory", id=other)["importance_score"] == 3.0


actions = st.lists(
    st.tuples(
        st.sampled_from(["kettle", "attic", "bread"]),
        st.sampled_from(["acme", "zoo"]),
        st.sampled_from([None, "api", "web"]),
        st.sampled_from(["organization", "user", "system"]),
        st.sampled_from([None, "ana", "ben"]),
        st.integers(1, 3),
    ),
    max_size=6,
)


@given(
    actions,
    st.sampled_from([None, "acme", "zoo"]),
    st.sampled_from([None, frozenset({"api"}), frozenset({"web", "api"})]),
    st.sampled_from([None, "ana"]),
    st.sampled_from([None, "kettle", "attic bread"]),
)
@settings(max_examples=examples(30))
def test_every_search_is_ordered_and_stays_inside_the_callers_scopes(
    tmp_path_factory: pytest.TempPathFactory,
    told: list[tuple[str, str, str | None, str, str | None, int]],
    organization: str | None,
    repositories: frozenset[str] | None,
    user: str | None,
    query: str | None,
) -> None:
    with worlds(tmp_path_factory.mktemp("order")) as open_one:
        facts = facts_of(open_one())
        for content, owner, repository, scope, who, importance in told:
            more = {} if repository is None or scope == "system" else {"repository": repository}
            writer = facts.by(user=who)
            write(
                writer, content, organization=owner, scope_type=scope, importance=importance, **more
            )
        asking = facts.by(organization=organization, repositories=repositories, user=user)
        results = asking.told("memory-search", **({} if query is None else {"query": query}))
        keys = [
            (-each.get("relevance", 0.0), -each["importance"], reversed_text(each["created_at"]))
            for each in results
        ]
        assert keys == sorted(keys)
        for each in results:
            if each["scope_type"] == "system":
                continue
            assert organization in (None, each["organization"])
            assert repositories is None or each["repository"] in (None, *repositories)
        everything = facts.told("memory-search")
        assert len(everything) == len(told)


def reversed_text(text: str) -> tuple[int, ...]:
    return tuple(-ord(letter) for letter in text)
