"""Run a command in the daemon that has the store open already, if there is one.

The daemon's process has imported everything and loaded the model, so a command costs there what it
does, not what it takes to start. Standard library only, and little of it.
"""

import json
import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence

from minutebook import __version__
from minutebook.invocation import DAEMON_COMMANDS, INTERRUPTED, NO_COLOR, Invocation
from minutebook.server.daemon.rendezvous import daemon_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

READY_WAIT = 0.5
"""Seconds in which a daemon has to say that it is ready; a command is not held up by a sick one."""

PRINTED = b"printed\n"
"""What a client says that has printed all of an answer, for those commands that note it."""

_USER_VARIABLES = ("LOGNAME", "USER", "LNAME", "USERNAME")
"""Where `getpass.getuser` looks for the user's name, in this order."""


def run_and_exit(invocation: Invocation, command: str, arguments: Sequence[str]) -> None:
    """Run a command in the daemon and end the process; return if this process has to run it."""
    try:
        status = _run(invocation, command, arguments)
    except BrokenPipeError:
        # The reader of what is printed has gone: nothing is left to flush at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 1
    except KeyboardInterrupt:
        if not DAEMON_COMMANDS[command]:
            sys.stderr.write(
                f"\nStopped waiting. The daemon ends what it has begun of `{command}`; look at what is "
                "stored before you run it again.\n"
            )
        status = INTERRUPTED
    if status is not None:
        sys.exit(status)


def _run(invocation: Invocation, command: str, arguments: Sequence[str]) -> int | None:
    """Run a command in the daemon of an invocation and print what it prints.

    Returns the exit status; None if no daemon is ready, or if it leaves the command to this
    process. Raises BrokenPipeError if nobody reads what is printed.
    """
    try:
        return run_in_daemon(invocation, arguments)
    except DaemonEnded as end:
        if DAEMON_COMMANDS[command] and not end.has_answered:
            return None
    sys.stderr.write(
        f"minutebook: the daemon ended while it ran `{command}`, so it is not known whether it was "
        "done; look at what is stored before you run it again\n"
    )
    return 1


class DaemonEnded(Exception):
    """The daemon ended before the command did; `has_answered` tells whether anything of it was printed."""

    def __init__(self, *, has_answered: bool) -> None:
        super().__init__()
        self.has_answered = has_answered


def run_in_daemon(
    invocation: Invocation,
    arguments: Sequence[str],
    heed: Callable[[Mapping[str, str]], None] | None = None,
) -> int | None:
    """Have the daemon of an invocation run a command; print what it prints, and let `heed` see each answer.

    Returns the exit status; None if no daemon is ready, or if it leaves the command to this
    process. Raises DaemonEnded.
    """
    connection = _connected(invocation, arguments)
    if connection is None:
        return None
    has_answered = False
    with connection, connection.makefile("rb") as answers:
        if not goes_ahead(connection, answers):
            return None
        while answer := next_answer(answers):
            if "refused" in answer:
                return None
            if "status" in answer:
                return int(answer["status"])
            has_answered = True
            for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr)):
                stream.write(answer.get(name, ""))
                stream.flush()
            if heed is not None:
                heed(answer)
    raise DaemonEnded(has_answered=has_answered)


def _connected(invocation: Invocation, arguments: Sequence[str]) -> socket.socket | None:
    """Ask the daemon of an invocation to run a command; None if none is there."""
    try:
        connection = daemon_address(invocation.address).socket.connect(READY_WAIT)
    except OSError:
        return None
    try:
        connection.sendall(request(invocation, arguments))
    except OSError:
        connection.close()
        return None
    return connection


def goes_ahead(connection: socket.socket, answers: "BinaryIO") -> bool:
    """Let a daemon run what it was asked to, once it is ready; tell whether it is."""
    try:
        if "ready" not in next_answer(answers):
            return False
        # Not before it is ready: else it might run later what this process has run by then.
        connection.settimeout(None)
        connection.sendall(b"go\n")
    except OSError:
        return False
    return True


def request(invocation: Invocation, arguments: Sequence[str], *, reads: bool = False) -> bytes:
    """Return the line that asks a daemon to run a command as this process would.

    `reads` says that a daemon may run it whose settings were changed just now.
    """
    wanted = invocation.environment.get(NO_COLOR)
    request = {
        "version": __version__,
        "command": list(arguments),
        "variables": invocation.variables | ({NO_COLOR: wanted} if wanted else {}),
        "folder": os.getcwd(),
        "user": _user_name(invocation.environment),
        "reads": reads,
        "terminals": [sys.stdout.isatty(), sys.stderr.isatty()],
    }
    return json.dumps(request).encode() + b"\n"


def next_answer(answers: "BinaryIO") -> dict[str, str]:
    """Read the daemon's next answer; {} where it has ended. TimeoutError."""
    try:
        line = answers.readline()
        answer: dict[str, str] = json.loads(line) if line else {}
    except (ConnectionError, ValueError):
        return {}
    return answer


def _user_name(environment: Mapping[str, str]) -> str:
    """Return the user's name from the environment, "" if it has none."""
    return next((environment[name] for name in _USER_VARIABLES if environment.get(name)), "")
