"""What is answered without the SDK is answered as by the SDK."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from minutebook.config import settings_with
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.protocol.tools import Tools
from tests.line_client import INITIALIZED, initialize, tool_call
from tests.serve.stdio.on_socket import connected

PING = {"jsonrpc": "2.0", "id": "p", "method": "ping"}


@pytest.fixture(scope="module")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppLoader]:
    settings = settings_with(home=tmp_path_factory.mktemp("home"), embedder="none")
    opened = AppLoader(settings)
    yield opened
    opened.close()


@pytest.fixture
def by_sdk(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tools that the SDK calls."""
    called: list[str] = []
    call = Tools.call

    async def noting(self: Tools, context: Any, params: Any) -> Any:
        called.append(params.name)
        return await call(self, context, params)

    monkeypatch.setattr(Tools, "call", noting)
    return called


def asked(number: int, tool: str, meta: Mapping[str, Any], **arguments: Any) -> dict[str, Any]:
    call = tool_call(number, tool, arguments)
    return {**call, "params": {**call["params"], "_meta": meta}}


REQUESTS = (
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    PING,
    tool_call(2, "list_memories", {"limit": 1}),
    tool_call(3, "get_memory", {"id": "0" * 20}),
    tool_call(4, "get_memory", {}),
    tool_call(5, "list_memories", {"limit": "many"}),
    tool_call(6, "search.text", {"query": "caf\u00e9 \U0001f680"}),
    asked(7, "list_memories", {"progressToken": 1, "vendor/name": {"a": 1}}, limit=1),
    {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "list_projects"}},
)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_an_answer_is_the_one_of_the_sdk(
    opening: AppLoader, by_sdk: list[str], revision: str
) -> None:
    answers = []
    for is_plain in (True, False):
        with connected(opening) as wire:
            # Whoever begins with something else is served by the SDK.
            begun = [] if is_plain else [wire.ask(PING)]
            begun.append(wire.ask(initialize(revision)))
            wire.send(INITIALIZED)
            answers.append([begun[-1], *(wire.ask(each) for each in REQUESTS)])
        assert (by_sdk == []) is is_plain
    assert answers[0] == answers[1]


def test_the_sdk_goes_on_where_plain_answers_end(opening: AppLoader, by_sdk: list[str]) -> None:
    with connected(opening) as wire:
        wire.ask(initialize("2025-06-18"))
        wire.send(INITIALIZED)
        assert wire.ask(tool_call(1, "list_memories", {}))["id"] == 1
        assert (
            "prompts" in wire.ask({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"})["result"]
        )
        assert wire.ask(tool_call(3, "no_such_tool", {}))["error"]["code"] == -32602
        assert by_sdk == ["no_such_tool"]
        assert wire.ask(tool_call(4, "list_memories", {}))["id"] == 4
        envelope = {"io.modelcontextprotocol/related-task": {"taskId": "1"}}
        assert wire.ask(asked(5, "list_memories", envelope))["id"] == 5
        assert by_sdk == ["no_such_tool", "list_memories"]


def test_a_cancelled_call_has_no_answer(opening: AppLoader) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    with connected(opening) as wire:
        wire.ask(initialize("2025-06-18"))
        wire.send(INITIALIZED, tool_call(1, "list_memories", {}), cancel, PING)
        assert [json.loads(each)["id"] for each in wire.end().splitlines()] == ["p"]
