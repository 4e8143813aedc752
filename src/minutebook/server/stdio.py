"""Serve over stdin and stdout: one client, protocol on stdout and nothing else."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from types import FrameType

import anyio
from mcp.server.stdio import stdio_server

from minutebook.app import App, open_app, open_embedding
from minutebook.config import Settings
from minutebook.contracts.contract import Contract, safe
from minutebook.domain.errors import MinutebookError
from minutebook.server.linger import lingering
from minutebook.server.protocol import as_promised, build_server, options
from minutebook.server.worker import Worker, new_session

log = logging.getLogger(__name__)


class Opening:
    """Opens the app once, in the background, so that `initialize` need not wait for it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._embedding = open_embedding(settings)
        self._lock = threading.Lock()
        self._app: App | None = None

    def start(self) -> None:
        """Begin to open."""
        threading.Thread(target=self._try, name="open", daemon=True).start()

    def __call__(self) -> App:
        """Give the app, opened by now; a failure is raised and tried again at the next call."""
        with self._lock:
            if self._app is None:
                app = open_app(self._settings, embedding=self._embedding)
                app.start()
                self._app = app
            return self._app

    def close(self) -> None:
        """Close the app if it was opened."""
        if self._app is not None:
            self._app.close()

    def _try(self) -> None:
        try:
            self()
        except MinutebookError as error:
            log.error("cannot open the store: %s", error)


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
