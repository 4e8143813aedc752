"""A real server between two pipes, and clients that speak to it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mcp.client.stdio import StdioServerParameters

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2024-11-05",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def command(home: Path, *options: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "minutebook",
        "serve",
        "--no-daemon",
        "--home",
        str(home),
        *options,
    ]


def parameters(home: Path, *options: str, **variables: str) -> StdioServerParameters:
    """How the official client starts a server, with these variables of its own."""
    program, *arguments = command(home, *options)
    return StdioServerParameters(command=program, args=arguments, env=variables)


def called(number: int, tool: str, /, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Pipe:
    """A client that writes and reads raw lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._id = 0

    def send(self, message: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def handshake(self, version: str = "2024-11-05") -> dict[str, Any]:
        params = {**INITIALIZE["params"], "protocolVersion": version}  # type: ignore[dict-item]
        self.send({**INITIALIZE, "params": params})
        answer = self.read()
        self.send(INITIALIZED)
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self._id += 1
        self.send(called(self._id, tool, **arguments))
        return self.read()


@contextmanager
def serving(home: Path, *options: str, **environment: str) -> Iterator[Pipe]:
    process = subprocess.Popen(
        command(home, *options),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    try:
        yield Pipe(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                with suppress(BrokenPipeError):
                    stream.close()
