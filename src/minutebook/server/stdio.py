"""Serve over stdin and stdout: one client, protocol on stdout and nothing else."""

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from types import FrameType

import anyio
from mcp.server.stdio import stdio_server

from minutebook.config import Settings
from minutebook.contracts.contract import Contract, safe
from minutebook.server.linger import lingering
from minutebook.server.opening import Opening
from minutebook.server.protocol import as_promised, build_server, options
from minutebook.server.worker import Worker, new_session


def serve(settings: Settings, contracts: Sequence[Contract]) -> None:
    """Serve contracts until stdin closes or a signal comes, then end the process.

    Settings that do not fit together: InvalidInput, before anything is served.
    """
    opening = Opening(settings)

    def leave(signum: int, frame: FrameType | None) -> None:
        _end(opening)

    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, leave)
    spelling = safe if settings.tool_names == "safe" else as_promised
    caller = replace(settings.caller(), session=new_session())
    server = build_server(contracts, Worker(opening, lambda context: caller), spelling)
    opening.start()

    async def run() -> None:
        async with stdio_server() as pipes, lingering(*pipes) as (incoming, outgoing):
            await server.run(incoming, outgoing, options(server))

    anyio.run(run)
    _end(opening)


def _end(opening: Opening) -> None:
    """End at once: a transaction under way is finished or undone by its own rules.

    Threads that load a model or wait on stdin would hold up an ordinary exit.
    """
    opening.close()
    sys.stderr.flush()
    os._exit(0)
