"""A real server between two pipes, and clients that speak to it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from mcp.client.stdio import StdioServerParameters

from tests.line_client import LineClient, initialize, tool_call

INITIALIZE = initialize()


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
    return tool_call(number, tool, arguments)


@contextmanager
def serving(home: Path, *options: str, **environment: str) -> Iterator[LineClient]:
    process = subprocess.Popen(
        command(home, *options),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    try:
        yield LineClient(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                with suppress(BrokenPipeError):
                    stream.close()
