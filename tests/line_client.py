"""An MCP client that writes a line and reads a line, for tests and benchmarks: standard library only.

An MCP client library has threads, an event loop and validation of its own, which would be tested and
measured along; this one takes some 20 µs a call.
"""

import json
import subprocess
from collections.abc import Mapping
from typing import Any

OLDEST = "2024-11-05"
"""The first revision of MCP."""


def initialize(revision: str = OLDEST, id: Any = 0) -> dict[str, Any]:
    """Return the request that opens a session."""
    params = {
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def tool_call(id: Any, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Return the request that calls a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


class LineClient:
    """A conversation with a server over the pipes of its process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._last_id = 0

    def send(self, message: Mapping[str, object] | bytes) -> None:
        """Write one message."""
        assert self.process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Read the next message. Raises EOFError if the server has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise EOFError("the server ended")
        message: dict[str, Any] = json.loads(line)
        return message

    def handshake(self, revision: str = OLDEST) -> dict[str, Any]:
        """Open the session; return what comes next, which is to be the answer."""
        self.send(initialize(revision))
        answer = self.read()
        self.send(INITIALIZED)
        return answer

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool; return what comes next, which is to be the answer."""
        self._last_id += 1
        self.send(tool_call(self._last_id, tool, arguments))
        return self.read()

    def answer_to(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        """Send a request and return its answer; what else arrives before is passed over."""
        self._last_id += 1
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        while True:
            answer = self.read()
            if answer.get("id") == self._last_id and "method" not in answer:
                return answer
