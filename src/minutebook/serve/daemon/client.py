"""Serve through a daemon that fits the request: find it, or have it started.

Standard library only, for the thin proxy imports it; what only a start needs is in `spawning.py`.
"""

import json
import os
import select
import signal
import socket
import sys
import time

from minutebook.serve.daemon.rendezvous import DaemonAddress, daemon_address, read_line
from minutebook.serve.invocation import Invocation
from minutebook.serve.stdio.proxy import DaemonLink, Proxy, Unserved, own_pipes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from minutebook.serve.stdio.early import EarlyAnswers
    from minutebook.serve.stdio.in_process import InProcessServer

    GoesOn = Callable[[], bool]

DAEMON_WAIT = 60.0
"""Seconds to wait for a daemon that lives and does not answer: what clients commonly wait for an answer."""

WELCOME_WAIT = 10.0
"""Seconds in which a daemon that is asked about itself has to answer."""

PROMPT = 1.0
"""Seconds in which a daemon that listens ordinarily lets a client in."""

PATIENCE = 10.0
"""Seconds after which a person is told what is waited for."""

LATELY = 60.0
"""Seconds for which it is remembered that a daemon ended."""

MOST_LOSSES = 3
"""How often daemons may end in that time and still be relied on."""

ATTEMPTS = 3
"""How many daemons may end while they let a client in."""

_POLL = 0.02
_LOOK = 0.2
"""Seconds between two looks at whether somebody still waits for a daemon's answer."""


class Unattached(Exception):
    """There is no daemon for this; the message says why."""


class Invalid(Unattached):
    """Nothing can serve this: its settings or contracts do not fit, as the command line will say."""


def serve(invocation: Invocation) -> None:
    """Serve a stdio client through the daemon and end the process; return where it cannot be served.

    The command line then says why.
    """
    server = _Server(invocation)
    try:
        link = server.found()
    except Invalid:
        return
    except Unattached as reason:
        say(invocation, reason)
        return
    early = early_answers(invocation) if link is None else None
    if link is None and early is None:
        return
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda signum, frame: server.end())
    stdin, stdout = own_pipes()
    proxy = Proxy(link, server.link, stdin, stdout, early)
    proxy.watch(server.hangs, DAEMON_WAIT)
    try:
        proxy.run()
    except Unserved as reason:
        sys.stderr.write(f"minutebook: {reason}\n")
        server.end(1)
    server.end()


def early_answers(invocation: Invocation) -> "EarlyAnswers | None":
    """Return the answers of the proxy until there is a server; None if there can be no server."""
    from minutebook.serve.contracts.announced import announced
    from minutebook.serve.stdio.early import EarlyAnswers

    stated = invocation.value("tools", "")
    parts = stated.split(",") if isinstance(stated, str) else stated
    tools = (
        [name for each in parts if (name := str(each).strip())] if isinstance(parts, list) else []
    )
    known = announced(
        invocation.contracts,
        invocation.value("tool_names", "contract"),
        read_only=invocation.value("read_only", "false") in ("true", True),
        tools=[] if tools == ["all"] else tools,
        answers=invocation.value("answers", "json"),
    )
    return None if known is None else EarlyAnswers(known)


