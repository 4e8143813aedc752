"""Floods of one token's bearer: `python -m tests.faults.floods KIND CORE TARGET`, until it is ended; then it prints
how many answers said yes, how many no.

Each kind is a coroutine that goes on as one of AT_ONCE tasks, whatever the answers are: what is refused
is asked again after REFUSED seconds, as a client does that heeds nothing. `CORE` is the processor's core on which
the flood runs, -1 for any, `TARGET` a `Target` as JSON. All of it works as well against `sink`.
"""

import asyncio
import itertools
import json
import os
import secrets
import signal
import socket
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from http.cookies import SimpleCookie
from random import Random
from typing import Any, Self

AT_ONCE = 48
"""Tasks that flood."""

REFUSED = 0.01
"""Seconds until a task comes again after it was refused, or its connection cut."""

LONG = 9_000
"""Characters of a long query; 10,000 are allowed."""

BIG = 90_000
"""Characters of a big text; 102,400 bytes are allowed."""

BULK = 3_900_000
"""Bytes of a body as big as may be: BODY_BYTES are allowed."""

SINK_SECONDS = 0.1

REVISION = "2026-07-28"
WORDS = [
    "billing",
    "service",
    "retries",
    "payment",
    "writers",
    "database",
    "certificate",
    "staging",
    "server",
    "alarm",
    "invoice",
    "customer",
    "document",
    "reviews",
    "morning",
    "logs",
    "storage",
    "search",
    "page",
    "team",
    "wiki",
    "contract",
    "release",
    "checkout",
    "tests",
    "machines",
    "passwords",
    "tokens",
    "board",
    "report",
    "april",
    "harbour",
    "ledger",
    "winter",
]

ANSWERS: Counter[str] = Counter()
"""How many requests of `again` were answered, how many refused."""

Answer = tuple[int, Mapping[str, str], bytes]


