"""Calls and messages that no client should send: drawn from each tool's schema and beyond it, by the grammar of the
protocol and against it."""

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from random import Random
from typing import Any

from tests.serve.contracts.wrong import ABSENT, OPENED, Spot, placed, spots, valid, wrong_values

DEEP = "@deep@"
"""Stands for a list in a list and so on, which no encoder here can write."""

TEXTS = (
    "",
    " ",
    "\x00",
    "\ud800",
    "\udfff\ud800",
    "\U0001d518" * 50,
    "a" * 120_000,
    "\u202e\u2066",
    "../../etc/passwd",
    "'; DROP TABLE memories; --",
    '" OR NEAR(a, b) *',
    "{{7*7}}${7*7}%s%n",
    "\x1b[31m\r\n",
    "NaN",
    "0" * 20,
    "99999999-0000-4000-8000-000000000009",
    "2026-02-30T00:00:00Z",
    "9999-12-31T23:59:59.999999Z",
    "0001-01-01T00:00:00Z",
    "~system",
    "Ana likes tea",
)
NUMBERS = (
    *(0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400),
    *(1.5, -0.0, 1e308, 5e-324, math.nan, math.inf, -math.inf),
)
OTHERS: tuple[Any, ...] = (
    *(None, True, False, [], {}, [[]], [None], {"a": {}}, {"": ""}, {"\ud800": 1}),
    *(DEEP, {"a": DEEP}, list(range(5_000)), {f"k{number}": number for number in range(500)}),
)
IDS: tuple[Any, ...] = (
    *(
        1,
        1,
        0,
        -1,
        "a",
        "",
        "\ud800",
        None,
        1.5,
        True,
        [],
        {},
        2**64,
        10**400,
        "x" * 5_000,
        math.nan,
    ),
)
METHODS = (
    *("ping", "tools/list", "tools/call", "resources/list", "resources/read", "prompts/get"),
    *("initialize", "completion/complete", "logging/setLevel", "sampling/createMessage"),
    *("notifications/cancelled", "notifications/initialized", "notifications/progress"),
    *("", "\x00", "rpc.discover", "tools/call/../x", "x" * 5_000),
)


def wire(message: object) -> bytes:
    """Write a message as it is sent, whatever stands in it."""
    deep = "[" * 3_000 + "]" * 3_000
    return json.dumps(message).replace(json.dumps(DEEP), deep).encode()


@cache
def _wrong(contract: str, tool: str) -> list[tuple[Spot, Any]]:
    """Every argument of a tool in every way that its schema knows to be wrong."""
    return [
        (spot, value)
        for spot in spots(OPENED[contract].tools[tool])
        for value in wrong_values(spot)
        if _is_writable(value)
    ]


def _is_writable(value: object) -> bool:
    try:
        json.dumps(None if value is ABSENT else value)
    except RecursionError:
        return False
    return True


@cache
def tools() -> list[tuple[str, str]]:
    """Every tool of every contract."""
    return [(contract.name, name) for contract in OPENED.values() for name in contract.tools]


def value(chance: Random) -> Any:
    """Something that may stand nowhere."""
    return chance.choice(chance.choice((TEXTS, NUMBERS, OTHERS)))


def fitting(chance: Random, schema: Mapping[str, Any]) -> Any:
    """Something that the published schema of an argument allows, at its bounds."""
    if "enum" in schema:
        return chance.choice(schema["enum"])
    least, most = schema.get("minimum", 0), schema.get("maximum", 2**40)
    match schema["type"]:
        case "string":
            return chance.choice(TEXTS)
        case "integer":
            return chance.choice((least, most, math.ceil((least + most) / 2)))
        case "number":
            return chance.choice((least, most, (least + most) / 2))
        case "boolean":
            return chance.random() < 0.5
        case "array":
            return [fitting(chance, schema["items"]) for _ in range(chance.choice((0, 1, 3)))]
        case _:
            inner = schema.get("properties", {})
            return {
                name: fitting(chance, each) for name, each in inner.items() if chance.random() < 0.5
            }


def call(chance: Random, contracts: tuple[str, ...], folder: str) -> tuple[str, str, Any]:
    """A call: the contract, the tool's name, the arguments."""
    contract, tool = chance.choice([each for each in tools() if each[0] in contracts])
    if tool == "export_database" and chance.random() < 0.9:
        tool = "healthcheck"
    if chance.random() < 0.02:
        return contract, chance.choice((*TEXTS[:5], "no-such-tool", tool.upper())), {}
    if chance.random() < 0.02:
        return contract, tool, value(chance)
    arguments = valid(contract, tool)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        arguments = _spoilt(chance, contract, tool, arguments)
    if "path" in arguments and isinstance(arguments["path"], str):
        arguments["path"] = folder
    if tool == "delete_all_summaries" or (tool == "reset_all_memory" and chance.random() < 0.7):
        arguments = {"confirm": False} if tool == "reset_all_memory" else arguments
    return contract, tool, arguments


