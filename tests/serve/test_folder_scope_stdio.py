"""What is stored in a project's folder, as real clients in clones, worktrees and other folders meet it."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from pydantic import FileUrl

from tests.config.folders.test_finding import git, repository, with_commit
from tests.line_client import INITIALIZED, initialize, tool_call
from tests.serve.stdio.speaking import command, serving

OFFLINE = {"MINUTEBOOK_EMBEDDER": "none", "MINUTEBOOK_SCOPE_FROM_FOLDER": "on"}


@asynccontextmanager
async def working_in(
    folder: Path,
    home: Path,
    *options: str,
    roots: Callable[[], list[Path]] | None = None,
    **more: str,
) -> AsyncIterator[Client]:
    program, *arguments = command(home, *options)
    server = StdioServerParameters(
        command=program, args=arguments, env={**OFFLINE, "HOME": str(home), **more}, cwd=folder
    )

    async def named(context: Any) -> types.ListRootsResult:
        assert roots is not None
        return types.ListRootsResult(
            roots=[types.Root(uri=FileUrl(each.as_uri())) for each in roots()]
        )

    callback = None if roots is None else named
    async with Client(server, mode="legacy", list_roots_callback=callback) as client:
        yield client


async def store(client: Client, content: str) -> str:
    answer = await client.call_tool("store_memory", {"content": content})
    assert answer.structured_content is not None, answer
    return str(answer.structured_content["id"])


async def found(client: Client, query: str = "kettle") -> set[str]:
    answer = await client.call_tool("search_text", {"query": query})
    assert answer.structured_content is not None, answer
    return {each["content"] for each in answer.structured_content["results"]}


def test_what_is_stored_in_a_project_is_found_in_its_clones_and_worktrees_alone(
    tmp_path: Path,
) -> None:
    one = with_commit(repository(tmp_path / "a" / "api"))
    other = repository(tmp_path / "b" / "api", "git@github.com:acme/api")
    git(one, "worktree", "add", "-q", "../side")
    third = repository(tmp_path / "third", None)
    outside = tmp_path / "outside"
    outside.mkdir()
    home = tmp_path / "home"

    async def talk() -> None:
        async with AsyncExitStack() as stack:
            enter = stack.enter_async_context
            here = await enter(working_in(one, home))
            clone = await enter(working_in(other, home))
            side = await enter(working_in(tmp_path / "a" / "side", home))
            away = await enter(working_in(third, home))
            nowhere = await enter(working_in(outside, home))
            id = await store(here, "the kettle of the project")
            await store(nowhere, "the kettle of all")
            await store(away, "the kettle of the third")
            own = {"the kettle of the project", "the kettle of all"}
            assert await found(here) == await found(clone) == await found(side) == own
            assert await found(away) == {"the kettle of the third", "the kettle of all"}
            assert await found(nowhere) == {"the kettle of all"}
            # Who names a record gets it wherever they work.
            read = await away.call_tool("get_memory", {"id": id})
            assert not read.is_error
            async with working_in(third, home, "--repository", "github.com/acme/api") as named:
                assert await found(named) == own
            async with working_in(third, home, "--scope-from-folder", "off") as all_:
                assert len(await found(all_)) == 3

    anyio.run(talk)


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_roots_name_the_project_where_the_working_directory_does_not(tmp_path: Path) -> None:
    api, web = (
        repository(tmp_path / "api"),
        repository(tmp_path / "web", "git@example.org:acme/web"),
    )
    home, outside = tmp_path / "home", tmp_path / "outside"
    outside.mkdir()
    roots = [outside, api]

    async def talk() -> None:
        async with working_in(outside, home, roots=lambda: roots) as client:
            await store(client, "the kettle of api")
            roots[:] = [web]
            await client.send_roots_list_changed()
            with anyio.fail_after(60):
                while await found(client) != set():
                    await anyio.sleep(0.02)
            await store(client, "the kettle of web")
            assert await found(client) == {"the kettle of web"}
        async with working_in(api, home, roots=lambda: [web]) as client:
            assert await found(client) == {"the kettle of api"}

    anyio.run(talk)


def test_a_folder_that_cannot_be_read_is_told_once_and_stored_for_all(tmp_path: Path) -> None:
    folder, home = repository(tmp_path / "api"), tmp_path / "home"
    (folder / ".minutebook.toml").write_text('repository = "acme/secrets"\norganization = "x"\n')

    async def talk() -> None:
        async with working_in(folder, home) as client:
            answers = [
                await client.call_tool("store_memory", {"content": f"kettle {n}"}) for n in range(2)
            ]
            told = [json.dumps(each.model_dump(mode="json")) for each in answers]
            assert ["minutebook where" in each for each in told] == [True, False]
            assert "secrets" not in told[0]
        async with working_in(tmp_path, home) as client:
            assert await found(client) == {"kettle 0", "kettle 1"}

    anyio.run(talk)


@pytest.mark.thorough
def test_clients_of_one_daemon_work_each_in_their_own_folder(tmp_path: Path) -> None:
    api, web = repository(tmp_path / "api"), repository(tmp_path / "web", None)
    home = tmp_path / "home"

    def started(folder: Path) -> StdioServerParameters:
        arguments = ["-m", "minutebook", "serve", "--home", str(home)]
        return StdioServerParameters(
            command=sys.executable, args=arguments, env=OFFLINE, cwd=folder
        )

    async def talk() -> None:
        async with Client(started(api)) as here, Client(started(web)) as there:
            await store(here, "the kettle of api")
            await store(there, "the kettle of web")
            assert await found(here) == {"the kettle of api"}
            assert await found(there) == {"the kettle of web"}

    try:
        anyio.run(talk)
    finally:
        stop = [sys.executable, "-m", "minutebook", "daemon", "stop", "--home", str(home)]
        subprocess.run(stop, check=False, capture_output=True)


@pytest.mark.parametrize(
    "answer", [{"result": {"roots": 7}}, {"error": {"code": 1, "message": ""}}]
)
def test_a_client_that_names_no_sound_roots_is_served_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path / "home", **OFFLINE) as pipe:
        capabilities: dict[str, Any] = {"roots": {"listChanged": True}}
        opening = initialize()
        opening["params"]["capabilities"] = capabilities
        pipe.send(opening)
        pipe.read()
        pipe.send(INITIALIZED)
        pipe.send(tool_call(1, "store_memory", {"content": "Tea at five"}))
        asked = pipe.read()
        assert asked["method"] == "roots/list"
        pipe.send({"jsonrpc": "2.0", "id": asked["id"], **answer})
        assert not pipe.read()["result"]["isError"]
