"""How a process of this machine asks the daemon for operations: its first line, and the daemon's answers.

Standard library only, and little of it: the process of a hook uses it.
"""

import json
import socket
from collections.abc import Mapping

from minutebook.serve.daemon.rendezvous import send_line
from minutebook.serve.invocation import Invocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

_USER_VARIABLES = ("LOGNAME", "USER", "LNAME", "USERNAME")
"""Where `getpass.getuser` looks for the user's name, in this order."""


class DaemonRefuses(ConnectionError):
    """The daemon does not serve this client, since they have different settings; the message names these."""


def greet(
    connection: socket.socket, answers: "BinaryIO", invocation: Invocation, *, reads: bool = False
) -> bool:
    """Send the client's first message; return whether the daemon takes requests, False if it ends.

    With `reads` the requests only read, so that a daemon may answer them whose settings were changed just now.
    Raises DaemonRefuses if the client has other settings than the daemon, OSError if the daemon cannot be reached.
    """
    user = user_name(invocation.environment)
    send_line(connection, {**invocation.greeting, "operations": True, "user": user, "reads": reads})
    # Nothing is asked before the daemon is ready: it might do later what this process did by then.
    answer = next_answer(answers)
    if "refused" in answer:
        raise DaemonRefuses(answer["refused"])
    if "ready" not in answer:
        return False
    connection.settimeout(None)
    return True


def next_answer(answers: "BinaryIO") -> "dict[str, Any]":
    """Read the daemon's next answer; return {} if the daemon has ended. Raises TimeoutError."""
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
