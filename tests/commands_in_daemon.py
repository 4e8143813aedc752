"""The part of a daemon that runs commands for people at a terminal."""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from minutebook.app import App, open_app
from minutebook.cli import in_daemon
from minutebook.config import Settings, load
from minutebook.server.daemon.commands import Command, Host, LeftToClient, Stay, Stream
from minutebook.server.daemon.process import shared


class Daemon:
    """The part of a daemon that runs commands: a store that is open, and what was printed: by stream, and in order."""

    def __init__(self) -> None:
        self.settings = shared(load({}))
        self.app: App = open_app(self.settings)
        self.printed: dict[Stream, str] = {}
        self.output = ""

    def run(self, *words: str, folder: Path | None = None, terminal: bool = False) -> int:
        """Run a command as its client would have it run; the exit status."""
        self.printed, self.output = {"stdout": "", "stderr": ""}, ""
        streams: frozenset[Stream] = frozenset({"stdout"} if terminal else ())
        command = Command(words, os.environ, str(folder or Path.cwd()), "ada", streams)
        return in_daemon.run(command, self.host, self._write)

    @property
    def host(self) -> Host:
        return Host(lambda: self.app, self._check_same, self._stay)

    def _stay(self) -> AbstractContextManager[Stay]:
        raise AssertionError("none of these commands stays")

    def _write(self, stream: Stream, text: str) -> None:
        self.printed[stream] += text
        self.output += text

    def _check_same(self, settings: Settings) -> None:
        if shared(settings) != self.settings:
            raise LeftToClient("other settings")


@contextmanager
def daemon_of_commands() -> Iterator[Daemon]:
    """Open the store that the environment names as a daemon has it open; afterwards the streams are as before."""
    own = (sys.stdout, sys.stderr)
    started = Daemon()
    try:
        yield started
    finally:
        started.app.close()
        sys.stdout, sys.stderr = own