def _spoilt(chance: Random, contract: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    kind = chance.random()
    known = list(spots(OPENED[contract].tools[tool]))
    if kind < 0.1 or not known:
        return {**arguments, chance.choice(("zz", "", "\ud800", "Id", "__class__")): value(chance)}
    if kind < 0.4 and (wrong := _wrong(contract, tool)):
        spot, given = chance.choice(wrong)
    else:
        spot = chance.choice(known)
        given = value(chance) if kind < 0.7 else fitting(chance, spot.schema)
    try:
        return placed(arguments, spot.path, given)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        # What was put around it before has no room for it.
        return arguments


def messages(chance: Random) -> Iterator[bytes]:
    """Lines or bodies of one conversation: messages in any order, with any id, whole, in parts, or no messages."""
    for _ in range(chance.randrange(1, 6)):
        message = _message(chance)
        line = wire(message)
        match chance.randrange(12):
            case 0:
                yield wire([message, _message(chance)])
            case 1:
                yield line[: chance.randrange(len(line))]
            case 2:
                yield bytes(chance.getrandbits(8) for _ in range(40)).replace(b"\n", b"?")
            case 3:
                yield wire(value(chance))
            case 4:
                yield line + line
            case 5:
                yield b"\xff\xfe" + line
            case 6:
                yield line.replace(b'"jsonrpc"', b'"jsonrpc": "2.0", "jsonrpc"')
            case _:
                yield line


def _message(chance: Random) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if chance.random() < 0.1:
        message["jsonrpc"] = value(chance)
    if chance.random() < 0.8:
        message["id"] = chance.choice(IDS)
    if chance.random() < 0.9:
        message["method"] = chance.choice(METHODS)
    match chance.randrange(5):
        case 0:
            message["params"] = value(chance)
        case 1:
            message["params"] = {"name": "get_status", "arguments": {}, "_meta": value(chance)}
        case 2:
            message["params"] = {"requestId": chance.choice(IDS), "reason": "late"}
        case 3:
            message["result"] = value(chance)
        case _:
            message["params"] = {
                "uri": chance.choice(TEXTS),
                "protocolVersion": chance.choice(TEXTS),
            }
    return message


HEADERS: tuple[tuple[str, str], ...] = (
    ("Content-Type", "text/plain"),
    ("Content-Type", "application/json; charset=utf-16"),
    ("Accept", "text/html"),
    ("Accept", ""),
    ("Host", "evil.example"),
    ("Host", ""),
    ("Origin", "http://evil.example"),
    ("Origin", "null"),
    ("Mcp-Session-Id", "0" * 32),
    ("Mcp-Session-Id", "../../x"),
    ("MCP-Protocol-Version", "1999-01-01"),
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Authorization", "Bearer mbk_" + "0" * 63),
    ("Authorization", "Basic Og=="),
    ("Authorization", "Bearer"),
    ("Transfer-Encoding", "chunked"),
    ("Content-Encoding", "gzip"),
    ("Expect", "100-continue"),
    ("X-Long", "x" * 20_000),
    ("Last-Event-ID", "-1"),
)
PATHS = ("/mcp", "/mcp/knowledge", "/mcp/nothing", "/", "/command", "/%2e%2e/etc/passwd")


def request(chance: Random) -> bytes:
    """A request over HTTP, its head and body as they go over the connection, which it asks to be closed."""
    body = b"".join(messages(chance))
    given = {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Connection": "close",
        "Content-Length": str(len(body)),
    }
    given.update(chance.sample(HEADERS, chance.randrange(3)))
    if chance.random() < 0.1:
        given["Content-Length"] = chance.choice(("-1", "x", "1e3", "0", str(10**20)))
    method = chance.choice(("POST", "POST", "POST", "POST", "DELETE", "PUT", "OPTIONS", "BREW"))
    head = f"{method} {chance.choice(PATHS)} HTTP/1.1\r\n"
    head += "".join(f"{name}: {text}\r\n" for name, text in given.items())
    whole = f"{head}\r\n".encode() + body
    if chance.random() < 0.1:
        return whole[: chance.randrange(len(whole))]
    return whole
