"""Serve through the daemon of an invocation: connect to it, or start it.

Standard library only, since the thin proxy imports it; what only a start needs is in `spawning.py`.
"""

import json
import os
import select
import signal
import socket
import sys
import time

from minutebook.serve.daemon.rendezvous import DaemonAddress, daemon_address, read_line, send_line
from minutebook.serve.invocation import Invocation
from minutebook.serve.stdio.proxy import CannotServe, DaemonLink, Proxy, own_pipes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from minutebook.serve.stdio.early import EarlyAnswers
    from minutebook.serve.stdio.in_process import InProcessServer

    IsAwaited = Callable[[], bool]

DAEMON_WAIT = 60.0
"""Seconds to wait for a daemon that lives and does not answer; clients commonly wait as long for an answer."""

WELCOME_WAIT = 10.0
"""Seconds in which a daemon that is asked about itself has to answer."""

PROMPT_WAIT = 1.0
"""Seconds in which a daemon ordinarily welcomes a client."""

PATIENCE = 10.0
"""Seconds of waiting after which stderr says so."""

LOSS_WINDOW = 60.0
"""Seconds for which the end of a daemon counts as a loss."""

MOST_LOSSES = 3
"""Losses within LOSS_WINDOW after which this process serves itself."""

ATTEMPTS = 3
"""How often a client connects if daemons end before they welcome it."""

_POLL = 0.02
_LOOK = 0.2
"""Seconds between two checks whether the client still waits for the daemon's answer."""


class NoDaemon(Exception):
    """No daemon serves this invocation; the message says why."""


class InvalidInvocation(NoDaemon):
    """The settings or contracts of the invocation do not fit, so nothing can serve it; the message says why."""


def serve(invocation: Invocation) -> None:
    """Serve a stdio client through the daemon, and end the process; return if that is not possible.

    The command line then serves in its process, or says why it cannot.
    """
    server = _Server(invocation)
    try:
        link = server.link_at_once()
    except InvalidInvocation:
        return
    except NoDaemon as reason:
        report_no_daemon(invocation, reason)
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
    except CannotServe as reason:
        sys.stderr.write(f"minutebook: {reason}\n")
        server.end(1)
    server.end()


def early_answers(invocation: Invocation) -> "EarlyAnswers | None":
    """Return the answers that the proxy gives until there is a server; None if the invocation cannot be served."""
    from minutebook.serve.contracts.announced import announced
    from minutebook.serve.stdio.early import EarlyAnswers

    setting = invocation.value("tools", "")
    parts = setting.split(",") if isinstance(setting, str) else setting
    names = [str(each).strip() for each in parts] if isinstance(parts, list) else []
    tools = [name for name in names if name]
    known = announced(
        invocation.contracts,
        invocation.value("tool_names", "contract"),
        read_only=invocation.value("read_only", "false") in ("true", True),
        tools=[] if tools == ["all"] else tools,
        answers=invocation.value("answers", "json"),
    )
    return None if known is None else EarlyAnswers(known)