@dataclass(frozen=True, slots=True)
class Target:
    """The server that is called, in whose name, a folder that it may index, and an entity with many relations."""

    port: int
    secret: str
    folder: str = ""
    hub: str = ""

    def request(self, path: str, body: bytes = b"", method: str = "POST", **headers: str) -> bytes:
        """Return a whole request."""
        head = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.secret}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Content-Length": str(len(body)),
        } | {name.replace("_", "-"): told for name, told in headers.items()}
        lines = "".join(f"{name}: {told}\r\n" for name, told in head.items())
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body

    def call(self, path: str, tool: str, session: str = "", /, **arguments: Any) -> bytes:
        """Return the request that calls a tool, alone or in a session."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if session:
            return self.request(path, message("tools/call", **params), Mcp_Session_Id=session)
        return self.modern(path, "tools/call", tool, **params)

    def modern(self, path: str, method: str, named: str, /, **params: Any) -> bytes:
        """Return a request of the revision without sessions."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientInfo": {"name": "flood", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        body = message(method, **params, _meta=meta)
        names = {"Mcp_Name": named} if named else {}
        return self.request(path, body, MCP_Protocol_Version=REVISION, Mcp_Method=method, **names)

    def handshake(self, path: str = "/mcp") -> bytes:
        """Return the request that opens a session, for a client whose model may be asked."""
        client = {"name": "flood", "version": "1"}
        told = {"protocolVersion": "2025-06-18", "capabilities": {"sampling": {}}, "clientInfo": client}  # fmt: skip
        return self.request(path, message("initialize", **told))


def message(method: str, /, **params: Any) -> bytes:
    """Return a JSON-RPC request."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


class Wire:
    """One connection, with one request under way."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, target: Target) -> Self:
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", target.port))

    def close(self) -> None:
        """Close at once."""
        self.writer.transport.abort()

    async def ask(self, request: bytes) -> Answer:
        """Send a request and return status, headers and body. Raises OSError, EOFError if it is cut."""
        self.writer.write(request)
        status, headers = await self.head()
        return status, headers, await self._body(headers)

    async def head(self) -> tuple[int, Mapping[str, str]]:
        """Read the head of an answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        parts = (line.partition(": ") for line in lines)
        return int(first.split(" ")[1]), {name.lower(): told for name, _, told in parts}

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if "content-length" in headers:
            return await self.reader.readexactly(int(headers["content-length"]))
        parts = []
        while size := int(await self.reader.readline(), 16):
            parts.append(await self.reader.readexactly(size))
            await self.reader.readexactly(2)
        await self.reader.readexactly(2)
        return b"".join(parts)


Kind = Callable[[Target, int], Coroutine[None, None, None]]
"""One task's part of a flood, by the task's number."""


async def again(target: Target, request: Callable[[int], bytes]) -> None:
    """Send one request after another."""
    wire: Wire | None = None
    for number in itertools.count():
        try:
            wire = wire or await Wire.open(target)
            status, headers, body = await wire.ask(request(number))
            has_failed = status >= 400 or b'"isError":true' in body or b'"error":' in body[:200]
            ANSWERS["refused" if has_failed else "answered"] += 1
            if status >= 400:
                await asyncio.sleep(REFUSED)
            if headers.get("connection") == "close":
                raise EOFError
        except (OSError, EOFError):
            if wire is not None:
                wire.close()
            wire = None
            await asyncio.sleep(REFUSED)


def calls(path: str, tool: str, arguments: Callable[[int, int], Mapping[str, Any]]) -> Kind:
    """Return the flood of calls of a tool; the arguments are by the task's and the call's number."""

    async def flood(target: Target, number: int) -> None:
        await again(target, lambda n: target.call(path, tool, **arguments(number, n)))

    return flood


def words(count: int, seed: int) -> str:
    """Return a text of so many words, and a number that makes each different."""
    return " ".join([str(seed), *Random(seed).choices(WORDS, k=count)])


@cache
def bulky() -> bytes:
    """Return a message of BULK bytes, of small values."""
    values = json.dumps([{"a": [n, "b"]} for n in range(BULK // 18)]).encode()[: BULK - 2]
    values = values[: values.rindex(b"}")] + b"}]"
    return message("ping").replace(b'"params": {}', b'"params": {"_meta": {"x": ' + values + b"}}")


async def bulk(target: Target, number: int) -> None:
    """Bodies as big as may be, of small values."""
    request = target.request("/mcp", bulky())
    await again(target, lambda _: request)


async def slow_readers(target: Target, number: int) -> None:
    """Long lists that nobody reads."""
    request = target.call("/mcp/knowledge", "list_memories", limit=100)
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", target.port, limit=256)
            writer.write(request * 20)
            await asyncio.sleep(3)
            writer.transport.abort()


async def trickled(target: Target, number: int) -> None:
    """Bodies that come byte by byte."""
    head, _, _ = target.request("/mcp", b"x" * 100_000).partition(b"\r\n\r\n")
    while True:
        with suppress(OSError, EOFError):
            wire = await Wire.open(target)
            wire.writer.write(head + b"\r\n\r\n")
            for _ in range(1000):
                wire.writer.write(b" ")
                await wire.writer.drain()
                await asyncio.sleep(0.01)
            wire.close()
        await asyncio.sleep(REFUSED)


async def sessions(target: Target, number: int) -> None:
    """Handshakes, one after another."""
    await again(target, lambda _: target.handshake())


async def streams(target: Target, number: int) -> None:
    """Streams of sessions, opened, left open a while, and opened again."""
    wire = await Wire.open(target)
    _, headers, _ = await wire.ask(target.handshake())
    session = headers.get("mcp-session-id", "none")
    opening = target.request("/mcp", method="GET", Mcp_Session_Id=session, Accept="text/event-stream")  # fmt: skip
    while True:
        held = []
        with suppress(OSError, EOFError):
            for _ in range(4):
                held.append(await Wire.open(target))
                held[-1].writer.write(opening)
                await held[-1].head()
        await asyncio.sleep(0.2)
        for each in held:
            each.close()


async def subscriptions(target: Target, number: int) -> None:
    """Half the tasks watch a hundred resources each, the others change what is watched."""
    if number % 2:
        await batches(target, number)
    uris = [f"memory://{number:08d}-0000-4000-8000-{n:012d}" for n in range(99)]
    wanted = {"resourceSubscriptions": ["memory://index", *uris], "resourcesListChanged": True}
    listening = target.modern("/mcp/catalog", "subscriptions/listen", "", notifications=wanted)
    while True:
        with suppress(OSError, EOFError):
            wire = await Wire.open(target)
            wire.writer.write(listening)
            while await wire.reader.read(65536):
                pass
        await asyncio.sleep(REFUSED)


async def unanswered(target: Target, number: int) -> None:
    """Questions to the client's model, which never answers."""
    path, name = "/mcp/journal", f"flood {number}"
    turn = {"prompt": "p", "thought": "t", "response": "r", "sessionId": name}
    for count in itertools.count():
        with suppress(OSError, EOFError):
            wire = await Wire.open(target)
            if not count:
                await wire.ask(target.call(path, "add_memory", **turn))
            _, headers, _ = await wire.ask(target.handshake(path))
            session = headers.get("mcp-session-id", "none")
            wire.writer.write(target.call(path, "summarize_sessions", session, sessionId=name))
            await wire.head()
            await asyncio.sleep(0.5)
            wire.close()
        await asyncio.sleep(REFUSED)


async def page_views(target: Target, number: int) -> None:
    """Pages, in one sign-in; those that are asked for without one lead to the form."""
    wire = await Wire.open(target)
    here: dict[str, Any] = {
        "Sec_Fetch_Site": "same-origin",
        "Origin": f"http://127.0.0.1:{target.port}",
    }
    _, headers, form = await wire.ask(target.request("/signin", method="GET", **here))
    visitor = _cookie(headers)
    key = form.partition(b'name="csrf" value="')[2].partition(b'"')[0].decode()
    told = f"csrf={key}&next=%2F&token={target.secret}".encode()
    kind = "application/x-www-form-urlencoded"
    signing = target.request("/signin", told, Content_Type=kind, Cookie=visitor, **here)
    _, headers, _ = await wire.ask(signing)
    cookie = _cookie(headers) or visitor
    pages = ["/find", "/find?q=billing+service", "/activity", "/review", "/graph"]
    await again(target, lambda n: target.request(pages[n % len(pages)], method="GET", Cookie=cookie, **here))  # fmt: skip


def _cookie(headers: Mapping[str, str]) -> str:
    found: SimpleCookie = SimpleCookie(headers.get("set-cookie", ""))
    return "; ".join(f"{each.key}={each.value}" for each in found.values())


async def wrong_tokens(target: Target, number: int) -> None:
    """Secrets that nobody has, each another."""
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"

    def request(_: int) -> bytes:
        made = "mbk_" + "".join(secrets.choice(alphabet) for _ in range(63))
        return Target(target.port, made).call("/mcp", "get_status")

    await again(target, request)


async def exports(target: Target, number: int) -> None:
    """Exports of the journal, and imports of what they wrote."""
    path = "/mcp/journal"
    wire = await Wire.open(target)
    _, _, told = await wire.ask(target.call(path, "export_database"))
    try:
        answer = json.loads(told.rpartition(b"data: ")[2])
        file = answer["result"]["structuredContent"]["files"][0]
    except (ValueError, LookupError, TypeError):
        file = "none.jsonl"
    await again(
        target,
        lambda n: (
            target.call(path, "import_database", file=file)
            if n % 2
            else target.call(path, "export_database")
        ),
    )


batches = calls(
    "/mcp/catalog",
    "memory-batch-write",
    lambda task, n: {
        "items": [
            {
                "organization": "acme",
                "scope_type": "organization",
                "memory_type": "fact",
                "current_content": words(20, task * 1_000_000 + n * 100 + each),
            }
            for each in range(50)
        ]
    },
)

KINDS: Mapping[str, Kind] = {
    "searches": calls(
        "/mcp/knowledge", "search_text", lambda task, n: {"query": words(4, n), "limit": 50}
    ),
    "long queries": calls(
        "/mcp/knowledge",
        "search_text",
        lambda task, n: {"query": words(LONG // 6, task * 1000 + n)[:LONG], "limit": 50},
    ),
    "big bodies": bulk,
    "slow readers": slow_readers,
    "trickled bodies": trickled,
    "sessions": sessions,
    "streams": streams,
    "questions unanswered": unanswered,
    "indexing": lambda target, number: again(
        target, lambda n: target.call("/mcp/knowledge", "index_project", path=target.folder)
    ),
    "exports, imports": exports,
    "graph walks": lambda target, number: again(
        target,
        lambda n: target.call(
            "/mcp/knowledge", "get_related", entity_id=target.hub, depth=3, direction="both"
        ),
    ),
    "wrong tokens": wrong_tokens,
    "page views": page_views,
    "batch writes": batches,
    "subscriptions": subscriptions,
    "big texts": calls(
        "/mcp/knowledge",
        "store_memory",
        lambda task, n: {"content": words(BIG // 8, task * 1000 + n)},
    ),
}
"""What a flood does, by its name; last those that fill the store."""

ARE_REFUSED = {"big bodies", "sessions", "wrong tokens"}
"""Floods of which all or most is to be refused."""


async def flood(kind: str, target: Target, at_once: int = AT_ONCE) -> None:
    """Flood until cancelled; what a task cannot do any more it begins anew."""

    async def keep_on(number: int) -> None:
        while True:
            with suppress(OSError, EOFError):
                await KINDS[kind](target, number)
            await asyncio.sleep(REFUSED)

    async with asyncio.TaskGroup() as group:
        for number in range(at_once):
            group.create_task(keep_on(number))


async def sink(listener: socket.socket) -> None:
    """Answer whatever is asked after SINK_SECONDS with `{}`, as a server that has nothing to do."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError, EOFError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                told = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(told or 0))
                await asyncio.sleep(SINK_SECONDS)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                await writer.drain()

    server = await asyncio.start_server(answer, sock=listener, limit=1 << 23)
    await server.serve_forever()


def tell_and_end() -> None:
    """Print the answers, and end without awaiting any more."""
    os.write(2, json.dumps(ANSWERS).encode())
    os._exit(0)


if __name__ == "__main__":
    kind, core, given = sys.argv[1:]
    if int(core) >= 0:
        os.sched_setaffinity(0, {int(core)})
        os.nice(10)
    signal.signal(signal.SIGTERM, lambda *_: tell_and_end())
    asyncio.run(flood(kind, Target(**json.loads(given))))