class _Server:
    """The server of a client: the daemon; another when it has ended; else this process."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._session = ""
        self._entered: socket.socket | None = None
        self._here: InProcessServer | None = None
        self._has_served = False
        self._hung = False
        self._losses: list[float] = []
        self._settings_stamp = invocation.settings_stamp()

    def found(self) -> DaemonLink | None:
        """Return a link to the daemon if it is there and answers at once.

        `link` goes on with a connection that has not been answered yet. Raises Unattached if the
        address cannot be used.
        """
        try:
            connection = _connected(daemon_address(self._invocation.address))
        except OSError as error:
            raise Unattached(str(error)) from error
        if connection is None:
            return None
        try:
            _send_hello(connection, self._invocation, "")
            if select.select([connection], [], [], PROMPT)[0]:
                return self._linked(_welcome(connection))
        except (OSError, EOFError, ValueError):
            # `link` tries once more, and says what is the matter.
            connection.close()
            return None
        self._entered = connection
        return None

    def hangs(self) -> bool:
        """Tell whether the daemon that serves here, though it lives, does not even say how it is."""
        address = daemon_address(self._invocation.address)
        if self._here is not None or ask(address, "status") is not None:
            return False
        self._hung = True
        return True

    def link(self, goes_on: "GoesOn") -> DaemonLink | None:
        """Return a link to a server, None once nobody waits for one any more.

        This process serves after too many daemons that ended, or one that hung or refused. Raises
        Unserved if it cannot.
        """
        if self._here is not None:
            self._here.lost()
        is_same = self._settings_stamp == (known := self._invocation.settings_stamp())
        self._settings_stamp = known
        # One that ended for another of other settings is none that was lost.
        if self._has_served and is_same:
            now = time.monotonic()
            self._losses = [*(at for at in self._losses if now - at < LATELY), now]
        try:
            if self._hung:
                raise Unattached(_hung(self._invocation, "no longer answers"))
            if len(self._losses) > MOST_LOSSES:
                raise Unattached(f"it ended {len(self._losses)} times in {LATELY:g} s")
            entered, self._entered = self._entered, None
            link = attach(self._invocation, self._session, goes_on, entered)
            return None if link is None else self._linked(link)
        except Unattached as reason:
            # Settings that do not fit do not fit here either, which is said in better words.
            if not isinstance(reason, Invalid):
                say(self._invocation, reason)
        from minutebook.record.errors import InvalidInput
        from minutebook.serve.stdio.in_process import in_process

        try:
            self._here = in_process(self._invocation)
        except InvalidInput as error:
            raise Unserved(str(error)) from error
        return self._here.link(self._session)

    def _linked(self, link: DaemonLink) -> DaemonLink:
        self._session = link.session
        self._has_served = True
        return link

    def end(self, status: int = 0) -> "NoReturn":
        """End the process at once."""
        if self._here is not None:
            self._here.end(status)
        os._exit(status)


def say(invocation: Invocation, reason: Exception) -> None:
    """Tell on stderr, and in the daemons' log, why there is no daemon here."""
    from minutebook.serve.daemon.spawning import log

    sentence = f"serving without the daemon: {reason}"
    sys.stderr.write(f"minutebook: {sentence}\n")
    sys.stderr.flush()
    log(invocation, sentence)


def _always() -> bool:
    return True


def attach(
    invocation: Invocation,
    session: str = "",
    goes_on: "GoesOn" = _always,
    entered: socket.socket | None = None,
) -> DaemonLink | None:
    """Connect to the daemon of an invocation, started if need be, however long that takes.

    `session` names one that is gone on with; `entered` is a connection on which it was asked.
    None once `goes_on` says that nobody waits any more. Raises Unattached if the daemon refuses, or
    ends instead.
    """
    from minutebook.serve.daemon.spawning import Ended

    waiting = _Waiting(goes_on, invocation)
    reason: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            connection = entered
            if connection is None:
                connection = _opened(invocation, daemon_address(invocation.address), waiting)
                if connection is None:
                    return None
                _send_hello(connection, invocation, session)
        except (ConnectionError, EOFError) as error:
            reason = error
            continue
        except Ended as error:
            raise (Invalid if error.is_invalid else Unattached)(str(error)) from error
        except OSError as error:
            raise Unattached(str(error)) from error
        entered = None
        try:
            return _answered(connection, waiting)
        except (ConnectionError, EOFError) as error:
            # It was ending while it let us in: the next is another.
            reason = error
    raise Unattached(f"the daemon ends before it answers: {reason}")


def _answered(connection: socket.socket, waiting: "_Waiting") -> DaemonLink | None:
    """Return the link that a daemon welcomes us to; None if nobody waits any more.

    Raises Unattached if it refuses, ConnectionError or EOFError if it ends before it answers.
    """
    try:
        while not select.select([connection], [], [], _LOOK)[0]:
            if not waiting.goes_on():
                connection.close()
                return None
        return _welcome(connection)
    except Unattached:
        connection.close()
        raise
    except (ConnectionError, EOFError):
        raise
    except (OSError, ValueError) as error:
        raise Unattached(f"the daemon does not answer: {error}") from error


