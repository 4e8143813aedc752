"""Run a command in the daemon's process, for a client who typed it elsewhere."""

import io
import sys
from contextvars import ContextVar

from minutebook.cli import main
from minutebook.cli.keyboard import HOSTED, Hosted, guard_stdin
from minutebook.server.daemon.commands import Command, Host, Stream, Write

_OUTPUT: ContextVar[Write | None] = ContextVar("output", default=None)


def run(command: Command, host: Host, write: Write) -> int:
    """Run a command in this thread and give its exit status; `write` takes what it prints.

    Raises LeftToClient if the host does not run it, if it needs what only its client has, or if the
    client's settings are not the daemon's.
    """
    _Output.install()
    guard_stdin()
    output = _OUTPUT.set(write)
    hosted = HOSTED.set(Hosted(command, host, lambda link: write("link", link)))
    try:
        main.main(list(command.words), prog_name="minutebook")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        HOSTED.reset(hosted)
        _OUTPUT.reset(output)


class _Output(io.TextIOBase):
    """A standard stream of the daemon: what a command prints goes to the command's client."""

    encoding = "utf-8"
    errors = "surrogatepass"

    def __init__(self, name: Stream) -> None:
        self._name: Stream = name
        self._own = getattr(sys, name)

    @classmethod
    def install(cls) -> None:
        """Take the place of stdout and stderr, once."""
        if not isinstance(sys.stdout, cls):
            sys.stdout, sys.stderr = cls("stdout"), cls("stderr")

    def write(self, text: str) -> int:
        """Write to the client of the command that this thread runs, else to the process's own."""
        if not isinstance(text, str):
            raise TypeError("a text stream takes text")
        write = _OUTPUT.get()
        if write is None:
            return int(self._own.write(text))
        if text:
            write(self._name, text)
        return len(text)

    def flush(self) -> None:
        """Send what the process itself has written; a client has everything already."""
        if _OUTPUT.get() is None:
            self._own.flush()

    def isatty(self) -> bool:
        """Tell whether the client's stream leads to a terminal."""
        hosted = HOSTED.get()
        return hosted is not None and self._name in hosted.command.terminals
