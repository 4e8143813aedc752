"""An MCP server as a child process, and a client that speaks to it over its pipes."""

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.measure import cpu_seconds
from tests.line_client import INITIALIZED, LineClient, initialize

PROTOCOL = "2025-06-18"
"""Spoken by everything that is measured here."""


class Pipe:
    """An MCP server as a child process, and the conversation with it."""

    def __init__(self, command: Sequence[str | Path], **variables: str) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **variables},
        )
        self._client = LineClient(self._process)

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

    def settle(self) -> None:
        """Wait until the server has done the work that it was left with: until a second costs it no more than 10 ms of CPU.

        Raises TimeoutError if that takes more than two minutes.
        """
        for _ in range(120):
            before = self.cpu()
            time.sleep(1.0)
            if self.cpu() - before <= 0.01:
                return
        raise TimeoutError("the server is still busy with what it was given before")

    def initialize(self) -> None:
        """Open the session."""
        self.request("initialize", initialize(PROTOCOL)["params"])
        self._client.send(INITIALIZED)

    def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, Any]:
        """Call a tool. Raises RuntimeError if it fails, or the server ends."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {result['content']}")
        return result

    def request(self, method: str, params: Mapping[str, object]) -> Mapping[str, Any]:
        """Send a request and wait for its answer; what else arrives is passed over."""
        try:
            answer = self._client.answer_to(method, params)
        except EOFError as error:
            self._log.seek(0)
            words = self._log.read()[-2000:].decode()
            raise RuntimeError(f"the server ended: {words}") from error
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: Mapping[str, Any] = answer["result"]
        return result
