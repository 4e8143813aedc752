"""Turns and sessions through the journal: stored, read in order, found, by whom they concern."""

from datetime import timedelta

import pytest

from minutebook.features.journal.contract import journal
from minutebook.record.records import Kind, Role
from tests.features.journal.contract.journaled import Client
from tests.serve.contracts.requirements import requirement
from tests.world import NOON, Opener, World, failed

pytestmark = pytest.mark.on_server

OWN = "session_1767700800000_00000000"


@pytest.fixture
def client(world: World) -> Client:
    return Client(world).by(session=OWN)


@requirement("journal/memories/add", "journal/results/add", "journal/published/persistent")
def test_a_turn_is_stored_and_read_back_as_it_was_given(client: Client) -> None:
    said = {"prompt": "Why is the sky blue?", "thought": "Rayleigh. 🌤", "response": "Because …"}
    stored = client.call("add_memory", **said, sessionId="s1")
    assert stored["sessionId"] == "s1"
    assert "s1" in stored["message"]
    found = client.call("get_session_memories", sessionId="s1")
    assert found["memories"] == [
        {
            "id": stored["id"],
            "sessionId": "s1",
            "timestamp": stored["timestamp"],
            **said,
            "type": "agent-interaction",
        }
    ]
    later = journal()
    again = later.call(client.world.app, client.world.caller, "get_session_memories", found)
    assert again.content == found


