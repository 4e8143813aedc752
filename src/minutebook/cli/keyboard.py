"""The keyboard, the folder and the files of the person who typed a command.

A daemon or a server that runs a command for its client has none of these: whatever asks for them here
raises LeftToClient there. Elsewhere in `cli/` nothing may reach them, which `make check` holds.
"""

import io
import sys
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from minutebook.cli.printing import wants_json
from minutebook.domain.caller import Caller
from minutebook.server.daemon.commands import Command, Host, LeftToClient


@dataclass(frozen=True, slots=True)
class Hosted:
    """A command that the daemon runs for its client, and what the daemon lends to it.

    `open_link` has the client open an address in the browser.
    """

    command: Command
    host: Host
    open_link: Callable[[str], None]


HOSTED: ContextVar[Hosted | None] = ContextVar("hosted", default=None)
"""Set where this thread runs a command in the daemon, or on a server."""


def remote_caller() -> Caller | None:
    """Return who typed the command elsewhere, on another machine; None for a person at this one."""
    hosted = HOSTED.get()
    return None if hosted is None else hosted.host.caller


def check_hosted(path: str, *, is_group: bool) -> None:
    """Raise LeftToClient for a command that its host does not run; `path` has the words that name it."""
    hosted = HOSTED.get()
    if hosted is None:
        return
    known = hosted.host.commands
    if path not in known and not (is_group and any(one.startswith(f"{path} ") for one in known)):
        raise LeftToClient(f"`{path}` runs where it is typed")


def need_at_hand(reason: str) -> None:
    """Raise LeftToClient with the reason where a host runs the command."""
    if HOSTED.get() is not None:
        raise LeftToClient(reason)


def need_keyboard() -> None:
    """Raise LeftToClient where nobody can be asked; call it before anything is printed."""
    need_at_hand("it has to ask the person who typed it")


def need_own_files() -> None:
    """Raise LeftToClient in a host, which reads and writes no file that a person names."""
    need_at_hand("it reads or writes files where it was typed")


def stdin_text(most: int = -1) -> str:
    """Return what stdin holds, so many characters at most, without the last line's end."""
    need_at_hand("it reads the stdin of where it was typed")
    return sys.stdin.read(most).rstrip("\n")


def is_answered() -> bool:
    """Tell whether a person at a terminal can answer a question."""
    return HOSTED.get() is None and sys.stdin.isatty()


def confirm(question: str, *, abort: bool = False) -> bool:
    """Ask a question; with `abort` a no raises click.Abort."""
    need_keyboard()
    return click.confirm(question, abort=abort, err=wants_json())


def ask_secret(label: str, *, twice: bool = False) -> str:
    """Ask for a text that is not shown while it is typed."""
    need_keyboard()
    text: str = click.prompt(label, hide_input=True, confirmation_prompt=twice, err=True)
    return text


def edited(text: str) -> str | None:
    """Let the person change a Markdown text in their editor; None if nothing was saved."""
    need_keyboard()
    return click.edit(text, extension=".md")


def working_directory() -> Path:
    """Return the folder in which the command was typed. Raises LeftToClient if that is another machine's."""
    hosted = HOSTED.get()
    if hosted is None:
        return Path.cwd()
    if hosted.host.caller is not None:
        raise LeftToClient("it is about the folder in which it is typed")
    return Path(hosted.command.folder)


class TypedPath(click.Path):
    """The path of a file or folder of the person who typed it.

    `is_sent` says that the daemon of this machine may have it, from the folder in which it was typed; a
    server never does.
    """

    def __init__(self, *, is_sent: bool = False) -> None:
        super().__init__(path_type=Path)
        self._is_sent = is_sent

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Raises LeftToClient in a host that may not have it."""
        if not self._is_sent or remote_caller() is not None:
            need_own_files()
        return super().convert(value, param, ctx)


class TypedFile(click.File):
    """A text file that the person who typed it names, or stdin."""

    def __init__(self) -> None:
        super().__init__(encoding="utf-8")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Open the file. Raises LeftToClient in a host."""
        need_own_files()
        return super().convert(value, param, ctx)


class HostStdin(io.TextIOBase):
    """The stdin of a process that runs commands of others: none of them reads it."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def readable(self) -> bool:
        """Tell that it can be read, by the process itself."""
        return True

    def isatty(self) -> bool:
        """Tell whether somebody can type there; nobody can for a command of another."""
        return HOSTED.get() is None and self._own is not None and self._own.isatty()

    def fileno(self) -> int:
        """Return the process's own, outside of commands. Raises LeftToClient."""
        self._check()
        return int(self._own.fileno())

    def read(self, size: int | None = -1) -> str:
        """Read the process's own. Raises LeftToClient in a command."""
        self._check()
        return "" if self._own is None else str(self._own.read(size))

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        """Read a line of the process's own. Raises LeftToClient in a command."""
        self._check()
        return "" if self._own is None else str(self._own.readline(size))

    def _check(self) -> None:
        need_at_hand("it reads the stdin of where it was typed")


def guard_stdin() -> None:
    """Put a HostStdin in the place of this process's stdin, once."""
    if not isinstance(sys.stdin, HostStdin):
        sys.stdin = HostStdin(sys.stdin)