class _Server:
    """The server of a client: the daemon, its successor once it has ended, or at last this process."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._session = ""
        self._pending: socket.socket | None = None
        self._in_process: InProcessServer | None = None
        self._has_served = False
        self._hung = False
        self._losses: list[float] = []
        self._settings_stamp = invocation.settings_stamp()

    def link_at_once(self) -> DaemonLink | None:
        """Return a link to the daemon if it listens and answers at once, else None.

        `link` continues with a connection that the daemon has not answered yet. Raises NoDaemon if the
        daemon's address cannot be used.
        """
        try:
            connection = _connect(daemon_address(self._invocation.address))
        except OSError as error:
            raise NoDaemon(str(error)) from error
        if connection is None:
            return None
        try:
            _send_hello(connection, self._invocation, "")
            if select.select([connection], [], [], PROMPT_WAIT)[0]:
                return self._remember(_welcome(connection))
        except (OSError, EOFError, ValueError):
            # `link` tries once more, and reports what is wrong.
            connection.close()
            return None
        self._pending = connection
        return None

    def hangs(self) -> bool:
        """Tell whether the daemon that serves the client does not even answer a question about its status."""
        address = daemon_address(self._invocation.address)
        if self._in_process is not None or ask(address, "status") is not None:
            return False
        self._hung = True
        return True

    def link(self, is_awaited: "IsAwaited") -> DaemonLink | None:
        """Return a link to a server; None once `is_awaited` returns False.

        This process becomes the server if a daemon hung or refused the client, or more than MOST_LOSSES ended.
        Raises CannotServe if it cannot.
        """
        if self._in_process is not None:
            self._in_process.lost()
        last_stamp, self._settings_stamp = self._settings_stamp, self._invocation.settings_stamp()
        # A daemon that made room for one with changed settings was not lost.
        if self._has_served and last_stamp == self._settings_stamp:
            now = time.monotonic()
            self._losses = [*(loss for loss in self._losses if now - loss < LOSS_WINDOW), now]
        try:
            if self._hung:
                raise NoDaemon(_hung(self._invocation, "no longer answers"))
            if len(self._losses) > MOST_LOSSES:
                raise NoDaemon(f"it ended {len(self._losses)} times in {LOSS_WINDOW:g} s")
            pending, self._pending = self._pending, None
            link = attach(self._invocation, self._session, is_awaited, pending)
            return None if link is None else self._remember(link)
        except NoDaemon as reason:
            # Settings that do not fit fail again below, with a better message.
            if not isinstance(reason, InvalidInvocation):
                report_no_daemon(self._invocation, reason)
        from minutebook.record.errors import InvalidInput
        from minutebook.serve.stdio.in_process import in_process

        try:
            self._in_process = in_process(self._invocation)
        except InvalidInput as error:
            raise CannotServe(str(error)) from error
        return self._in_process.link(self._session)

    def _remember(self, link: DaemonLink) -> DaemonLink:
        """Note the session of a link, and that it served; return the link."""
        self._session = link.session
        self._has_served = True
        return link

    def end(self, status: int = 0) -> "NoReturn":
        """End the process at once."""
        if self._in_process is not None:
            self._in_process.end(status)
        os._exit(status)


def report_no_daemon(invocation: Invocation, reason: Exception) -> None:
    """Write to stderr and to the daemon's log why this process serves without a daemon."""
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
    is_awaited: "IsAwaited" = _always,
    pending: socket.socket | None = None,
) -> DaemonLink | None:
    """Connect to the daemon of an invocation, which is started if need be; return None once `is_awaited` returns False.

    `session` names the session to continue, if any; `pending` is a connection on which the daemon was
    greeted already. Raises NoDaemon if the daemon refuses the client, ends, or takes longer than DAEMON_WAIT.
    """
    from minutebook.serve.daemon.spawning import StartFailed

    waiting = _Waiting(is_awaited, invocation)
    reason: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            connection = pending
            if connection is None:
                connection = _connect_or_start(
                    invocation, daemon_address(invocation.address), waiting
                )
                if connection is None:
                    return None
                _send_hello(connection, invocation, session)
        except (ConnectionError, EOFError) as error:
            reason = error
            continue
        except StartFailed as error:
            raise (InvalidInvocation if error.is_invalid else NoDaemon)(str(error)) from error
        except OSError as error:
            raise NoDaemon(str(error)) from error
        pending = None
        try:
            return _await_welcome(connection, waiting)
        except (ConnectionError, EOFError) as error:
            # The daemon was ending when it accepted us: the next attempt reaches another.
            reason = error
    raise NoDaemon(f"the daemon ends before it answers: {reason}")


def _await_welcome(connection: socket.socket, waiting: "_Waiting") -> DaemonLink | None:
    """Wait for the daemon's welcome, and return the link; None once the client waits no more.

    Raises NoDaemon if the daemon refuses, ConnectionError or EOFError if it ends before it answers.
    """
    try:
        while not select.select([connection], [], [], _LOOK)[0]:
            if not waiting.is_awaited():
                connection.close()
                return None
        return _welcome(connection)
    except NoDaemon:
        connection.close()
        raise
    except (ConnectionError, EOFError):
        raise
    except (OSError, ValueError) as error:
        raise NoDaemon(f"the daemon does not answer: {error}") from error