@requirement("journal/results/turn")
def test_an_id_is_mem_and_the_time_of_the_turn(client: Client) -> None:
    stored = client.add("hello")
    assert stored["id"] == f"mem_{stored['timestamp']}"
    assert stored["timestamp"] == (NOON + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@requirement("common/ids-of-turns")
def test_turns_of_one_instant_keep_their_order_and_do_not_collide(client: Client) -> None:
    app, caller = client.world.app, client.world.caller
    for number in range(5):
        for session in ("s1", "s2"):
            app.sessions.add(caller, session, f"{session} {number}", "", "")
    client.world.clock.turn(-3600)
    app.sessions.add(caller, "s1", "s1 5", "", "")
    assert client.prompts("s1") == [f"s1 {number}" for number in range(6)]
    found = client.call("get_session_memories", sessionId="s1")["memories"]
    found += client.call("get_session_memories", sessionId="s2")["memories"]
    assert len({each["id"] for each in found}) == 11


@requirement("journal/memories/generated", "journal/calls/connection-session")
def test_without_a_session_the_connections_own_is_used(client: Client) -> None:
    assert client.add("one")["sessionId"] == client.add("two")["sessionId"] == OWN
    assert client.prompts(OWN) == ["one", "two"]
    other = client.by(session="session_other")
    assert other.add("three")["sessionId"] == "session_other"
    assert client.prompts(OWN) == ["one", "two"]


@requirement(
    "journal/memories/session",
    "journal/memories/paged",
    "journal/considered/pagination",
    "journal/results/session",
)
def test_a_session_is_read_in_order_page_by_page(client: Client) -> None:
    for number in range(7):
        client.add(f"turn {number}", "s1")
        client.add(f"other {number}", "s2")
    assert client.prompts("s1") == [f"turn {number}" for number in range(7)]
    assert client.prompts("s1", limit=3, offset=2) == ["turn 2", "turn 3", "turn 4"]
    page = client.call("get_session_memories", sessionId="s1", limit=3, offset=5)
    assert (page["count"], page["total"], page["sessionId"]) == (2, 7, "s1")
    assert client.prompts("s1", offset=100) == []


@requirement("journal/memories/paged")
def test_a_page_holds_a_hundred_turns_if_nothing_is_said(client: Client) -> None:
    for number in range(101):
        client.world.app.sessions.add(client.world.caller, "s1", f"{number}", "", "")
    page = client.call("get_session_memories", sessionId="s1")
    assert (page["count"], page["total"]) == (100, 101)
    assert client.call("get_session_memories", sessionId="s1", limit=10**9)["count"] == 101


@requirement("journal/calls/unknown-session")
def test_an_unknown_session_holds_nothing(client: Client) -> None:
    assert client.call("get_session_memories", sessionId="nosuch") == {
        "sessionId": "nosuch",
        "count": 0,
        "total": 0,
        "memories": [],
    }


@requirement("journal/memories/query", "journal/results/query")
def test_prompt_thought_and_response_are_searched_together_with_true_distances(
    client: Client,
) -> None:
    client.add("the boiler is cold", "s0", thought="oil", response="filled the tank")
    client.add("what to drink", "s1", thought="green tea", response="a cup")
    client.add("a harbour", "s2", thought="ships", response="tea clippers")
    assert client.found("tank", nResults=1) == ["the boiler is cold"]
    assert set(client.found("tea", nResults=2)) == {"what to drink", "a harbour"}
    found = client.call("query_raw_memories", query="green tea a cup what to drink")
    (best, *_) = found["results"]
    assert best["prompt"] == "what to drink"
    for each in found["results"]:
        assert each["relevanceScore"] == pytest.approx(1 / (1 + each["distance"]))
        assert 0 <= each["distance"] <= 2
    assert best["distance"] == pytest.approx(0, abs=0.01)
    assert found["count"] == len(found["results"])


@requirement("journal/memories/query-scoped")
def test_a_query_can_be_held_to_a_session(client: Client) -> None:
    for session in ("s1", "s2"):
        client.add(f"tea in {session}", session)
    assert client.found("tea", sessionId="s2") == ["tea in s2"]
    assert client.found("tea", sessionId="nosuch") == []


@requirement("journal/memories/query-count", "journal/calls/n-results")
def test_a_query_gives_ten_or_as_many_as_asked_up_to_a_hundred(client: Client) -> None:
    for number in range(12):
        client.add(f"tea {number}", "s1")
    assert len(client.found("tea")) == 10
    assert len(client.found("tea", nResults=12)) == 12
    assert len(client.found("tea", nResults=100)) == 12
    for wrong in (0, 101, -1):
        name, message = client.refused("query_raw_memories", query="tea", nResults=wrong)
        assert name == "Invalid arguments"
        assert "`nResults`" in message


@requirement("journal/calls/no-key", "journal/calls/degraded")
def test_without_any_model_turns_are_stored_and_found_by_words(opener: Opener) -> None:
    world = opener(failed())
    client = Client(world).by(session=OWN)
    client.add("the boiler needs oil")
    assert client.call("healthcheck")["status"] == "degraded"
    (found,) = client.call("query_raw_memories", query="boiler")["results"]
    assert found["prompt"] == "the boiler needs oil"
    assert "distance" not in found
    assert "relevanceScore" not in found


def test_a_turn_of_a_megabyte_is_stored_whole(client: Client) -> None:
    text = "tea " * 250_000
    client.add("long", "s1", thought=text, response="end")
    (turn,) = client.call("get_session_memories", sessionId="s1")["memories"]
    assert turn["thought"] == text
    assert client.found("end tea") == ["long"]


@requirement("common/null-is-absent")
def test_null_is_as_good_as_nothing(client: Client) -> None:
    client.add("one")
    found = client.call("query_raw_memories", query="one", nResults=None, sessionId=None)
    assert found["count"] == 1
    assert client.call("get_all_summaries", limit=None, category=None)["total"] == 0


@requirement("journal/errors/form", "journal/errors/text", "journal/considered/validation")
@requirement("journal/published/clear-errors")
def test_what_is_wrong_is_said_in_the_contracts_form(client: Client) -> None:
    name, message = client.refused("add_memory", prompt="hello", thought="")
    assert (name, message) == ("Invalid arguments", "Argument `response` is required.")
    name, message = client.refused("add_memory", prompt=1, thought="", response="")
    assert "`prompt` must be text" in message
    name, message = client.refused("get_session_memories", sessionId="x" * 201)
    assert "`sessionId` must have at most 200 characters" in message


def test_a_viewer_reads_and_does_not_write(client: Client) -> None:
    client.add("one", "s1")
    viewer = client.by(role=Role.VIEWER)
    assert viewer.prompts("s1") == ["one"]
    said = {"prompt": "two", "thought": "", "response": ""}
    name, message = viewer.refused("add_memory", **said)
    assert (name, "viewer" in message) == ("Not allowed", True)


@requirement("common/one-store")
def test_turns_are_kept_beside_memories_and_are_not_among_them(client: Client) -> None:
    client.add("Ana likes tea", "s1")
    assert client.world.ids("search_text", query="tea") == []
    id = client.world.remember("Ben likes tea")
    assert client.world.ids("search_text", query="tea") == [id]
    told = client.world.call("recall", query="tea")["results"]
    assert [(each["source"], each.get("session")) for each in told] == [
        ("memory", None),
        ("session", "s1"),
    ]
    assert client.found("tea") == ["Ana likes tea"]
    assert client.world.store.organizations() == ["default"]
    (entry,) = [each for each in client.world.trail() if each.subject_kind is Kind.TURN]
    assert entry.outcome == "done"