class _Waiting:
    """Waits for a daemon, not for ever, and says so from time to time."""

    def __init__(self, goes_on: "GoesOn", invocation: Invocation) -> None:
        self._goes_on = goes_on
        self._invocation = invocation
        self._since = time.monotonic()
        self._says_after = PATIENCE

    def goes_on(self) -> bool:
        """Tell whether somebody still waits. Raises Unattached if the daemon took longer than allowed."""
        waited = time.monotonic() - self._since
        if waited > DAEMON_WAIT:
            raise Unattached(_hung(self._invocation, f"has not answered for {waited:.0f} s"))
        if waited > self._says_after:
            self._says_after *= 2
            sys.stderr.write(
                f"minutebook: the daemon is starting or busy; waiting for it, for {waited:.0f} s now\n"
            )
            sys.stderr.flush()
        return self._goes_on()


def _hung(invocation: Invocation, how: str) -> str:
    """Return the message that the daemon lives and does not answer, and the remedy."""
    pid = daemon_address(invocation.address).socket.process()
    return f"it lives but {how}; end it" + (f" with: kill -9 {pid}" if pid else "")


def ask(
    address: DaemonAddress, word: str, within: float = WELCOME_WAIT
) -> dict[str, object] | None:
    """Ask a daemon something about itself; None where none answers."""
    try:
        with address.socket.connect(within) as connection:
            connection.sendall(json.dumps({"ask": word}).encode() + b"\n")
            answer: dict[str, object] = json.loads(read_line(connection, within))
            return answer
    except (OSError, EOFError, ValueError):
        return None


def stop(address: DaemonAddress) -> bool:
    """Ask a daemon to answer the calls under way and end; tell whether it accepts nobody any more."""
    ask(address, "stop")
    until = time.monotonic() + WELCOME_WAIT
    while os.path.exists(address.socket.path):
        if time.monotonic() > until:
            return False
        time.sleep(_POLL)
    return True


def start(invocation: Invocation, address: DaemonAddress) -> None:
    """Start a daemon at its address unless one is there, and wait until it listens.

    Raises Unattached if the daemon ends before it listens.
    """
    from minutebook.serve.daemon.spawning import Ended

    try:
        connection = _opened(invocation, address, _Waiting(_always, invocation))
    except Ended as error:
        raise Unattached(str(error)) from error
    if connection is not None:
        connection.close()


def _opened(
    invocation: Invocation, address: DaemonAddress, waiting: "_Waiting"
) -> socket.socket | None:
    """Connect to the daemon at an address, or start it there; None if nobody waits any more."""
    from minutebook.serve.daemon.spawning import started

    return _connected(address) or started(invocation, address, _connected, waiting.goes_on)


def _connected(address: DaemonAddress) -> socket.socket | None:
    """Connect to the daemon of a place; None if none listens, or it has no room for a client yet."""
    try:
        return address.socket.connect(WELCOME_WAIT)
    except (FileNotFoundError, ConnectionError, TimeoutError, BlockingIOError):
        return None


def _send_hello(connection: socket.socket, invocation: Invocation, session: str) -> None:
    hello = {**invocation.greeting, "contracts": invocation.contracts, "session": session}
    try:
        connection.settimeout(WELCOME_WAIT)
        connection.sendall(json.dumps(hello).encode() + b"\n")
    except BaseException:
        connection.close()
        raise


def _welcome(connection: socket.socket) -> DaemonLink:
    try:
        answer = json.loads(read_line(connection, WELCOME_WAIT))
        connection.settimeout(None)
        if "refused" in answer:
            kind = Invalid if answer.get("invalid") else Unattached
            raise kind(str(answer["refused"]))
        return DaemonLink(connection, frozenset(answer["reading"]), answer["session"])
    except BaseException:
        connection.close()
        raise
