"""Summaries through the journal: made, listed, searched, made again, deleted."""

import json
from typing import Any

import pytest

from minutebook.record.errors import Unanswered
from minutebook.record.records import Role
from tests.features.journal.contract.journaled import Client
from tests.serve.contracts.requirements import requirement
from tests.world import World

pytestmark = pytest.mark.on_server


@pytest.fixture
def client(world: World) -> Client:
    return Client(world).by(session="session_own")


def write(client: Client, session: str, *prompts: str) -> None:
    """Write a session."""
    for prompt in prompts:
        client.add(prompt, session, thought="Let me look.", response=f"Done: {prompt}")


def told(**changes: Any) -> str:
    """What a model answers when it is asked for a summary."""
    return json.dumps(
        {
            "title": "Mend the boiler",
            "summary": "The boiler was cold. Its pump was replaced.",
            "category": "bugfix",
            "quality": 90,
            "productivity": 80,
            "impact": 70,
            "complexity": 60,
            "technologies": ["python"],
            **changes,
        }
    )


@requirement(
    "journal/sessions/one",
    "journal/results/summarize",
    "journal/results/scores",
    "journal/results/list",
)
def test_one_session_is_summarised(client: Client) -> None:
    write(client, "s1", "fix the error in auth.py", "now add a test")
    write(client, "s2", "write the readme")
    done = client.call("summarize_sessions", sessionId="s1")
    assert done["processed"] == 1
    assert done["failed"] == []
    (session,) = done["sessions"]
    assert session["sessionId"] == "s1"
    assert session["memoryCount"] == 2
    assert session["summaryId"] == "summary_s1"
    listed = client.call("get_all_summaries")
    assert (listed["count"], listed["total"]) == (1, 1)
    (summary,) = listed["summaries"]
    assert (summary["id"], summary["title"]) == ("summary_s1", session["title"])
    assert summary["memoryCount"] == 2
    for name in ("quality", "productivity", "impact", "complexity"):
        assert type(summary[name]) is int
        assert 0 <= summary[name] <= 100


@requirement("journal/sessions/batch", "journal/considered/batch", "journal/summarizing/active")
def test_all_but_the_session_being_written_are_summarised(client: Client) -> None:
    for session in ("s1", "s2", "s3"):
        write(client, session, f"what is in {session}", "more")
    write(client, "session_own", "what am I doing")
    done = client.call("summarize_sessions")
    assert {each["sessionId"] for each in done["sessions"]} == {"s1", "s2", "s3"}
    assert client.call("summarize_sessions")["processed"] == 0
    own = client.call("summarize_sessions", sessionId="session_own")
    assert own["processed"] == 1


@requirement("journal/summarizing/grown")
def test_a_session_that_grew_is_summarised_again(client: Client) -> None:
    write(client, "s1", "first")
    client.call("summarize_sessions")
    write(client, "s1", "second")
    done = client.call("summarize_sessions")
    assert [each["memoryCount"] for each in done["sessions"]] == [2]
    assert client.call("get_all_summaries")["total"] == 1


@requirement("journal/calls/unknown-summarized")
def test_an_unknown_session_cannot_be_summarised(client: Client) -> None:
    name, message = client.refused("summarize_sessions", sessionId="nosuch")
    assert name == "Session not found"
    assert "nosuch" in message


@requirement("journal/summarizing/sampling")
def test_the_clients_model_writes_the_summary_where_it_is_offered(client: Client) -> None:
    asked: list[str] = []

    def ask(system: str, prompt: str, max_tokens: int) -> str:
        asked.append(prompt)
        return told()

    write(client, "s1", "the boiler is cold")
    done = client.asking(ask).call("summarize_sessions", sessionId="s1")
    assert [each["title"] for each in done["sessions"]] == ["Mend the boiler"]
    (summary,) = client.call("get_all_summaries")["summaries"]
    assert "the boiler is cold" in asked[0]
    assert summary["category"] == "bugfix"
    assert summary["quality"] == 90


@requirement("journal/summarizing/built-in", "journal/summarizing/rules")
def test_where_the_client_declines_the_built_in_summarizer_says_that_it_wrote(
    client: Client,
) -> None:
    def ask(system: str, prompt: str, max_tokens: int) -> str:
        raise Unanswered("the user said no")

    write(client, "s1", "the boiler is cold and the pump makes a noise")
    client.asking(ask).call("summarize_sessions", sessionId="s1")
    (declined,) = client.call("get_all_summaries")["summaries"]
    client.call("delete_all_summaries")
    client.call("summarize_sessions", sessionId="s1")
    (plain,) = client.call("get_all_summaries")["summaries"]
    for each in (declined, plain):
        assert "built-in" in each["madeBy"]
        assert {"quality", "productivity", "impact", "complexity"} <= set(each["reasons"])
    assert [declined[key] for key in ("title", "summary", "quality")] == [
        plain[key] for key in ("title", "summary", "quality")
    ]


