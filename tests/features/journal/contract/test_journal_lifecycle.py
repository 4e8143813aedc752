"""healthcheck, start_database and stop_database, and what every other tool says meanwhile."""

import os
from typing import Any

import pytest

from minutebook import __version__
from minutebook.config import settings_with
from minutebook.record.errors import InvalidInput, StoreError
from minutebook.record.records import Role
from tests.features.journal.contract.journaled import CONTRACT, Client, check_shape
from tests.serve.contracts.requirements import requirement
from tests.serve.contracts.wrong import valid
from tests.world import World

GOVERNING = {"healthcheck", "start_database", "stop_database"}


@pytest.fixture
def client(world: World) -> Client:
    return Client(world).by(session="session_1")


@requirement("journal/healthcheck/confirms", "journal/results/health")
def test_a_healthy_store_is_told_with_its_counts(client: Client) -> None:
    client.add("one")
    health = client.call("healthcheck")
    assert (health["status"], health["version"]) == ("healthy", __version__)
    assert health["details"] == []
    process = health["database"]["process"]
    assert process == {
        "running": True,
        "pid": os.getpid(),
        "managed": True,
        "strategy": "embedded",
    }
    assert health["database"]["connection"] == {
        "connected": True,
        "collections": {
            "memories": {"name": "neo-agent-memory", "exists": True, "count": 1},
            "summaries": {"name": "neo-agent-sessions", "exists": True, "count": 0},
        },
    }
    assert health["features"] == {"summarization": True}


@requirement(
    "journal/lifecycle/starts",
    "journal/lifecycle/stops",
    "journal/results/lifecycle",
    "journal/lifecycle/embedded",
    "journal/considered/idempotent",
)
def test_the_database_is_stopped_and_started(client: Client) -> None:
    running = {"status": "already_running", "pid": os.getpid()}
    assert client.call("start_database").items() >= running.items()
    assert client.call("stop_database").items() >= {"status": "stopped", "pid": None}.items()
    assert client.call("stop_database").items() >= {"status": "not_running", "pid": None}.items()
    started = {"status": "started", "pid": os.getpid()}
    assert client.call("start_database").items() >= started.items()
    assert client.call("start_database").items() >= running.items()


@requirement("journal/lifecycle/after-stop")
@pytest.mark.parametrize("tool", sorted(set(CONTRACT.tools) - GOVERNING))
def test_after_a_stop_every_data_tool_says_so_until_the_start(client: Client, tool: str) -> None:
    client.add("one", "session_1")
    client.call("stop_database")
    given = valid("journal", tool)
    for arguments in (given, {}, {"query": 5}):
        name, message = client.refused(tool, **arguments)
        assert name == "Database connection failed"
        assert "start_database" in message
    health = client.call("healthcheck")
    assert health["status"] == "unhealthy"
    assert health["database"]["process"]["running"] is False
    assert health["database"]["connection"]["connected"] is False
    client.call("start_database")
    assert client.prompts("session_1") == ["one"]
    assert client.call("healthcheck")["status"] == "healthy"


def test_one_connections_stop_is_not_anothers(client: Client) -> None:
    other = client.by(session="session_2")
    for each in (client, other):
        client.world.app.database.acquire(each.world.caller.call.session)
    client.call("stop_database")
    other.add("still here")
    assert other.prompts("session_2") == ["still here"]
    assert client.refused("query_raw_memories", query="here")[0] == "Database connection failed"


def test_a_viewer_neither_starts_nor_stops_but_may_ask_how_it_is(client: Client) -> None:
    viewer = client.by(role=Role.VIEWER)
    for tool in ("start_database", "stop_database"):
        assert viewer.refused(tool)[0] == "Not allowed"
    assert viewer.call("healthcheck")["status"] == "healthy"


def test_the_other_contracts_of_a_connection_say_that_the_store_is_closed(client: Client) -> None:
    client.call("stop_database")
    assert "Database error" in client.world.refused("list_memories")
    client.call("start_database")
    assert client.world.ids("list_memories") == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StoreError("x: the disk is full"), "x: the disk is full."),
        (InvalidInput("summary_url", "needs summary_model as well"), "`summary_url`"),
    ],
)
def test_a_store_that_cannot_be_opened_is_told_as_promised(error: Any, said: str) -> None:
    unopened = CONTRACT.unopened("healthcheck")
    assert unopened is not None
    answer = unopened(error, settings_with().caller())
    told: Any = answer.content
    check_shape("healthcheck", told)
    assert told["status"] == "unhealthy"
    assert said in told["details"][0]
    assert [name for name in CONTRACT.tools if CONTRACT.unopened(name)] == ["healthcheck"]
