"""Commands of the command line, run in the daemon for a person at a terminal."""

import json
import logging
import socket
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from minutebook import __version__
from minutebook.config import Settings
from minutebook.domain.caller import Caller
from minutebook.invocation import HOSTED_COMMANDS
from minutebook.server.daemon.command_client import PRINTED
from minutebook.server.daemon.rendezvous import read_line

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.server.app_loader import AppLoader

log = logging.getLogger(__name__)

GO_WAIT = 10.0
"""Seconds in which a client has to say that the command is to be run."""

PRINTED_WAIT = 60.0
"""Seconds in which it has to say that it has printed all of an answer."""

Stream = Literal["stdout", "stderr", "link"]
"""Where what a command writes goes at its client: `link` is opened in the browser there."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it was typed: its words, and where and by whom.

    `variables` are the environment's that name settings, and NO_COLOR, `folder` is the working directory,
    `terminals` names the streams that lead to a terminal.
    """

    words: tuple[str, ...]
    variables: Mapping[str, str]
    folder: str
    user: str
    terminals: frozenset[Stream]


class LeftToClient(Exception):
    """The daemon cannot run a command as its client would, who is to run it."""


class ClientLost(Exception):
    """The client that typed a command is gone: nobody reads what it prints."""


@dataclass(frozen=True, slots=True)
class Stay:
    """What the daemon lends to a command that serves as long as its client waits.

    `wait` returns once the client is gone or the daemon ends.
    """

    loader: "AppLoader"
    wait: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Host:
    """What the daemon lends to a command.

    `app` gives the app, opened by now. `check_same` raises LeftToClient for settings that are not
    the daemon's. The daemon does not end by itself within `stay`. `when_read` is what is done once the
    client says that it printed all. `caller` is who typed the command elsewhere, over HTTP; None for a
    person at this machine. `commands` names those that run here; any other is left to its client.
    """

    app: "Callable[[], App]"
    check_same: Callable[[Settings], None]
    stay: "Callable[[], AbstractContextManager[Stay]]"
    when_read: list[Callable[[], None]] = field(default_factory=list)
    caller: Caller | None = None
    commands: Collection[str] = HOSTED_COMMANDS


Write = Callable[[Stream, str], None]
Run = Callable[[Command, Host, Write], int]
"""Runs a command and gives its exit status; raises LeftToClient before anything was written."""


def answer(connection: socket.socket, request: Mapping[str, Any], host: Host, run: Run) -> None:
    """Run the command of a request; send what it prints as it comes, then its exit status.

    Raises OSError if the client is gone, ValueError if the request is not in its form.
    """
    command = _command_of(request)

    def send(answer: Mapping[str, Any]) -> None:
        connection.sendall(json.dumps(answer).encode() + b"\n")

    def write(stream: Stream, text: str) -> None:
        try:
            send({stream: text})
        except OSError as error:
            raise ClientLost from error

    if request.get("version") != __version__:
        send({"refused": f"it is of version {__version__}"})
        return
    send({"ready": True})
    # A client that has not waited so long runs the command itself, and is gone.
    read_line(connection, GO_WAIT)
    connection.settimeout(None)
    try:
        send({"status": run(command, host, write)})
        if host.when_read and _is_read(connection):
            for act in host.when_read:
                act()
    except LeftToClient as reason:
        send({"refused": str(reason)})
    except ClientLost:
        log.debug("the client of the command %s is gone", command.words[:1])


def _is_read(connection: socket.socket) -> bool:
    """Tell whether the client says that it has printed all."""
    try:
        return read_line(connection, PRINTED_WAIT) == PRINTED
    except (OSError, EOFError):
        return False


def _command_of(request: Mapping[str, Any]) -> Command:
    words, variables = request.get("command"), request.get("variables")
    folder, user = request.get("folder"), request.get("user")
    terminals = request.get("terminals")
    if (
        isinstance(words, list)
        and isinstance(variables, dict)
        and isinstance(folder, str)
        and isinstance(user, str)
        and isinstance(terminals, list)
        and all(isinstance(each, str) for each in (*words, *variables.values()))
    ):
        names: tuple[Stream, Stream] = ("stdout", "stderr")
        shown = frozenset(name for name, is_one in zip(names, terminals, strict=False) if is_one)
        return Command(tuple(words), variables, folder, user, shown)
    raise ValueError("a command is given by its words, variables, folder, user and terminals")