class _Waiting:
    """The time that a client waits for a daemon: it is limited, and stderr says now and then how long it is."""

    def __init__(self, is_awaited: "IsAwaited", invocation: Invocation) -> None:
        self._is_awaited = is_awaited
        self._invocation = invocation
        self._since = time.monotonic()
        self._reports_after = PATIENCE

    def is_awaited(self) -> bool:
        """Tell whether the client still waits. Raises NoDaemon after DAEMON_WAIT."""
        waited = time.monotonic() - self._since
        if waited > DAEMON_WAIT:
            raise NoDaemon(_hung(self._invocation, f"has not answered for {waited:.0f} s"))
        if waited > self._reports_after:
            self._reports_after *= 2
            sys.stderr.write(
                f"minutebook: the daemon is starting or busy; waiting for it, for {waited:.0f} s now\n"
            )
            sys.stderr.flush()
        return self._is_awaited()


def _hung(invocation: Invocation, how: str) -> str:
    """Return the message that the daemon lives and does not answer, with the command that ends it."""
    pid = daemon_address(invocation.address).socket.process()
    return f"it lives but {how}; end it" + (f" with: kill -9 {pid}" if pid else "")


def ask(
    address: DaemonAddress, word: str, within: float = WELCOME_WAIT
) -> dict[str, object] | None:
    """Ask a daemon for its status, or with the word `stop` to end; return its status, None if no daemon answers."""
    try:
        with address.socket.connect(within) as connection:
            send_line(connection, {"ask": word})
            answer: dict[str, object] = json.loads(read_line(connection, within))
            return answer
    except (OSError, EOFError, ValueError):
        return None


def stop(address: DaemonAddress) -> bool:
    """Ask a daemon to answer the calls under way and end; return whether it stopped to listen within WELCOME_WAIT."""
    ask(address, "stop")
    until = time.monotonic() + WELCOME_WAIT
    while os.path.exists(address.socket.path):
        if time.monotonic() > until:
            return False
        time.sleep(_POLL)
    return True


def start(invocation: Invocation, address: DaemonAddress) -> None:
    """Start the daemon of an address unless it runs, and wait until it listens.

    Raises NoDaemon if the daemon ends before it listens.
    """
    from minutebook.serve.daemon.spawning import StartFailed

    try:
        connection = _connect_or_start(invocation, address, _Waiting(_always, invocation))
    except StartFailed as error:
        raise NoDaemon(str(error)) from error
    if connection is not None:
        connection.close()


def _connect_or_start(
    invocation: Invocation, address: DaemonAddress, waiting: "_Waiting"
) -> socket.socket | None:
    """Connect to the daemon of an address, or start it; return None once the client waits no more."""
    from minutebook.serve.daemon.spawning import start_and_connect

    return _connect(address) or start_and_connect(invocation, address, _connect, waiting.is_awaited)


def _connect(address: DaemonAddress) -> socket.socket | None:
    """Connect to the daemon of an address; return None if it does not listen, or its queue is full."""
    try:
        return address.socket.connect(WELCOME_WAIT)
    except (FileNotFoundError, ConnectionError, TimeoutError, BlockingIOError):
        return None


def _send_hello(connection: socket.socket, invocation: Invocation, session: str) -> None:
    hello = {**invocation.greeting, "contracts": invocation.contracts, "session": session}
    try:
        connection.settimeout(WELCOME_WAIT)
        send_line(connection, hello)
    except BaseException:
        connection.close()
        raise


def _welcome(connection: socket.socket) -> DaemonLink:
    """Read the daemon's welcome, and return the link. Raises NoDaemon if it refuses the client."""
    try:
        answer = json.loads(read_line(connection, WELCOME_WAIT))
        connection.settimeout(None)
        if "refused" in answer:
            kind = InvalidInvocation if answer.get("invalid") else NoDaemon
            raise kind(str(answer["refused"]))
        return DaemonLink(connection, frozenset(answer["reading"]), answer["session"])
    except BaseException:
        connection.close()
        raise
