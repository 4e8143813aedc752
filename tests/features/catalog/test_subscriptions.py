"""What is watched, and who is told of it: nobody keeps the others from hearing."""

from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from minutebook.features.catalog.contract import catalog
from minutebook.serve.dispatch import Dispatcher
from minutebook.serve.limits import WATCHED_RESOURCES
from minutebook.serve.protocol.server import build_server
from minutebook.serve.protocol.subscriptions import Watch, _tell_all, _Watcher
from tests.world import World


def worker(world: World) -> Dispatcher:
    return Dispatcher(lambda: world.app, lambda context: world.caller)


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_a_connection_watches_so_many_resources_and_no_more(world: World) -> None:
    async def talk() -> None:
        server: Any = build_server([catalog()], worker(world))
        async with Client(server, mode="legacy") as client:
            for number in range(WATCHED_RESOURCES):
                await client.session.subscribe_resource(f"memory://{number:020}")
            await client.session.subscribe_resource(f"memory://{0:020}")
            with pytest.raises(MCPError, match=str(WATCHED_RESOURCES)):
                await client.session.subscribe_resource("memory://index")
            await client.session.unsubscribe_resource(f"memory://{0:020}")
            await client.session.subscribe_resource("memory://index")

    anyio.run(talk)


def test_who_does_not_read_what_they_are_told_keeps_nobody_waiting(world: World) -> None:
    async def talk() -> None:
        watch = Watch([catalog()], worker(world))
        told = [anyio.Event(), anyio.Event()]

        def telling(own: int) -> Any:
            async def tell(uri: str) -> None:
                told[own].set()
                # Done only if the other is told in the meantime.
                await told[1 - own].wait()
                done.append(own)

            return tell

        done: list[int] = []
        for own in (0, 1):
            watch._watchers.add(_Watcher(world.caller, telling(own), {"memory://index": "before"}))
        await _tell_all(await watch._compare())
        assert sorted(done) == [0, 1]

    anyio.run(talk)
