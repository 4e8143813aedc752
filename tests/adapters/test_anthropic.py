"""The memory tool, held to what the SDK's own tool on a disk answers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from minutebook.ask import Minutebook
from tests.adapters.conftest import library

library("anthropic")

from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool as OnDisk

from minutebook.adapters.anthropic import MinutebookAsyncMemoryTool, MinutebookMemoryTool

NOTES = "one\ntwo\nthree\nfour\nfive\nsix\ntwo\n"


@pytest.fixture
def tool(memory: Minutebook) -> MinutebookMemoryTool:
    return MinutebookMemoryTool(memory)


def answer(tool: Any, command: str, **given: Any) -> str:
    """What a model reads: the tool's answer, or its error."""
    try:
        return str(tool.call({"command": command, **given}))
    except ToolError as error:
        return f"error: {error}"


def create(tool: Any, path: str, text: str = NOTES) -> str:
    return answer(tool, "create", path=path, file_text=text)


SCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("create", {"path": "/memories/a.txt", "file_text": NOTES}),
    ("create", {"path": "/memories/a.txt", "file_text": "again"}),
    ("create", {"path": "/memories/deep/er/b.md", "file_text": "ünïcödé\r\n\ttab"}),
    ("create", {"path": "/memories/empty", "file_text": ""}),
    ("create", {"path": "/memories/deep", "file_text": "a folder"}),
    ("view", {"path": "/memories/a.txt"}),
    ("view", {"path": "/memories/a.txt", "view_range": [2, 4]}),
    ("view", {"path": "/memories/a.txt", "view_range": [5, -1]}),
    ("view", {"path": "/memories/a.txt", "view_range": [0, 1]}),
    ("view", {"path": "/memories/a.txt", "view_range": [9, 99]}),
    ("view", {"path": "/memories/deep/er/b.md"}),
    ("view", {"path": "/memories/empty"}),
    ("view", {"path": "/memories/none"}),
    ("view", {"path": "/memories/a.txt/none"}),
    ("str_replace", {"path": "/memories/a.txt", "old_str": "three", "new_str": "3\n3½"}),
    ("str_replace", {"path": "/memories/a.txt", "old_str": "two", "new_str": "2"}),
    ("str_replace", {"path": "/memories/a.txt", "old_str": "none", "new_str": "2"}),
    ("str_replace", {"path": "/memories/a.txt", "old_str": "six\n", "new_str": ""}),
    ("str_replace", {"path": "/memories/none", "old_str": "a", "new_str": "b"}),
    ("str_replace", {"path": "/memories/deep", "old_str": "a", "new_str": "b"}),
    ("insert", {"path": "/memories/a.txt", "insert_line": 0, "insert_text": "zero\n"}),
    ("insert", {"path": "/memories/a.txt", "insert_line": 2, "insert_text": "1½"}),
    ("insert", {"path": "/memories/a.txt", "insert_line": 99, "insert_text": "x"}),
    ("insert", {"path": "/memories/a.txt", "insert_line": -1, "insert_text": "x"}),
    ("insert", {"path": "/memories/empty", "insert_line": 0, "insert_text": "x"}),
    ("insert", {"path": "/memories/none", "insert_line": 0, "insert_text": "x"}),
    ("view", {"path": "/memories/a.txt"}),
    ("rename", {"old_path": "/memories/a.txt", "new_path": "/memories/new/a.txt"}),
    ("rename", {"old_path": "/memories/a.txt", "new_path": "/memories/b.txt"}),
    ("rename", {"old_path": "/memories/empty", "new_path": "/memories/new/a.txt"}),
    ("rename", {"old_path": "/memories/deep", "new_path": "/memories/deeper"}),
    ("rename", {"old_path": "/memories", "new_path": "/memories/x"}),
    ("view", {"path": "/memories/new/a.txt"}),
    ("view", {"path": "/memories/deeper/er/b.md"}),
    ("view", {"path": "/memories/deep/er/b.md"}),
    ("delete", {"path": "/memories/new/a.txt"}),
    ("delete", {"path": "/memories/new/a.txt"}),
    ("delete", {"path": "/memories/deeper"}),
    ("delete", {"path": "/memories/deeper/er/b.md"}),
    ("delete", {"path": "/memories"}),
    ("view", {"path": "/elsewhere"}),
]


def test_each_command_is_answered_as_the_sdks_own_tool_answers_it(
    tool: MinutebookMemoryTool, tmp_path: Path
) -> None:
    on_disk = OnDisk(str(tmp_path))
    for command, given in SCRIPT:
        assert answer(tool, command, **given) == answer(on_disk, command, **given), (command, given)


