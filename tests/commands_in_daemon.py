"""A daemon for commands of this process: an app that is open, behind the socket at which they look for one."""

import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from click.testing import Result

from minutebook.app import App, open_app
from minutebook.config import Settings, load
from minutebook.config.settings import shared
from minutebook.serve.daemon.operations import DaemonHost, LeftToClient, attend
from minutebook.serve.daemon.rendezvous import daemon_address, read_line
from minutebook.serve.invocation import Invocation
from tests.terminal import typed

ON = {"MINUTEBOOK_DAEMON": "on", "LOGNAME": "ada"}


class Daemon:
    """A store that is open, and what commands typed beside it print."""

    def __init__(self, app: App, settings: Settings | None) -> None:
        self.app, self.settings = app, settings
        self.asked = 0
        """How many clients were attended to."""

    def run(self, *words: str, env: Mapping[str, str] | None = None, **options: Any) -> Result:
        """Type a command beside the daemon."""
        return typed(*words, env={**ON, **(env or {})}, **options)

    def serve(self, listener: socket.socket) -> None:
        """Attend to every client, each in a thread, until nobody listens any more."""
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._attend, args=(connection,), daemon=True).start()

    def _attend(self, connection: socket.socket) -> None:
        self.asked += 1
        loader: Any = lambda: self.app  # noqa: E731
        with connection, suppress(EOFError, OSError):
            hello = json.loads(read_line(connection, 20))
            attend(connection, hello, DaemonHost(loader, self._check, nullcontext))

    def _check(self, settings: Settings) -> None:
        if self.settings is not None and shared(settings) != self.settings:
            raise LeftToClient("other settings")


@contextmanager
def daemon_on(
    app: App, settings: Settings | None, environment: Mapping[str, str]
) -> Iterator[Daemon]:
    """Be the daemon of an environment, on an app that is open; with settings, for clients of these alone."""
    daemon = Daemon(app, settings)
    place = daemon_address(Invocation({}, (), {**environment, **ON}).address)
    with place.socket.open() as listener:
        threading.Thread(target=daemon.serve, args=(listener,), daemon=True).start()
        yield daemon
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    place.unlink()


@contextmanager
def daemon_of_commands() -> Iterator[Daemon]:
    """Open the store that the environment names as a daemon has it open."""
    settings = shared(load({}))
    app = open_app(settings)
    try:
        with daemon_on(app, settings, os.environ) as daemon:
            yield daemon
    finally:
        app.close()
