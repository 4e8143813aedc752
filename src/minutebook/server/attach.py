"""Serve through the daemon that can serve what was asked for: find it, or start it.

Standard library only, for the thin proxy imports it; what only a start needs is imported there.
"""

import json
import os
import signal
import socket
import sys
import threading
import time

from minutebook import __version__
from minutebook.invocation import Invocation
from minutebook.server.meeting import Meeting, meeting, read_line
from minutebook.server.proxy import Link, Proxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from minutebook.server.stdio import InProcess

LOG = "daemon.log"
"""The log of daemons, in the data directory."""

WELCOME_WAIT = 10.0
"""Seconds in which a daemon that listens has to answer."""

START_WAIT = 20.0
"""Seconds in which a daemon that was started has to listen."""

AGAIN = 1.0
"""Seconds after which another is started, where one that was there before may have ended since."""

LATELY = 60.0
"""Seconds for which it is remembered that a daemon ended."""

MOST_LOSSES = 3
"""How often daemons may end in that time and still be relied on."""

ATTEMPTS = 3
"""How many daemons may end while they let a client in."""

TAKEN = 3
"""The exit status of a daemon that found another at its place."""

_POLL = 0.02


class Unattached(Exception):
    """There is no daemon for this; the message says why."""


class Invalid(Unattached):
    """Nothing can serve this: its settings or contracts do not fit, as the command line will say."""


def serve(asked: Invocation) -> None:
    """Serve a stdio client through the daemon and end the process; return where there is none."""
    try:
        link = attach(asked)
    except Invalid:
        return
    except Unattached as reason:
        _say(reason)
        return
    replacement = _Replacement(asked, link.session)
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda signum, frame: replacement.end())
    Proxy(link, replacement.link).run()
    replacement.end()


class _Replacement:
    """What serves a client whose daemon has ended: another daemon, else this process."""

    def __init__(self, asked: Invocation, session: str) -> None:
        self._asked = asked
        self._session = session
        self._here: InProcess | None = None
        self._losses: list[float] = []

    def link(self) -> Link:
        """Give a link to it; after too many daemons that ended, this process serves."""
        if self._here is not None:
            self._here.lost()
        now = time.monotonic()
        self._losses = [*(at for at in self._losses if now - at < LATELY), now]
        try:
            if len(self._losses) > MOST_LOSSES:
                raise Unattached(f"it ended {len(self._losses)} times in {LATELY:g} s")
            return attach(self._asked, self._session)
        except Unattached as reason:
            _say(reason)
        from minutebook.server.stdio import in_process

        self._here = in_process(self._asked)
        return self._here.link(self._session)

    def end(self) -> "NoReturn":
        """End the process at once."""
        if self._here is not None:
            self._here.end()
        os._exit(0)


def _say(reason: Unattached) -> None:
    sys.stderr.write(f"minutebook: serving without the daemon: {reason}\n")
    sys.stderr.flush()


def attach(asked: Invocation, session: str = "") -> Link:
    """Connect to the daemon of an invocation, started if need be; Unattached.

    `session` names one that is gone on with.
    """
    reason: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            place = meeting(asked.address)
            connection = _connected(place) or _started(asked, place)
        except OSError as error:
            raise Unattached(str(error)) from error
        try:
            return _welcomed(connection, asked, session)
        except (ConnectionError, EOFError) as error:
            # It was ending while it let us in: the next is another.
            reason = error
        except (OSError, ValueError) as error:
            raise Unattached(f"the daemon does not answer: {error}") from error
    raise Unattached(f"the daemon ends before it answers: {reason}")


def ask(place: Meeting, word: str) -> dict[str, object] | None:
    """Ask a daemon something about itself; None where none answers."""
    try:
        with place.door.enter(WELCOME_WAIT) as connection:
            connection.sendall(json.dumps({"ask": word}).encode() + b"\n")
            told: dict[str, object] = json.loads(read_line(connection, WELCOME_WAIT))
            return told
    except (OSError, EOFError, ValueError):
        return None


def stop(place: Meeting) -> bool:
    """Have a daemon answer what it was asked, and end; tell whether nobody can come to it now."""
    ask(place, "stop")
    until = time.monotonic() + WELCOME_WAIT
    while os.path.exists(place.door.path):
        if time.monotonic() > until:
            return False
        time.sleep(_POLL)
    return True


def start(asked: Invocation, place: Meeting) -> None:
    """Start a daemon at its place unless one is there, and wait until it listens; Unattached."""
    (_connected(place) or _started(asked, place)).close()


def _connected(place: Meeting) -> socket.socket | None:
    try:
        return place.door.enter(WELCOME_WAIT)
    except (FileNotFoundError, ConnectionError):
        return None


def _started(asked: Invocation, place: Meeting) -> socket.socket:
    import subprocess

    from minutebook.server.launch import module_command

    variables = {**asked.environment, **asked.variables}
    given = json.dumps(asked.given)
    deadline = time.monotonic() + START_WAIT
    while time.monotonic() < deadline:
        log = _log_of(asked)
        process = subprocess.Popen(  # noqa: S603
            module_command("minutebook.daemon", asked.address, given),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            env=variables,
            cwd=os.path.dirname(place.lock),
            start_new_session=True,
        )
        os.close(log)
        # Whoever outlives the daemon must not leave its corpse in the table of processes.
        threading.Thread(target=process.wait, name="reap", daemon=True).start()
        again = min(deadline, time.monotonic() + AGAIN)
        while time.monotonic() < (again if process.returncode == TAKEN else deadline):
            time.sleep(_POLL)
            if (connection := _connected(place)) is not None:
                return connection
            if process.returncode not in (None, TAKEN):
                raise Unattached(
                    f"it ended at once, with status {process.returncode}; {LOG} in the data "
                    "directory may tell why"
                )
    raise Unattached(f"it did not listen within {START_WAIT:g} s")


def _log_of(asked: Invocation) -> int:
    """Open the log to which a daemon says what keeps it from starting, where there can be one."""
    how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    try:
        os.makedirs(asked.home, mode=0o700, exist_ok=True)
        return os.open(os.path.join(asked.home, LOG), how, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def _welcomed(connection: socket.socket, asked: Invocation, session: str) -> Link:
    hello = {
        "version": __version__,
        "given": asked.given,
        "variables": asked.variables,
        "contracts": asked.contracts,
        "session": session,
    }
    try:
        connection.settimeout(WELCOME_WAIT)
        connection.sendall(json.dumps(hello).encode() + b"\n")
        answer = json.loads(read_line(connection, WELCOME_WAIT))
        connection.settimeout(None)
        if "refused" in answer:
            kind = Invalid if answer.get("invalid") else Unattached
            raise kind(str(answer["refused"]))
        return Link(connection, frozenset(answer["reading"]), answer["session"])
    except BaseException:
        connection.close()
        raise
