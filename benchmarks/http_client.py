"""An MCP client over one HTTP connection: bytes are written, an answer is read, nothing else.

It speaks the revision that has no sessions, so that each request is whole by itself.
"""

import asyncio
import itertools
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.measure import ROOT, cpu_seconds

REVISION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_ids = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Served:
    """A server process that listens on a port of this machine, and where it speaks MCP."""

    pid: int
    port: int
    path: str

    def cpu(self) -> float:
        """Return the CPU seconds that it has used."""
        return cpu_seconds(self.pid)

    def call(self, tool: str, arguments: Mapping[str, object]) -> bytes:
        """Write out a call, to be sent as often as one likes."""
        body = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": next(_ids),
                "method": "tools/call",
                "params": {"name": tool, "arguments": arguments, "_meta": _META},
            }
        ).encode()
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
            f"MCP-Protocol-Version: {REVISION}\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


@contextmanager
def served(command: Sequence[str | Path], path: str = "/mcp") -> Iterator[Served]:
    """Run a server; each `PORT` in its command becomes a free port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    whole = [str(part).replace("PORT", str(port)) for part in command]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(whole, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=log) as process,
    ):
        try:
            if not _listens(process, port):
                log.seek(0)
                raise RuntimeError(f"the server does not listen: {log.read()[-2000:].decode()}")
            yield Served(process.pid, port, path)
        finally:
            process.terminate()


class Wire:
    """One connection that is kept, with one request on its way at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, server: Served) -> Self:
        """Connect."""
        return cls(*await asyncio.open_connection("127.0.0.1", server.port))

    def close(self) -> None:
        """Let go."""
        self._writer.close()

    async def ask(self, request: bytes) -> Mapping[str, Any]:
        """Send a request and give its result; what went wrong raises RuntimeError."""
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        body = await self._body(head)
        status = int(head.split(b" ", 2)[1])
        # In a stream, the answer is what its last event holds.
        text = body.rpartition(b"data: ")[2] if b"text/event-stream" in head else body
        if status != 200:
            raise RuntimeError(f"{status}: {body[:300].decode()}")
        answer = json.loads(text)
        result: Mapping[str, Any] = answer.get("result", {"isError": True})
        if result.get("isError"):
            raise RuntimeError(f"{answer}"[:300])
        return result

    async def _body(self, head: bytes) -> bytes:
        if b"content-length: " in head:
            told = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
            return await self._reader.readexactly(int(told))
        parts = []
        while size := int(await self._reader.readline(), 16):
            parts.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return b"".join(parts)


def _listens(process: subprocess.Popen[bytes], port: int) -> bool:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False
