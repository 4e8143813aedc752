"""What the proxy answers by itself is what the server would have answered."""

import base64
import json
import socket
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import InitializeRequestParams, methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from minutebook.config import load
from minutebook.record.errors import InvalidInput
from minutebook.serve import invocation
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.contracts.announced import MODERN_VERSION, announced
from minutebook.serve.contracts.registry import CONTRACTS, open_contracts
from minutebook.serve.daemon.client import early_answers
from minutebook.serve.stdio.early import VERSIONS, EarlyAnswers
from minutebook.serve.stdio.in_process import connection_server
from minutebook.serve.stdio.transport import serve_on
from tests.examples import parametrize_in_part
from tests.line_client import INITIALIZED
from tests.serve.stdio.speaking import INITIALIZE
from tests.test_guides import ROOT

TOOLS = {"jsonrpc": "2.0", "id": "tools", "method": "tools/list"}
PING = {"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"_meta": {"progressToken": 1}}}
TOGETHER = [
    pytest.param(names, marks=pytest.mark.needs(*(set(names) - {"knowledge"})))
    for names in (
        ["knowledge", "ledger"],
        ["catalog", "knowledge"],
        ["journal", "ledger", "knowledge"],
    )
]


class Server:
    """The real server of some contracts, on a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")

    def asks(self, message: dict[str, Any]) -> dict[str, Any]:
        self.hears(message)
        answer: dict[str, Any] = json.loads(self._lines.readline())
        return answer

    def hears(self, message: dict[str, Any]) -> None:
        self._connection.sendall(json.dumps(message).encode() + b"\n")


@contextmanager
def server(names: list[str], spelling: str, **options: str) -> Iterator[Server]:
    settings = load({"tool_names": spelling, **options}, {"MINUTEBOOK_EMBEDDER": "none"})
    contracts = open_contracts(names, read_only=settings.read_only, tools=settings.tools)
    built = connection_server(settings, contracts, AppLoader(settings), settings.caller())
    near, far = socket.socketpair()
    with near:
        work = threading.Thread(target=serve_on, args=(far, built, lambda: None))
        work.start()
        try:
            yield Server(near)
        finally:
            near.shutdown(socket.SHUT_WR)
            work.join()


def early(names: list[str], spelling: str = "contract") -> EarlyAnswers:
    found = announced(names, spelling)
    assert found is not None
    return EarlyAnswers(found)


def asked(answers: EarlyAnswers, message: dict[str, Any]) -> Any:
    answer = answers.answer(json.dumps(message).encode() + b"\n")
    return None if answer is None else json.loads(answer)


def initialize(**params: Any) -> dict[str, Any]:
    return {**INITIALIZE, "params": {**INITIALIZE["params"], **params}}


def test_the_revisions_with_a_handshake_are_those_of_the_sdk() -> None:
    assert VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS


@parametrize_in_part("spelling", ["contract", "safe"])
@pytest.mark.parametrize("names", [*([name] for name in CONTRACTS), *TOGETHER], ids=",".join)
def test_each_answer_is_the_servers_at_every_revision(names: list[str], spelling: str) -> None:
    for version in (*VERSIONS, "2026-07-28", "1999-01-01"):
        answers = early(names, spelling)
        begun = initialize(protocolVersion=version)
        with server(names, spelling) as real:
            assert asked(answers, begun) == real.asks(begun)
            real.hears(INITIALIZED)
            assert asked(answers, TOOLS) == real.asks(TOOLS)
            assert asked(answers, PING) == real.asks(PING)


@pytest.mark.parametrize(
    ("client", "has_uuid"),
    [("gemini-cli-mcp-client", False), ("Gemini Code", False), ("codex", True)],
)
@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
def test_a_client_of_gemini_is_shown_no_format_that_its_api_refuses(
    client: str, version: str, *, has_uuid: bool
) -> None:
    begun = initialize(protocolVersion=version, clientInfo={"name": client, "version": "1"})
    for name, has_some in (("catalog", True), ("governance", True), ("knowledge", False)):
        if name not in CONTRACTS:
            continue
        answers = early([name])
        with server([name], "contract") as real:
            assert asked(answers, begun) == real.asks(begun)
            real.hears(INITIALIZED)
            told = real.asks(TOOLS)
            assert asked(answers, TOOLS) == told
        assert ("uuid" in str([each["inputSchema"] for each in told["result"]["tools"]])) is (
            has_uuid and has_some
        )


def test_a_client_of_gemini_without_a_handshake_is_shown_none_either() -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "gemini-cli", "version": "1"},
    }
    for name in CONTRACTS:
        told = asked(early([name]), {**TOOLS, "params": {"_meta": meta}})
        assert "'format': 'uuid'" not in str(told)


@pytest.mark.needs("ledger")
@pytest.mark.parametrize(
    "options", [("--read-only",), ("--tools", "recall,record-decision"), ("--tools", "recall")]
)
def test_it_announces_those_tools_that_are_served(options: tuple[str, ...]) -> None:
    names = ["knowledge", "ledger"]
    found = invocation.read(["serve", *names, *options], {"MINUTEBOOK_HOME": "/nowhere"})
    assert found is not None
    answers = early_answers(found)
    assert answers is not None
    with server(names, "contract", **found.given) as real:
        assert asked(answers, INITIALIZE) == real.asks(INITIALIZE)
        real.hears(INITIALIZED)
        assert asked(answers, TOOLS) == real.asks(TOOLS)


def test_tools_that_there_are_not_are_announced_by_nobody() -> None:
    assert announced(["knowledge"], "contract", tools=["recal"]) is None
    assert announced(["knowledge"], "contract", read_only=True, tools=["store_memory"]) is None


@pytest.mark.parametrize("names", [["nothing"], ["catalog", "governance"], ["../catalog"], [""]])
def test_what_cannot_be_served_is_announced_by_nobody(names: list[str]) -> None:
    assert announced(names, "contract") is None
    with pytest.raises(InvalidInput):
        open_contracts(names)


@pytest.mark.parametrize("spelling", ["short", "", None, 1])
def test_a_spelling_that_is_none_is_left_to_the_server(spelling: object) -> None:
    assert announced(["knowledge"], spelling) is None


@pytest.mark.parametrize(
    ("capabilities", "info"),
    [
        # As Cursor, VS Code and Claude Code send them.
        (
            {"tools": True, "logging": False, "elicitation": {}, "roots": {"listChanged": False}},
            {"name": "cursor-vscode", "version": "1.0.0"},
        ),
        (
            {
                "roots": {"listChanged": True},
                "sampling": {},
                "elicitation": {"form": {}, "url": {}},
                "tasks": {
                    "list": {},
                    "cancel": {},
                    "requests": {"sampling": {"createMessage": {}}},
                },
                "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}},
            },
            {"name": "Visual Studio Code", "version": "1.109.0"},
        ),
        (
            {"roots": {}, "elicitation": {}},
            {
                "name": "claude-code",
                "title": "Claude Code",
                "version": "2.1.0",
                "websiteUrl": "https://claude.com/claude-code",
            },
        ),
    ],
)
def test_the_handshakes_of_well_known_clients_are_answered(
    capabilities: dict[str, Any], info: dict[str, str]
) -> None:
    begun = initialize(capabilities=capabilities, clientInfo=info, protocolVersion="2025-06-18")
    with server(["knowledge"], "contract") as real:
        assert asked(early(["knowledge"]), begun) == real.asks(begun)


MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"no JSON",
        b"[]",
        b'"ping"',
        b"\xff\xfe",
        json.dumps({**PING, "jsonrpc": "1.0"}).encode(),
        json.dumps({**PING, "id": None}).encode(),
        json.dumps({**PING, "id": True}).encode(),
        json.dumps({**PING, "id": 1.5}).encode(),
        json.dumps({**PING, "id": 10**30}).encode(),
        json.dumps({**PING, "id": "\ud800"}).encode(),
        json.dumps({**PING, "more": 1}).encode(),
        json.dumps({**PING, "params": []}).encode(),
        json.dumps({**PING, "params": MODERN}).encode(),
        json.dumps({**TOOLS, "params": MODERN}).encode(),
        json.dumps({**TOOLS, "params": {"cursor": "x"}}).encode(),
        json.dumps({**TOOLS, "params": {"_meta": {"progressToken": float("nan")}}}).encode(),
        json.dumps({**TOOLS, "method": "tools/call"}).encode(),
        json.dumps({**TOOLS, "method": "server/discover", "params": MODERN}).encode(),
        json.dumps(INITIALIZED).encode(),
        json.dumps(INITIALIZE).encode(),
        b"[" * 100_000,
    ],
)
def test_whatever_else_is_asked_is_left_to_the_server(line: bytes) -> None:
    answers = early(["knowledge"])
    assert asked(answers, INITIALIZE)
    assert answers.answer(line + b"\n") is None


@pytest.mark.parametrize("message", [PING, TOOLS])
def test_nothing_is_answered_before_the_handshake(message: dict[str, Any]) -> None:
    assert asked(early(["knowledge"]), message) is None


@pytest.mark.parametrize(
    "params",
    [
        {"protocolVersion": 1},
        {"capabilities": []},
        {"capabilities": {"roots": {"listChanged": "yes"}}},
        {"capabilities": {"sampling": 5}},
        {"capabilities": {"experimental": {"x": 5}}},
        {"clientInfo": {"name": "x"}},
        {"clientInfo": {"name": "x", "version": 1}},
        {"clientInfo": {"name": "x", "version": "1", "icons": 5}},
        {"_meta": {}},
    ],
)
def test_a_handshake_in_another_form_is_left_to_the_server(params: dict[str, Any]) -> None:
    assert asked(early(["knowledge"]), initialize(**params)) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda each: (
        st.lists(each, max_size=2) | st.dictionaries(st.text(max_size=4), each, max_size=2)
    ),
    max_leaves=4,
)
_NAMES = st.sampled_from(
    ["roots", "sampling", "elicitation", "tasks", "experimental", "extensions", "other"]
)
_INNER = st.sampled_from(
    [
        "listChanged",
        "form",
        "url",
        "context",
        "tools",
        "list",
        "cancel",
        "requests",
        "createMessage",
    ]
)
_NESTED: st.SearchStrategy[Any] = st.recursive(
    st.just({}) | st.booleans(),
    lambda each: st.dictionaries(_INNER, each, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(_NAMES, _NESTED | _JSON, max_size=4),
    st.dictionaries(
        st.sampled_from(["name", "version", "title", "description", "websiteUrl"]),
        st.text(max_size=4) | _JSON,
    ),
)
def test_what_is_answered_is_what_the_server_accepts(
    capabilities: dict[str, Any], info: dict[str, Any]
) -> None:
    begun = initialize(capabilities=capabilities, clientInfo={"name": "x", "version": "1", **info})
    if asked(early(["knowledge"]), begun) is not None:
        for version in VERSIONS:
            methods.validate_client_request("initialize", version, begun["params"])
        InitializeRequestParams.model_validate(begun["params"], by_name=False)


META = {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def modern(method: str, **meta: Any) -> dict[str, Any]:
    """A request of the revision without a handshake."""
    params = {"_meta": {f"io.modelcontextprotocol/{k}": v for k, v in meta.items()} or META}
    return {"jsonrpc": "2.0", "id": method, "method": method, "params": params}


@pytest.mark.parametrize("spelling", ["contract", "safe"])
@pytest.mark.parametrize("names", [*([name] for name in CONTRACTS), *TOGETHER], ids=",".join)
def test_what_is_discovered_is_the_servers(names: list[str], spelling: str) -> None:
    assert tuple(MODERN_PROTOCOL_VERSIONS) == (MODERN_VERSION,)
    answers = early(names, spelling)
    with server(names, spelling) as real:
        for method in ("server/discover", "tools/list"):
            assert asked(answers, modern(method)) == real.asks(modern(method))


@pytest.mark.parametrize(
    "request_",
    [
        {**modern("server/discover"), "params": {}},
        {**modern("server/discover"), "params": {"_meta": META, "more": 1}},
        modern("server/discover", protocolVersion="2025-06-18", clientCapabilities={}),
        modern("server/discover", protocolVersion=MODERN_VERSION),
        modern("server/discover", protocolVersion=MODERN_VERSION, clientCapabilities=[]),
        modern(
            "server/discover", protocolVersion=MODERN_VERSION, clientCapabilities={}, clientInfo={}
        ),
        modern("tools/call"),
    ],
)
def test_what_is_discovered_in_another_form_is_left_to_the_server(
    request_: dict[str, Any],
) -> None:
    assert asked(early(["knowledge"]), request_) is None


def test_after_a_handshake_nothing_is_discovered() -> None:
    answers = early(["knowledge"])
    assert asked(answers, INITIALIZE) is not None
    assert asked(answers, modern("server/discover")) is None


@given(st.dictionaries(_NAMES, _NESTED | _JSON, max_size=4))
def test_what_is_discovered_is_asked_for_as_the_server_accepts(
    capabilities: dict[str, Any],
) -> None:
    asking = modern(
        "server/discover", protocolVersion=MODERN_VERSION, clientCapabilities=capabilities
    )
    if asked(early(["knowledge"]), asking) is not None:
        methods.validate_client_request("server/discover", MODERN_VERSION, asking["params"])


def test_a_server_says_who_it_is_with_a_title_a_website_and_an_icon() -> None:
    known = announced(("knowledge",), "contract")
    assert known is not None
    info = known.initialize("2025-11-25")["serverInfo"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert info["title"]
    assert info["websiteUrl"] == project["urls"]["Homepage"]
    (icon,) = info["icons"]
    mark = ROOT / "src" / "minutebook" / "features" / "pages" / "static" / "mark.svg"
    assert base64.b64decode(icon["src"].partition(",")[2]) == mark.read_bytes()
