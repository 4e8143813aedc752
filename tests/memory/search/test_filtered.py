"""Everything that matches, in order; and the few of a governed answer."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from minutebook.record.errors import InvalidInput
from minutebook.record.filters import MemoryQuery
from minutebook.record.records import Memory, MemoryType, Role, ScopeLevel, Status
from minutebook.record.writing.drafts import Draft
from minutebook.text.fusion import Signal, fuse, fuse_scores
from tests.world import DIMENSIONS, Opener, World, failed

FACT, RULE = MemoryType.FACT, MemoryType.BUSINESS_RULE


def keep(world: World, content: str, **said: object) -> Memory:
    world.clock.turn()
    draft = Draft(content=content, type=FACT)
    return world.app.memories.store(world.caller, replace(draft, **said))  # type: ignore[arg-type]


def all_of(world: World, query: str | None, **narrowing: object) -> list[str]:
    narrow = MemoryQuery(**narrowing)  # type: ignore[arg-type]
    found = world.app.filtered_search.rank_all(world.caller, query, narrow)
    return [each.memory.content for each in found]


def test_without_a_query_all_come_the_important_first_then_the_latest(world: World) -> None:
    for content, importance in (("a", 1.0), ("b", 5.0), ("c", 5.0), ("d", 2.0)):
        keep(world, content, importance=importance)
    assert all_of(world, None) == ["c", "b", "d", "a"]


def test_organizations_are_merged_in_one_order(world: World) -> None:
    for number, organization in enumerate(("acme", "other", "acme", "third", "other")):
        keep(world.by(organization=organization), str(number), importance=float(number % 3))
    assert all_of(world, None) == ["2", "4", "1", "3", "0"]
    assert all_of(world, None, organization="other") == ["4", "1"]


@pytest.mark.thorough
def test_there_is_no_limit_and_what_does_not_match_stays_away(world: World) -> None:
    chance = Random(1)
    for number in range(240):
        noise = " ".join(f"w{chance.randrange(4000)}" for _ in range(6))
        keep(world, f"{noise} kettle" if number % 2 else noise)
    found = all_of(world, "kettle")
    held = [content for content in found if "kettle" in content]
    assert len(held) == 120
    assert len(found) - len(held) < 120 / 10


def test_relevance_goes_before_importance_and_what_ended_comes_last(world: World) -> None:
    weak = keep(world, "a kettle among many other things that are not at all the matter here")
    best = keep(world, "the kettle")
    gone = keep(world, "kettle kettle", importance=10.0)
    world.app.status.deprecate(world.caller, gone.id, "scrapped")
    found = list(world.app.filtered_search.rank_all(world.caller, "kettle", MemoryQuery()))
    assert [each.memory.id for each in found] == [best.id, weak.id, gone.id]
    assert found[0].score > found[1].score


def test_equally_relevant_ones_go_by_importance_then_age(world: World) -> None:
    ids = [keep(world, "the kettle", importance=i).id for i in (1.0, 3.0, 3.0, 2.0)]
    found = world.app.filtered_search.rank_all(world.caller, "kettle", MemoryQuery())
    assert [each.memory.id for each in found] == [ids[2], ids[1], ids[3], ids[0]]


def test_the_soft_deleted_never_come(world: World) -> None:
    world.app.memories.remove(world.caller, keep(world, "kettle").id)
    assert all_of(world, None) == all_of(world, "kettle") == []


def test_every_narrowing_holds_alone_and_with_others(world: World) -> None:
    keep(world, "kettle a", type=RULE, metadata={"n": 1, "m": "x"})
    keep(world, "kettle b", status=Status.DRAFT, metadata={"n": 1})
    keep(world, "kettle c", scope=ScopeLevel.REPOSITORY, repository="r")
    keep(world, "kettle d", scope=ScopeLevel.REPOSITORY, repository="s")
    for query in (None, "kettle"):
        assert set(all_of(world, query, type=RULE)) == {"kettle a"}
        assert set(all_of(world, query, status=Status.DRAFT)) == {"kettle b"}
        assert set(all_of(world, query, metadata={"n": 1})) == {"kettle a", "kettle b"}
        assert set(all_of(world, query, metadata={"n": 1, "m": "x"})) == {"kettle a"}
        assert set(all_of(world, query, repository="r")) == {"kettle a", "kettle b", "kettle c"}
        assert all_of(world, query, repository="s", scope=ScopeLevel.REPOSITORY) == ["kettle d"]
        assert all_of(world, query, organization="other") == []


def test_what_is_not_the_callers_is_not_there(world: World) -> None:
    keep(world.by(organization="other"), "kettle")
    keep(world.by(organization="acme"), "kettle", scope=ScopeLevel.REPOSITORY, repository="s")
    held = world.by(organization="acme", repositories=frozenset({"r"}))
    for query in (None, "kettle"):
        assert all_of(held, query, organization="other") == []
        assert all_of(held, query, repository="s") == []


def test_a_meaning_that_stands_out_is_found_where_no_words_are(world: World) -> None:
    for number in range(40):
        keep(world, f"thing{number} stuff{number} matter{number}")
    near = keep(world, "tea pot lid")
    phrase = '"lid pot tea"'
    assert world.app.recall.by_words(world.caller, phrase, 9) == []
    found = list(world.app.filtered_search.rank_all(world.caller, phrase, MemoryQuery()))
    assert found[0].memory.id == near.id
    assert len(found) < 5


def test_without_a_model_words_answer(opener: Opener) -> None:
    world = opener(failed())
    keep(world, "the kettle"), keep(world, "a cat")
    assert all_of(world, "kettle") == ["the kettle"]


def test_by_vector_ranks_by_meaning_importance_and_freshness(world: World) -> None:
    old = keep(world, "tea pot", importance=1.0)
    world.clock.turn(90 * 86400)
    new = keep(world, "tea pot", importance=1.0)
    high = keep(world, "tea pot", importance=9.0)
    keep(world, "unlike words entirely")
    near = world.app.filtered_search.by_vector(world.caller, "tea pot", MemoryQuery(), 0.5)
    assert [each.memory.id for each in near] == [high.id, new.id, old.id]
    assert all(each.similarity > 0.99 for each in near)
    assert near[1].score - near[2].score == pytest.approx(0.05, abs=1e-3)
    assert near[0].score - near[1].score == pytest.approx(0.24, abs=1e-3)
    told = world.app.embeddings.require_query("tea pot").vector.tolist()
    doubled = [2 * each for each in told]
    again = world.app.filtered_search.by_vector(world.caller, doubled, MemoryQuery(), 0.5, limit=2)
    assert [each.memory.id for each in again] == [high.id, new.id]


@pytest.mark.parametrize("length", [0, 1, DIMENSIONS - 1, DIMENSIONS + 1])
def test_a_vector_of_another_length_is_refused_with_both(world: World, length: int) -> None:
    with pytest.raises(InvalidInput) as refusal:
        world.app.filtered_search.by_vector(world.caller, [1.0] * length, MemoryQuery(), 0.5)
    assert str(DIMENSIONS) in refusal.value.remedy
    assert str(length) in refusal.value.remedy


@pytest.mark.parametrize("number", [0.0, np.nan, np.inf])
def test_a_vector_without_a_direction_is_refused(world: World, number: float) -> None:
    with pytest.raises(InvalidInput):
        world.app.filtered_search.by_vector(world.caller, [number] * DIMENSIONS, MemoryQuery(), 0.5)


def test_a_governed_answer_goes_from_the_repository_to_the_organization(world: World) -> None:
    me = world.by(organization="acme", repositories=frozenset({"r"}), role=Role.HUMAN)
    org, repo = {"scope": ScopeLevel.ORGANIZATION}, {"scope": ScopeLevel.REPOSITORY}
    unverified = keep(me, "tea pot for all", **org)
    verified = keep(me, "tea pot for all who work here today", status=Status.VERIFIED, **org)
    part = keep(me, "the pot", **repo)
    whole = keep(me, "a pot that holds some tea and is very long winded", **repo)
    gone = keep(me, "tea pot", **repo)
    me.app.status.deprecate(me.caller, gone.id, "broken")
    keep(me.by(repositories=frozenset({"s"})), "tea pot of another", **repo)
    answer = me.app.filtered_search.governed(me.caller, "tea pot", None, 10)
    told = [each.memory.id for each in answer]
    assert told == [whole.id, part.id, verified.id, unverified.id]
    (first,) = me.app.filtered_search.governed(me.caller, "tea pot", None, 1)
    assert first.memory.id == whole.id
    assert me.app.filtered_search.governed(me.caller, "tea pot", {RULE}, 10) == []
    assert len(me.app.filtered_search.governed(me.caller, "tea pot", {RULE, FACT}, 10)) == 4


def test_of_equally_relevant_ones_the_verified_comes_first(world: World) -> None:
    me = world.by(organization="acme", repositories=frozenset({"r"}), role=Role.HUMAN)
    ids = [keep(me, "tea pot").id for _ in range(3)]
    me.app.status.verify(me.caller, ids[1])
    answer = me.app.filtered_search.governed(me.caller, "tea pot", None, 10)
    assert answer[0].memory.id == ids[1]


def test_blended_scores_are_those_of_fuse() -> None:
    strengths = {Signal.VECTOR: {"a": 0.9, "b": 0.2}, Signal.LEXICAL: {"b": 0.7, "c": 0.3}}
    weights = {Signal.VECTOR: 0.4, Signal.LEXICAL: 0.15}
    hits = fuse(strengths, weights, 9, strengths)
    assert fuse_scores(strengths, weights) == {hit.id: hit.score for hit in hits}
