"""Searching: old words lead to what holds now, in each mode what it promises."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minutebook.record.records import Role
from minutebook.record.sources import Source
from tests.features.ledger.contract.ledgered import WHY, Client
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World, worlds


@pytest.fixture
def agent(world: World) -> Client:
    return Client(world).of(Role.AGENT, "claude")


@requirement("ledger/search/truth", "ledger/results/searched")
def test_old_words_lead_to_what_holds_now(agent: Client) -> None:
    first = agent.record("storage", "Keep rows in Paradox", "Paradox is what the office knows.")
    second = agent.supersede("storage", first, title="Keep rows in SQLite")
    third = agent.supersede("storage", second, title="Keep rows in PostgreSQL")
    for mode in ("strict", "balanced"):
        (found,) = agent.search("paradox", mode)
        assert found["id"] == third
        assert (found["status"], found["kind"]) == ("active", "decision")
        assert "PostgreSQL" in found["preview"]


@requirement("ledger/search_decisions/strict", "ledger/search/strict")
def test_strict_gives_nothing_that_is_not_active(agent: Client) -> None:
    old = agent.record("storage", "Paradox paradox paradox")
    new = agent.supersede("storage", old)
    agent.propose("storage", "Paradox again")
    agent.record("cache", "Paradox of caching")
    found = agent.search("paradox", "strict")
    assert {each["status"] for each in found} == {"active"}
    assert old not in [each["id"] for each in found]
    assert new in [each["id"] for each in found]


@requirement(
    "ledger/search_decisions/balanced", "ledger/search/boost", "ledger/search/deduplicated"
)
def test_balanced_puts_what_holds_first_and_each_target_once(agent: Client) -> None:
    ids = [agent.record("storage", "Paradox one")]
    for number in range(3):
        ids.append(agent.supersede("storage", ids[-1], title=f"Paradox {number}"))
    other = agent.record("cache", "Keep paradox entries for a day")
    found = agent.search("paradox")
    assert {each["id"] for each in found} == {ids[-1], other}
    assert all(each["score"] > 1.0 for each in found)


@requirement("ledger/search_decisions/audit", "ledger/search/audit")
def test_audit_gives_everything_with_its_true_status(agent: Client) -> None:
    old = agent.record("storage", "Paradox one")
    new = agent.supersede("storage", old, title="Paradox two")
    proposal = agent.propose("storage", "Paradox three")
    found = {
        each["id"]: (each["status"], each["kind"]) for each in agent.search("paradox", "audit")
    }
    assert found == {
        old: ("superseded", "decision"),
        new: ("active", "decision"),
        proposal: ("pending", "proposal"),
    }
    by_score = agent.ids("paradox", "audit")
    assert by_score[0] == new
    scores = {each["id"]: each["score"] for each in agent.search("paradox", "audit")}
    assert scores[old] <= 0.1 < 1.0 < scores[new]


@requirement("ledger/search_decisions/hybrid")
def test_title_target_rationale_and_consequences_are_all_searched(agent: Client) -> None:
    id = agent.record("harbour", "Kettles", "Boilers are heavy things.", consequences=["Falcons"])
    agent.record("cache", "Redis", "Entries live for a day.")
    for word in ("harbour", "kettles", "boilers", "falcons"):
        assert agent.ids(word, limit=1) == [id], word


@requirement("ledger/search/preview")
def test_a_preview_has_at_most_200_characters(agent: Client) -> None:
    agent.record("storage", "Paradox", "é" * 5000)
    agent.record("cache", "Paradox", "short and good")
    previews = sorted(each["preview"] for each in agent.search("paradox"))
    assert [len(each) for each in previews if each.startswith("storage")] == [200]
    assert previews[0].endswith("short and good")


def test_a_limit_holds_and_five_is_the_default(agent: Client) -> None:
    for number in range(8):
        agent.record(f"target {number}", "Paradox")
    assert len(agent.ids("paradox", limit=3)) == 3
    assert len(agent.call("search_decisions", query="paradox")["results"]) == 5
    assert agent.refused("search_decisions", query="paradox", limit=21)[0] == -32602
    assert agent.refused("search_decisions", query="paradox", mode="loose")[0] == -32602


def test_nothing_found_is_no_error(agent: Client) -> None:
    assert agent.search("paradox") == []


def test_a_question_about_nothing_that_was_decided_is_not_told_that_it_found_some(
    agent: Client,
) -> None:
    agent.record("storage", "Keep rows in Paradox")
    assert agent.call("search_decisions", query="paradox")["message"] == "Found 1."
    for mode in ("strict", "balanced", "audit"):
        told = agent.call("search_decisions", query="zebra", mode=mode)
        assert told["message"] == "Found 1.", mode
        assert len(told["results"]) == 1


def test_recall_shows_what_holds_beside_memories(opener: Opener) -> None:
    world = opener()
    agent = Client(world).of(Role.AGENT, "claude")
    old = agent.record("storage", "Keep rows in Paradox")
    new = agent.supersede("storage", old, title="Keep rows in SQLite")
    memory = world.remember("Paradox is in the cellar")
    other = world.remember("Ana likes tea")
    told = world.call("recall", query="paradox rows")
    sources = {each["id"]: each["source"] for each in told["results"]}
    assert sources == {new: "decision", memory: "memory", other: "memory"}
    assert (told["memories_count"], told["decisions_count"]) == (2, 1)
    scores = [each["score"] for each in told["results"]]
    assert scores == sorted(scores, reverse=True)
    assert len(world.call("recall", query="paradox rows", limit=1)["results"]) == 1
    assert world.call("recall", query="paradox", include_memories=False)["results"] == []
    before = world.kept()
    assert world.refused("update_memory", id=new, content="x")
    assert world.call("delete_memory", id=new) == {"deleted": False}
    assert world.kept() == before


def test_recall_shows_memories_alone_where_the_settings_say_so(opener: Opener) -> None:
    world = opener(recall_sources=(Source.MEMORY,))
    Client(world).record("storage", "Keep rows in Paradox")
    told = world.call("recall", query="paradox")
    assert told["results"] == []
    assert "decisions_count" not in told


steps = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.booleans()), max_size=12)


@pytest.mark.thorough
@given(steps, st.sampled_from(["strict", "balanced"]), st.sampled_from(["old", "new", "tea"]))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_was_decided_each_target_is_found_once_by_any_of_its_words(
    tmp_path_factory: pytest.TempPathFactory,
    made: list[tuple[str, bool]],
    mode: str,
    word: str,
) -> None:
    with worlds(tmp_path_factory.mktemp("steps")) as open_one:
        agent = Client(open_one()).of(Role.AGENT, "claude")
        active: dict[str, str] = {}
        for target, is_new in made:
            title = f"{'new' if is_new else 'old'} tea"
            if target in active:
                active[target] = agent.supersede(target, active[target], title=title, why=WHY)
            else:
                active[target] = agent.record(target, title)
        said = {target for target, is_new in made if word in ("tea", "new" if is_new else "old")}
        found = agent.ids(word, mode)
        assert len(set(found)) == len(found)
        assert set(found) <= set(active.values())
        assert {active[target] for target in said} <= set(found)
