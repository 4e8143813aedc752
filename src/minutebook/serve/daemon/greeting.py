"""How a process of this machine asks the daemon for operations: its first line, and the daemon's answers.

Standard library only, and little of it: the process of a hook uses it.
"""

import json
import socket
from collections.abc import Mapping

from minutebook.serve.invocation import Invocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

_USER_VARIABLES = ("LOGNAME", "USER", "LNAME", "USERNAME")
"""Where `getpass.getuser` looks for the user's name, in this order."""


class DaemonRefuses(ConnectionError):
    """The daemon serves others, and not this client, for it was started with other settings; the message names them."""


def greet(
    connection: socket.socket, answers: "BinaryIO", invocation: Invocation, *, reads: bool = False
) -> bool:
    """Introduce the client, and tell whether the daemon is ready to do its request, not ending.

    `reads` says that a daemon may answer whose settings were changed just now. Raises DaemonRefuses if it serves
    clients with other settings, OSError if it cannot be asked.
    """
    user = user_name(invocation.environment)
    say(connection, {**invocation.greeting, "operations": True, "user": user, "reads": reads})
    # Not before it is ready is anything asked: else it might do later what this process did by then.
    answer = next_answer(answers)
    if "refused" in answer:
        raise DaemonRefuses(answer["refused"])
    if "ready" not in answer:
        return False
    connection.settimeout(None)
    return True


def say(connection: socket.socket, message: Mapping[str, object]) -> None:
    """Send a message. Raises OSError."""
    connection.sendall(json.dumps(message).encode() + b"\n")


def next_answer(answers: "BinaryIO") -> "dict[str, Any]":
    """Read the daemon's next answer; {} where it has ended. TimeoutError."""
    try:
        line = answers.readline()
        answer: dict[str, Any] = json.loads(line) if line else {}
    except (ConnectionError, ValueError):
        return {}
    return answer


def user_name(environment: Mapping[str, str]) -> str:
    """Return the user's name, as `getpass.getuser` does, which costs more to import."""
    named = (environment[name] for name in _USER_VARIABLES if environment.get(name))
    if (name := next(named, "")) == "":
        import getpass

        name = getpass.getuser()
    return name
