"""The code tools as a client meets them: progress, cancelling, and the contract's own examples."""

import json
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from tests.line_client import LineClient
from tests.serve.contracts.requirements import requirement
from tests.serve.stdio.speaking import parameters, serving

CODE = "def boil_{0}():\n    return {0}\n\n\ndef pour_{0}():\n    return -{0}\n"


def many(root: Path, count: int) -> Path:
    root.mkdir()
    for number in range(count):
        (root / f"{number:04}.py").write_text(CODE.format(number))
    return root


def call(pipe: LineClient, id: int, tool: str, token: str | None = None, **arguments: Any) -> None:
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if token is not None:
        params["_meta"] = {"progressToken": token}
    pipe.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def until_answered(pipe: LineClient, id: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Read up to the answer of a call: the notifications before it, and the answer."""
    told = []
    while (message := pipe.read()).get("id") != id:
        told.append(message)
    return told, message


@pytest.mark.thorough
@requirement("knowledge/code/progress")
def test_progress_is_told_to_whoever_asks_for_it(tmp_path: Path) -> None:
    root = many(tmp_path / "kettle", 500)
    with serving(tmp_path / "home", MINUTEBOOK_EMBEDDER="none") as pipe:
        pipe.handshake("2025-06-18")
        call(pipe, 1, "index_project", token="t", path=str(root))
        told, answer = until_answered(pipe, 1)
        assert answer["result"]["structuredContent"]["files_indexed"] == 500
        assert {message["method"] for message in told} == {"notifications/progress"}
        params = [message["params"] for message in told]
        assert {each["progressToken"] for each in params} == {"t"}
        assert {each["total"] for each in params} == {1.0}
        parts = [each["progress"] for each in params]
        assert parts == sorted(set(parts))
        assert 0 < parts[-1] < 1
        call(pipe, 2, "index_project", path=str(root))
        assert until_answered(pipe, 2)[0] == []


@pytest.mark.thorough
@requirement("knowledge/code/progress")
def test_a_cancelled_call_leaves_an_index_that_the_next_completes(tmp_path: Path) -> None:
    root = many(tmp_path / "kettle", 1000)
    with serving(tmp_path / "home", MINUTEBOOK_EMBEDDER="none") as pipe:
        pipe.handshake("2025-06-18")
        call(pipe, 1, "index_project", token="t", path=str(root))
        assert pipe.read()["method"] == "notifications/progress"
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
        pipe.send({"jsonrpc": "2.0", **cancelled})
        state = {"status": "indexing"}
        id = 2
        while state["status"] == "indexing":
            call(pipe, id, "get_index_status", project_id="kettle")
            _, answer = until_answered(pipe, id)
            state = answer["result"]["structuredContent"]
            id += 1
        assert state["status"] == "failed"
        assert "interrupted" in state["reason"]
        call(pipe, id, "index_project", path=str(root))
        _, answer = until_answered(pipe, id)
        assert answer["result"]["structuredContent"]["files_indexed"] == 1000
        call(pipe, id + 1, "get_index_status", project_id="kettle")
        _, answer = until_answered(pipe, id + 1)
        status = answer["result"]["structuredContent"]
        assert (status["status"], status["total_chunks"]) == ("completed", 2000)


def parts_of_the_library(folder: Path) -> tuple[Path, Path]:
    """Copy two modules that read JSON, and the beginning of the one that reads TOML."""
    library = Path(sysconfig.get_path("stdlib"))
    json_folder, toml_folder = folder / "json", folder / "tomllib"
    for each in (json_folder, toml_folder):
        each.mkdir(parents=True)
    for name in ("decoder.py", "scanner.py"):
        shutil.copy(library / "json" / name, json_folder)
    text = (library / "tomllib" / "_parser.py").read_text(encoding="utf-8")
    beginning, _, _ = text.partition("\nclass Flags:")
    (toml_folder / "_parser.py").write_text(beginning, encoding="utf-8")
    return json_folder, toml_folder


@pytest.mark.thorough
@pytest.mark.timeout(300)
def test_the_standard_library_is_indexed_and_found_by_a_real_client(tmp_path: Path) -> None:
    """A part of it, with the model in the box, through every code tool."""
    json_folder, toml_folder = parts_of_the_library(tmp_path / "library")
    heard: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def talk() -> None:
        async with Client(parameters(tmp_path / "home")) as client:

            async def ask(tool: str, **given: Any) -> Any:
                result = await client.call_tool(tool, given)
                assert not result.is_error, result.content
                assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
                return result.structured_content

            await client.call_tool(
                "index_project", {"path": str(json_folder)}, progress_callback=on_progress
            )
            other = await ask("index_project", path=str(toml_folder))
            assert (other["project_id"], other["chunks_created"] > 5) == ("tomllib", True)
            with anyio.fail_after(200):
                while (await ask("get_index_status", project_id="json"))["status"] != "completed":
                    await anyio.sleep(0.2)
                while (await ask("get_index_status", project_id="tomllib"))[
                    "status"
                ] != "completed":
                    await anyio.sleep(0.2)
            assert await ask("list_projects") == {"projects": ["json", "tomllib"], "count": 2}

            async def best(query: str, **more: Any) -> list[tuple[str, str]]:
                results = (await ask("search_code", query=query, **more))["results"]
                return [(each["file_path"], each["name"]) for each in results]

            assert (await best("JSONDecoder.raw_decode"))[0] == (
                "decoder.py",
                "JSONDecoder.raw_decode",
            )
            assert ("_parser.py", "loads") in (await best("parse config toml"))[:3]
            where = await best("where are unicode escapes of strings decoded", project_id="json")
            assert "decoder.py" in {path for path, _ in where[:3]}
            recalled = await ask(
                "recall", query="indentation of output", include_code=True, project_id="json"
            )
            assert recalled["code_count"] == len(recalled["results"]) > 0
            deleted = await ask("delete_project", project_id="tomllib")
            assert deleted["chunks_deleted"] == other["chunks_created"]
            assert (await ask("list_projects"))["projects"] == ["json"]

    anyio.run(talk)
    assert heard == sorted(heard)
