"""How many of our own frames a call passes between the SDK's handler and the service's method."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import anyio.from_thread
import pytest
from mcp.client import Client

import minutebook
from minutebook.serve.contracts.knowledge import knowledge
from minutebook.serve.dispatch import Dispatcher
from minutebook.serve.protocol.server import build_server
from tests.world import World

MOST_FRAMES = 7
"""From `Tools.call` to the service's method, both counted."""

OURS = str(Path(minutebook.__file__).parent)


def awaiting(coroutine: Any) -> Iterator[str]:
    """Our functions among those that await one another, outermost first."""
    while coroutine is not None and hasattr(coroutine, "cr_code"):
        if coroutine.cr_code.co_filename.startswith(OURS):
            yield coroutine.cr_code.co_qualname
        coroutine = coroutine.cr_await


def walk() -> list[str]:
    """Our functions on the way to the one that asks: of the event loop's task, then of the thread."""

    def waiting() -> list[list[str]]:
        return [list(awaiting(task.get_coro())) for task in asyncio.all_tasks()]

    [calling] = [each for each in anyio.from_thread.run_sync(waiting) if "Tools.call" in each]
    frame: FrameType | None = sys._getframe()
    inside: list[str] = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(OURS):
            inside.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return [*calling[calling.index("Tools.call") :], *reversed(inside)]


@contextmanager
def watched(path: str, name: str, note: Callable[[], None]) -> Iterator[None]:
    """Note each time that a function of ours begins, in any thread."""
    code = (OURS + path, name)

    def trace(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and (frame.f_code.co_filename, frame.f_code.co_qualname) == code:
            note()

    threading.setprofile(trace)
    try:
        yield
    finally:
        threading.setprofile(None)


@pytest.mark.parametrize(
    ("tool", "arguments", "path", "method"),
    [
        ("recall", {"query": "tea"}, "/memory/search/combined.py", "CombinedRecall.recall"),
        ("store_memory", {"content": "tea"}, "/memory/knowledge/memories.py", "Memories.store"),
        ("get_memory", {"id": "0" * 20}, "/memory/knowledge/memories.py", "Memories.read"),
    ],
)
def test_a_call_passes_few_frames(
    world: World, tool: str, arguments: dict[str, Any], path: str, method: str
) -> None:
    walks: list[list[str]] = []
    server = build_server(
        [knowledge()], Dispatcher(lambda: world.app, lambda context: world.caller)
    )

    async def talk() -> None:
        async with Client(server) as client:
            await client.call_tool(tool, arguments)

    with watched(path, method, lambda: walks.append(walk())):
        anyio.run(talk)
    (way,) = walks
    assert (way[0], way[-1]) == ("Tools.call", method)
    assert len(way) <= MOST_FRAMES, way
