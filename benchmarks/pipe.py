"""A JSON-RPC client over a process's pipes: a line is written, a line is read, nothing else.

An MCP client library has threads, an event loop and validation of its own, which would be measured
along; this one takes some 20 µs a call.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.measure import cpu_seconds

PROTOCOL = "2025-06-18"
"""Spoken by everything that is measured here."""


class Pipe:
    """An MCP server as a child process, and the conversation with it."""

    def __init__(self, command: Sequence[str | Path], **variables: str) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        self._last = 0
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **variables},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=30)
        self._log.close()

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def cpu(self) -> float:
        """Return the CPU seconds that the server has used."""
        return cpu_seconds(self._process.pid)

    def initialize(self) -> None:
        """Open the session."""
        info = {"name": "benchmark", "version": "1"}
        self.request(
            "initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": info}
        )
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, Any]:
        """Call a tool; its error raises RuntimeError."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {result['content']}")
        return result

    def request(self, method: str, params: Mapping[str, object]) -> Mapping[str, Any]:
        """Send a request and wait for its answer; what else arrives is passed over."""
        self._last += 1
        self._write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") != self._last or "method" in answer:
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            result: Mapping[str, Any] = answer["result"]
            return result
        self._log.seek(0)
        raise RuntimeError(f"the server ended: {self._log.read()[-2000:].decode()}")

    def _write(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        self._process.stdin.flush()
