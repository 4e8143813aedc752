"""What a call and its client say to each other over HTTP while the call goes on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest

from tests.constants import with_constants
from tests.features.http.speaking import Server, call, served
from tests.features.journal.test_stdio import REVISIONS, ask, model, write
from tests.world import wait_until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    # One call at a time: the client's part in it must not wait for its end.
    folder = tmp_path_factory.mktemp("served")
    with served(folder, **with_constants(folder, serve__limits__CALLS=1)) as one:
        yield one


@pytest.mark.parametrize("mode", REVISIONS)
def test_a_clients_model_is_asked_over_http(server: Server, mode: Any) -> None:
    asked: list[types.CreateMessageRequestParams] = []

    async def talk() -> None:
        async with server.client(
            "/mcp/journal", mode=mode, sampling_callback=model(asked)
        ) as client:
            await write(client, f"one-{mode}", f"two-{mode}")
            done = await ask(client, "summarize_sessions")
            assert [each["title"] for each in done["sessions"]] == ["Mend the boiler"] * 2

    anyio.run(talk)
    assert len(asked) == 2


def test_two_clients_in_sessions_have_journal_sessions_of_their_own(server: Server) -> None:
    said = {"prompt": "hello", "thought": "", "response": ""}

    async def talk() -> None:
        async with (
            server.client("/mcp/journal", mode="legacy") as one,
            server.client("/mcp/journal", mode="legacy") as other,
        ):
            first = await ask(one, "add_memory", **said)
            second = await ask(one, "add_memory", **said)
            third = await ask(other, "add_memory", **said)
            assert first["sessionId"] == second["sessionId"] != third["sessionId"]

    anyio.run(talk)


@pytest.mark.parametrize("mode", REVISIONS)
@pytest.mark.needs("code")
def test_a_call_that_the_client_gives_up_ends(server: Server, tmp_path: Path, mode: Any) -> None:
    folder = tmp_path / f"given-up-{mode}"
    folder.mkdir()
    for number in range(400):
        (folder / f"part_{number}.py").write_text("def part():\n    return 1\n" * 60)

    async def talk() -> None:
        async with server.client(mode=mode) as client:
            with anyio.CancelScope() as scope:

                async def give_up(
                    progress: float, total: float | None, message: str | None
                ) -> None:
                    scope.cancel()

                path = {"path": str(folder)}
                await client.call_tool("index_project", path, progress_callback=give_up)
            assert scope.cancelled_caught

    anyio.run(talk)
    # The only place is free as soon as the call has ended.
    wait_until(lambda: server.post("/mcp", call("get_status")).status_code != 429)
    project = f"given-up-{mode}"

    def status() -> str:
        asked = call("get_index_status", project_id=project)
        told: str = server.post("/mcp", asked).json()["result"]["structuredContent"]["status"]
        return told

    wait_until(lambda: status() != "indexing")
    assert status() == "failed"