def test_a_folder_is_listed_two_levels_deep_with_sizes_and_without_what_is_hidden(
    tool: MinutebookMemoryTool,
) -> None:
    assert answer(tool, "view", path="/memories").splitlines()[1:] == ["0B\t/memories"]
    create(tool, "/memories/a.txt", "x" * 1536)
    create(tool, "/memories/b/c.txt", "é")
    create(tool, "/memories/b/d/e.txt", "x" * 10)
    create(tool, "/memories/.hidden", "x")
    create(tool, "/memories/b/.git/x", "x")
    assert answer(tool, "view", path="/memories/").splitlines() == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:",
        "1.5K\t/memories",
        "1.5K\t/memories/a.txt",
        "12B\t/memories/b/",
        "2B\t/memories/b/c.txt",
        "10B\t/memories/b/d/",
    ]
    assert "10B\t/memories/b/d/e.txt" in answer(tool, "view", path="/memories/b")


OUTSIDE = [
    "/etc/passwd",
    "memories/a.txt",
    "/memoriesfake/a.txt",
    "/memories/../etc/passwd",
    "/memories/a/../../etc/passwd",
    "/memories/..",
    "/memories/..%2fetc",
    "/memories/%2e%2e/etc",
    "/memories/%252e%252e%252fetc",
    "/memories/..\\etc",
    "/memories/a%5c..%5cetc",
    "/memories/a\0b",
    "/memories/a%00b",
    "/memories/a\nb",
    "",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_that_leads_out_is_refused_by_every_command(
    tool: MinutebookMemoryTool, memory: Minutebook, path: str
) -> None:
    create(tool, "/memories/a.txt")
    script: list[tuple[str, dict[str, Any]]] = [
        ("view", {"path": path}),
        ("create", {"path": path, "file_text": "x"}),
        ("str_replace", {"path": path, "old_str": "one", "new_str": "1"}),
        ("insert", {"path": path, "insert_line": 0, "insert_text": "x"}),
        ("delete", {"path": path}),
        ("rename", {"old_path": path, "new_path": "/memories/b"}),
        ("rename", {"old_path": "/memories/a.txt", "new_path": path}),
    ]
    for command, given in script:
        assert answer(tool, command, **given).startswith("error: Path "), command
    assert memory.list_memories().total == 1


def test_spellings_of_one_path_are_one_file(tool: MinutebookMemoryTool) -> None:
    create(tool, "/memories//a/./b.txt", "x")
    assert answer(tool, "view", path="/memories/a/b.txt/").endswith("\tx")
    assert "already exists" in create(tool, "/memories/a/b.txt")
    assert "is not a directory" in create(tool, "/memories/a/b.txt/c")
    moved = answer(tool, "rename", old_path="/memories/a", new_path="/memories/a/c")
    assert moved == "error: Cannot move /memories/a into itself"


def test_each_edit_of_a_file_is_a_version(tool: MinutebookMemoryTool, memory: Minutebook) -> None:
    create(tool, "/memories/a.txt", "tea")
    answer(tool, "str_replace", path="/memories/a.txt", old_str="tea", new_str="coffee")
    (kept,) = memory.list_memories().memories
    assert [version.content for version in memory.history(kept.id)] == ["tea", "coffee"]
    assert [hit.text for hit in memory.recall("coffee")] == ["coffee"]


def test_what_the_memory_refuses_is_told_to_the_model(tool: MinutebookMemoryTool) -> None:
    assert "must be at most 102400 bytes" in create(tool, "/memories/a.txt", "x" * 102_401)


def test_everything_can_be_cleared(tool: MinutebookMemoryTool, memory: Minutebook) -> None:
    memory.remember("Not a file")
    create(tool, "/memories/a.txt")
    assert tool.clear_all_memory() == "All memory cleared"
    assert [each.content for each in memory.list_memories().memories] == ["Not a file"]


def test_the_async_tool_does_the_same(memory: Minutebook) -> None:
    tool = MinutebookAsyncMemoryTool(memory)
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}

    refused: list[str] = []
    edits: list[tuple[str, dict[str, Any]]] = [
        ("insert", {"path": "/memories/a.txt", "insert_line": 0, "insert_text": "0"}),
        ("str_replace", {"path": "/memories/a.txt", "old_str": "0", "new_str": "1"}),
        ("rename", {"old_path": "/memories/a.txt", "new_path": "/memories/b.txt"}),
        ("delete", {"path": "/memories/b.txt"}),
    ]

    async def run() -> None:
        for command, given in SCRIPT[:4]:
            try:
                await tool.call({"command": command, **given})
            except ToolError as error:
                refused.append(str(error))
        said = await tool.call({"command": "view", "path": "/memories"})
        assert "a.txt" in str(said)
        for command, given in edits:
            assert await tool.call({"command": command, **given})
        assert await tool.clear_all_memory() == "All memory cleared"

    asyncio.run(run())
    assert refused == ["File /memories/a.txt already exists"]
    assert memory.list_memories().total == 0
