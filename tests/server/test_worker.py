"""Connections of one process: each has a session of its own, and leaves when it ends."""

from typing import Any

import anyio
import pytest
from mcp.client import Client

from minutebook.contracts.journal import journal
from minutebook.domain.errors import StoreClosed
from minutebook.domain.records import Kind
from minutebook.server.protocol import build_server
from minutebook.server.worker import Worker, new_session
from tests.server.test_journal_stdio import ask
from tests.world import World, everything

SAID = {"prompt": "hello", "thought": "", "response": ""}


def server(world: World) -> Any:
    return build_server([journal()], Worker(lambda: world.app, lambda context: world.caller))


def test_a_session_is_named_after_its_time_and_unlike_any_other() -> None:
    names = {new_session() for _ in range(1000)}
    assert len(names) == 1000
    assert all(name.startswith("session_1") for name in names)


def test_connections_to_one_server_have_a_session_each(world: World) -> None:
    async def talk() -> None:
        shared = server(world)
        async with (
            Client(shared, mode="legacy") as one,
            Client(shared, mode="legacy") as other,
        ):
            first = (await ask(one, "add_memory", **SAID))["sessionId"]
            second = (await ask(other, "add_memory", **SAID))["sessionId"]
            assert first != second
            assert (await ask(one, "add_memory", **SAID))["sessionId"] == first

    anyio.run(talk)


def test_a_stop_is_one_connections_and_one_that_ended_holds_nothing_open(world: World) -> None:
    async def talk() -> None:
        shared = server(world)
        async with Client(shared, mode="legacy") as one:
            async with Client(shared, mode="legacy") as other:
                for client in (one, other):
                    await ask(client, "healthcheck")
                assert (await ask(one, "stop_database"))["status"] == "stopped"
                assert (await ask(other, "healthcheck"))["status"] == "healthy"
                assert (await one.call_tool("get_all_summaries", {})).is_error
                assert world.app.store.count(Kind.TURN, everything("default")) == 0
                assert (await ask(one, "start_database"))["status"] == "started"
            assert (await ask(one, "stop_database"))["status"] == "stopped"
            with pytest.raises(StoreClosed):
                world.app.store.count(Kind.TURN, everything("default"))

    anyio.run(talk)