@requirement(
    "journal/summaries/listed",
    "journal/summaries/by-category",
    "journal/calls/unknown-category",
    "journal/considered/pagination",
)
def test_summaries_are_listed_newest_first_page_by_page_and_by_category(client: Client) -> None:
    def ask(system: str, prompt: str, max_tokens: int) -> str:
        return told(category="feature" if "odd" in prompt else "bugfix")

    asking = client.asking(ask)
    for number in range(6):
        write(client, f"s{number}", "odd" if number % 2 else "even")
        asking.call("summarize_sessions", sessionId=f"s{number}")
    listed = client.call("get_all_summaries")
    ids = [each["sessionId"] for each in listed["summaries"]]
    assert ids == [f"s{number}" for number in (5, 4, 3, 2, 1, 0)]
    page = client.call("get_all_summaries", limit=2, offset=1)
    assert [each["sessionId"] for each in page["summaries"]] == ["s4", "s3"]
    assert (page["count"], page["total"]) == (2, 6)
    odd = client.call("get_all_summaries", category="feature")
    assert {each["sessionId"] for each in odd["summaries"]} == {"s1", "s3", "s5"}
    assert odd["total"] == 3
    for tool, more in (("get_all_summaries", {}), ("query_summaries", {"query": "boiler"})):
        name, message = client.refused(tool, category="cooking", **more)
        assert name == "Invalid arguments"
        assert "bugfix" in message


@requirement("journal/summaries/query")
def test_summaries_are_found_by_meaning_and_by_category(client: Client) -> None:
    def ask(system: str, prompt: str, max_tokens: int) -> str:
        topic = "boiler" if "boiler" in prompt else "harbour"
        category = "bugfix" if topic == "boiler" else "analysis"
        return told(title=f"The {topic}", summary=f"All about the {topic}.", category=category)

    for topic in ("boiler", "harbour"):
        write(client, topic, f"look at the {topic}")
        client.asking(ask).call("summarize_sessions", sessionId=topic)
    found = client.call("query_summaries", query="harbour")["results"]
    assert found[0]["sessionId"] == "harbour"
    assert found[0]["relevanceScore"] == pytest.approx(1 / (1 + found[0]["distance"]))
    found = client.call("query_summaries", query="harbour", category="bugfix")["results"]
    assert [each["sessionId"] for each in found] == ["boiler"]
    found = client.call("query_summaries", query="boiler", category="bugfix")["results"]
    assert [each["sessionId"] for each in found] == ["boiler"]
    assert client.call("query_summaries", query="harbour", nResults=1)["count"] == 1


@requirement("journal/summaries/delete", "journal/results/delete")
def test_all_summaries_are_deleted_and_the_turns_stay(client: Client) -> None:
    for session in ("s1", "s2"):
        write(client, session, "one", "two")
    client.call("summarize_sessions")
    done = client.call("delete_all_summaries")
    assert done["deleted"] == 2
    assert "2 summaries" in done["message"]
    assert client.call("get_all_summaries")["total"] == 0
    assert client.call("delete_all_summaries")["deleted"] == 0
    assert client.prompts("s1") == ["one", "two"]
    assert client.call("summarize_sessions")["processed"] == 2


def test_an_agent_deletes_its_own_summaries_and_says_what_stays(client: Client) -> None:
    write(client, "s1", "one")
    write(client, "s2", "two")
    client.by(name="bob").call("summarize_sessions", sessionId="s1")
    ana = client.by(name="ana")
    ana.call("summarize_sessions", sessionId="s2")
    done = ana.call("delete_all_summaries")
    assert done["deleted"] == 1
    assert "1 stay" in done["message"]
    assert client.by(role=Role.HUMAN).call("delete_all_summaries")["deleted"] == 1


@requirement("journal/summarizing/failing")
def test_one_failing_session_is_told_and_does_not_stop_the_rest(client: Client) -> None:
    for session in ("s1", "s2", "s3"):
        write(client, session, "one")
    # As another process has it that is at that session just now.
    with client.world.app.infrastructure.locks.hold("summary\0default\0summary_s2"):
        done = client.call("summarize_sessions")
        assert {each["sessionId"] for each in done["sessions"]} == {"s1", "s3"}
        (failed,) = done["failed"]
        assert failed["sessionId"] == "s2"
        assert failed["reason"].endswith(".")
        assert client.refused("summarize_sessions", sessionId="s2")[0] == "Conflict"
    assert client.call("summarize_sessions")["processed"] == 1
