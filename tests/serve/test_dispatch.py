"""Connections of one process: each has a session of its own, and leaves when it ends."""

import gc
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from mcp.client import Client

from minutebook.config import settings_with
from minutebook.features.journal.contract import journal
from minutebook.record.caller import with_call
from minutebook.record.errors import StoreClosed
from minutebook.record.records import Turn
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.dispatch import Dispatcher, new_session
from minutebook.serve.protocol.server import build_server
from minutebook.store.disk.filelock import FileLock
from tests.features.journal.test_stdio import ask
from tests.world import World, everything

SAID = {"prompt": "hello", "thought": "", "response": ""}


def server(world: World) -> Any:
    return build_server([journal()], Dispatcher(lambda: world.app, lambda context: world.caller))


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
                    await ask(client, "get_all_summaries")
                assert (await ask(one, "stop_database"))["status"] == "stopped"
                assert (await ask(other, "healthcheck"))["status"] == "healthy"
                assert (await one.call_tool("get_all_summaries", {})).is_error
                assert world.store.count(Turn, everything("default")) == 0
                assert (await ask(one, "start_database"))["status"] == "started"
            assert (await ask(one, "stop_database"))["status"] == "stopped"
            with pytest.raises(StoreClosed):
                world.store.count(Turn, everything("default"))

    anyio.run(talk)


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[AppLoader]:
    """A store that nobody has opened yet."""
    opened = AppLoader(settings_with(home=tmp_path / "home", embedder="none"))
    yield opened
    opened.close()


def of(opening: AppLoader) -> Any:
    caller = settings_with().caller()
    return build_server([journal()], Dispatcher(opening, lambda context: caller))


def test_what_was_loaded_is_no_longer_looked_through_for_garbage(opening: AppLoader) -> None:
    gc.unfreeze()
    opening()
    assert gc.get_freeze_count() > 10_000


def test_health_as_the_first_call_waits_for_the_store_as_other_calls_do(
    tmp_path: Path, opening: AppLoader
) -> None:
    (tmp_path / "home").mkdir()
    other = FileLock(tmp_path / "home" / "minutebook.db-lock")
    other.acquire(0.0)
    told: list[dict[str, Any]] = []

    async def talk() -> None:
        async with Client(of(opening)) as client, anyio.create_task_group() as group:

            async def healthcheck() -> None:
                told.append(await ask(client, "healthcheck"))

            group.start_soon(healthcheck)
            for _ in range(50):
                # More than there are threads for calls that wait.
                group.start_soon(lambda: ask(client, "add_memory", **SAID))
            await anyio.sleep(0.3)
            was_told = bool(told)
            other.close()
        assert not was_told

    anyio.run(talk)
    (health,) = told
    assert health["database"]["process"]["running"] is True
    assert health["database"]["connection"]["connected"] is True
    assert opening().infrastructure.store.count(Turn, everything("default")) == 50


def test_a_store_that_cannot_be_opened_is_unhealthy_until_it_can(
    tmp_path: Path, opening: AppLoader
) -> None:
    (tmp_path / "home").write_text("no folder", encoding="utf-8")

    async def talk() -> None:
        async with Client(of(opening)) as client:
            refused = await client.call_tool("add_memory", SAID)
            assert "Database connection failed" in refused.content[0].text  # type: ignore[union-attr]
            health = await ask(client, "healthcheck")
            assert health["status"] == "unhealthy"
            assert "cannot be opened" in health["details"][0]
            assert "--home" in health["details"][0]
            assert health["features"] == {"summarization": False}
            (tmp_path / "home").unlink()
            # Nobody but who asks how it is has it tried again.
            health = await ask(client, "healthcheck")
            assert health["database"]["process"]["running"] is True
            assert health["database"]["connection"]["connected"] is True

    anyio.run(talk)


def test_health_opens_what_another_connection_stopped_and_not_what_its_own_did(
    world: World,
) -> None:
    async def talk() -> None:
        shared = server(world)
        async with Client(shared, mode="legacy") as one, Client(shared, mode="legacy") as other:
            await ask(one, "stop_database")
            assert (await ask(one, "healthcheck"))["status"] == "unhealthy"
            assert (await ask(other, "healthcheck"))["status"] == "healthy"
            assert (await ask(one, "healthcheck"))["status"] == "unhealthy"

    anyio.run(talk)


def test_a_store_that_cannot_be_opened_again_is_unhealthy(world: World, tmp_path: Path) -> None:
    database = tmp_path / "one" / "minutebook.db"

    async def talk() -> None:
        async with Client(server(world)) as one, Client(server(world)) as other:
            await ask(one, "stop_database")
            kept = database.read_bytes()
            database.write_bytes(b"no database" * 1000)
            assert (await other.call_tool("get_all_summaries", {})).is_error
            health = await ask(other, "healthcheck")
            assert health["status"] == "unhealthy"
            assert "not a database" in health["details"][0]
            database.write_bytes(kept)
            await ask(other, "get_all_summaries")
            assert (await ask(other, "healthcheck"))["status"] == "healthy"

    anyio.run(talk)


UNTOLD = SimpleNamespace(client_params=None)
"""The session of a client that does not say what it is."""


@pytest.mark.parametrize("id", ["x\n2026 INFO all is well", "x" * 65, "", "ümlaut", 10**70])
def test_an_id_that_cannot_stand_in_a_line_is_named_by_its_digest(world: World, id: Any) -> None:
    worker = Dispatcher(lambda: world.app, lambda context: with_call(world.caller, session="s"))
    asking = worker.caller(SimpleNamespace(request_id=id, session=UNTOLD, request=None))
    _, _, named = asking.call.request.partition("-")
    assert re.fullmatch("[0-9a-f]{16}", named)


def test_an_id_that_can_stand_in_a_line_is_shown(world: World) -> None:
    worker = Dispatcher(lambda: world.app, lambda context: with_call(world.caller, session="s"))
    asking = worker.caller(SimpleNamespace(request_id="call:7", session=UNTOLD, request=None))
    assert asking.call.request.endswith("-call:7")
