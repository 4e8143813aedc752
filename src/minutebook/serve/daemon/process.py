"""The daemon: one process that serves all stdio clients of a data directory that agree on its settings.

It has one store, one model and one watcher for them. `spawning.py` starts it.
"""

import json
import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from minutebook import __version__
from minutebook.config import Settings, environment, load
from minutebook.config.settings import differing, shared
from minutebook.memory.maintenance.data_directory import make_home
from minutebook.record.caller import with_call
from minutebook.record.errors import InvalidInput, MinutebookError
from minutebook.record.writing.turns import check_session
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.contracts.registry import narrowed, opened
from minutebook.serve.daemon import operations
from minutebook.serve.daemon.operations import DaemonHost, LeftToClient
from minutebook.serve.daemon.rendezvous import INVALID, LOG, DaemonAddress, read_line
from minutebook.serve.dispatch import new_session
from minutebook.serve.invocation import FILE, stamp
from minutebook.serve.logs import log_to_stderr
from minutebook.serve.stdio.in_process import connection_server, reading_tools
from minutebook.serve.stdio.transport import DRAIN_WITHIN, serve_on

log = logging.getLogger(__name__)

LOG_SIZE = 1 << 20
"""Bytes after which the log is put aside; what was put aside before is lost."""

HELLO_WAIT = 10.0
"""Seconds in which a client has to say what it wants."""

IDLE = 600.0
"""Seconds without any client after which the daemon ends."""

TICK = 1.0
"""Seconds between two looks at whether the daemon is still wanted."""

_WORDS = 64

SLOW = 5.0
"""Seconds of a start that are worth a warning."""


_STATED: Mapping[str, type[Any]] = {"given": dict, "variables": dict, "folder": str}
"""The fields of every client's first message beside its version, all of texts."""

_SERVED: Mapping[str, type[Any]] = {**_STATED, "contracts": list, "session": str}
_OPERATES: Mapping[str, type[Any]] = {**_STATED, "user": str}


class Daemon:
    """Serves every client that connects, until there is none for a while or its home is gone.

    It ends, too, once the file of settings says otherwise than what it runs with, and another takes its place.
    """

    def __init__(
        self,
        configured: "Configured",
        address: DaemonAddress,
        is_in_place: Callable[[], bool],
        began: float,
        successor: Callable[[], int],
    ) -> None:
        """`is_in_place` tells whether the place is still this daemon's; `began`, when it started.

        `successor` starts another that takes the place once this one has ended, and returns a pipe on which
        that one says that it is ready.
        """
        self._configured = configured
        self._settings = settings = configured.settings
        self._successor = successor
        self._is_closed = threading.Event()
        self._address = address
        self._is_in_place = is_in_place
        self._began = began
        self._home = _mark(settings.home)
        self._database: tuple[int, int] | None = None
        self._mark: tuple[int, int] | None = None
        self._loader = AppLoader(settings)
        self._lock = threading.Lock()
        self._contracts: dict[tuple[str, ...], list[Contract]] = {}
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._clients = 0
        """How many connections are clients; the others ask something, or have not said what they want."""
        self._since = self._left = time.monotonic()
        self._stopping = threading.Event()
        self._woken, self._waker = socket.socketpair()

    def run(self) -> NoReturn:
        """Serve, then end the process."""
        listener = self._listen()
        took = time.monotonic() - self._began
        level = logging.WARNING if took > SLOW else logging.INFO
        log.log(level, "the daemon listens, %.1f s after its start", took)
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, lambda signum, frame: self._end())
        next_one: threading.Thread | None = None
        while not self._stopping.is_set() and self._is_wanted():
            if next_one is None and self._is_outdated():
                next_one = threading.Thread(target=self._await_next, name="next", daemon=True)
                next_one.start()
            ready, _, _ = select.select([listener, self._woken], [], [], TICK)
            if self._woken in ready:
                self._woken.recv(_WORDS)
            if listener in ready:
                self._accept(listener)
            if _mark(self._path) is None and self._is_in_place():
                log.warning("%s was removed; it is made again", self._path)
                listener.close()
                listener = self._listen()
            _bound_log(self._settings.home)
        self._unlink_socket()
        listener.close()
        self._is_closed.set()
        self._finish()
        self._end()

    def _await_next(self) -> None:
        """Start the daemon that is to take the place, serve until it is ready, then stop."""
        ready = self._successor()
        # One that could not start says nothing, and its end is read: then the next client starts one.
        os.read(ready, 1)
        os.close(ready)
        self._stopping.set()
        self._wake()

    def _listen(self) -> socket.socket:
        listener = self._address.socket.open()
        self._mark = _mark(self._path)
        return listener

    @property
    def _path(self) -> Path:
        return Path(self._address.socket.path)

    def _is_wanted(self) -> bool:
        """Tell whether clients are here or may still come, and the data are those that it has open."""
        database = _mark(self._settings.database)
        if self._database is None:
            self._database = database
        if _mark(self._settings.home) != self._home or database != self._database:
            log.warning("the data directory was removed or replaced; the daemon ends")
            return False
        idle = self._idle()
        if idle is None:
            return True
        return _mark(self._path) == self._mark and idle < IDLE

    def _is_outdated(self) -> bool:
        """Tell whether the file of settings was changed so that another is to take the place; see to it then."""
        if not self._configured.look():
            return False
        self._wake()
        return True

    def _wake(self) -> None:
        with suppress(OSError):
            self._waker.send(b"x")

    def _idle(self) -> float | None:
        """Return for how many seconds there has been no client, None while there is one."""
        with self._lock:
            return None if self._clients else time.monotonic() - self._left

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError as error:
            log.warning("a client could not be let in: %s", error)
            return
        client = threading.Thread(
            target=self._attend, args=(connection,), name="client", daemon=True
        )
        with self._lock:
            self._connections[client] = connection
        client.start()

    def _attend(self, connection: socket.socket) -> None:
        try:
            self._address.socket.check(connection)
            hello = _hello(read_line(connection, HELLO_WAIT))
            if "ask" in hello:
                _say(connection, self._answer(str(hello["ask"])))
            elif "operations" in hello:
                check = self._check_stated if hello.get("reads") is True else self._check_same
                operations.attend(connection, hello, DaemonHost(self._loader, check, self._counted))
            else:
                self._serve(connection, hello)
        except BadHello as error:
            log.info("a client was refused: %s", error)
            with suppress(OSError):
                _say(connection, {"refused": str(error)})
        except (OSError, EOFError, ValueError) as error:
            log.info("a client was not served: %s", error)
        finally:
            connection.close()
            with self._lock:
                del self._connections[threading.current_thread()]

    def _answer(self, ask: str) -> Mapping[str, Any]:
        """Answer a question about the daemon, which may be to stop."""
        if ask == "stop":
            self._stopping.set()
            self._wake()
        idle = self._idle()
        return {
            "pid": os.getpid(),
            "version": __version__,
            "home": os.path.realpath(self._settings.home),
            "clients": self._clients,
            "seconds": round(time.monotonic() - self._since),
            "idle_seconds": None if idle is None else round(idle),
            "ends_in_seconds": (None if idle is None else max(0, round(IDLE - idle))),
            "model": self._loader().embedding.state if self._loader.is_open else "loading",
        }

    def _serve(self, connection: socket.socket, hello: Mapping[str, Any]) -> None:
        if hello["version"] != __version__:
            _say(connection, {"refused": f"it is of version {__version__}"})
            return
        try:
            if hello["session"]:
                check_session(hello["session"])
            settings = load(hello["given"], hello["variables"], hello["folder"])
            contracts = narrowed(
                self._opened(hello["contracts"]),
                read_only=settings.read_only,
                tools=settings.tools,
                answers=settings.answers,
            )
        except MinutebookError as error:
            _say(connection, {"refused": str(error), "invalid": True})
            return
        if self._is_outdated():
            # It is sent away without a word once nobody listens here, and finds the next.
            self._is_closed.wait(HELLO_WAIT)
            return
        if refusal := _refusal(settings, self._settings):
            _say(connection, {"refused": refusal})
            return
        session = hello["session"] or new_session()
        caller = with_call(settings.caller(), session=session)
        server = connection_server(settings, contracts, self._loader, caller, hello["folder"])
        try:
            with self._counted():
                _say(connection, {"reading": sorted(reading_tools(contracts)), "session": session})
                connection.settimeout(None)
                # The thread that serves on it closes its own end.
                serve_on(connection.dup(), server, self._loader.start)
        finally:
            if self._loader.is_open:
                self._loader().database.release(session)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a client: the daemon does not end by itself while one is there."""
        with self._lock:
            self._clients += 1
        try:
            yield
        finally:
            with self._lock:
                self._clients -= 1
                self._left = time.monotonic()

    def _check_same(self, settings: Settings) -> None:
        if self._is_outdated():
            raise EOFError("settings were changed, and another daemon takes this one's place")
        if refusal := _refusal(settings, self._settings):
            raise LeftToClient(refusal)

    def _check_stated(self, settings: Settings) -> None:
        """Do the same for calls that only read: they need not wait for the settings that were just changed."""
        self._is_outdated()
        if refusal := _refusal(settings, self._configured.latest):
            raise LeftToClient(refusal)

    def _opened(self, names: list[str]) -> list[Contract]:
        with self._lock:
            key = tuple(names)
            if key not in self._contracts:
                self._contracts[key] = opened(names)
            return self._contracts[key]

    def _unlink_socket(self) -> None:
        """Remove the socket's file, unless it is another daemon's."""
        if _mark(self._path) == self._mark:
            self._address.unlink()

    def _finish(self) -> None:
        """Answer the calls under way, and end the connections."""
        with self._lock:
            connections = list(self._connections.items())
        for _, connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        until = time.monotonic() + DRAIN_WITHIN
        for client, _ in connections:
            client.join(max(0.0, until - time.monotonic()))

    def _end(self) -> NoReturn:
        """End at once: a transaction under way is finished or undone by its own rules."""
        self._unlink_socket()
        self._loader.close()
        os._exit(0)


def main(
    options: str,
    address: DaemonAddress,
    is_in_place: Callable[[], bool],
    began: float,
    successor: Callable[[], int],
) -> NoReturn:
    """Run the daemon of an address that no other daemon has.

    `options` is JSON of the options given to the client that started it, and their folder; `is_in_place`, `began` and `successor` as `Daemon` takes them.
    """
    try:
        configured = Configured(**json.loads(options))
    except InvalidInput as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(INVALID)
    settings = configured.settings
    make_home(settings.home)
    # All that is said, by whatever part of the process, goes to the log in the data directory.
    _open_log(settings.home)
    log_to_stderr(settings, "info")
    Daemon(configured, address, is_in_place, began, successor).run()


class Configured:
    """The settings that a daemon was started with, and whether their file says otherwise by now."""

    def __init__(self, given: Mapping[str, str], folder: str) -> None:
        """Read the settings that options, variables and file state. Raises InvalidInput if one does not fit.

        Relative paths of options and variables are from `folder`.
        """
        self._load = partial(load, given, environment(), folder)
        self._lock = threading.Lock()
        self.is_outdated = False
        self._file = str(self._load().home / FILE)
        # Looked at before it is read: what is changed between the two is found at the next look.
        self._stamp = stamp(self._file)
        self.settings = self.latest = shared(self._load())

    def look(self) -> bool:
        """Look whether the file was changed, and return `is_outdated`."""
        with self._lock:
            now = stamp(self._file)
            if now == self._stamp:
                return self.is_outdated
            self._stamp = now
            try:
                self.latest = shared(self._load())
            except InvalidInput as error:
                log.warning("the file of settings was changed, and does not fit: %s", error)
                return False
            self.is_outdated = self.latest != self.settings
            if self.is_outdated:
                log.info("the file of settings was changed; another daemon takes this one's place")
            return self.is_outdated


class BadHello(Exception):
    """The first line of a client is not in its form; the message says how."""


def _hello(line: bytes) -> Mapping[str, Any]:
    """Return a client's first message. Raises BadHello if it is not in its form."""
    try:
        hello = json.loads(line)
    except (ValueError, RecursionError):
        raise BadHello("its first line is not JSON, or nested too deeply") from None
    if not isinstance(hello, dict):
        raise BadHello("its first line is no object")
    if "ask" in hello or hello.get("version") != __version__:
        return {"version": None, **hello}
    for name, kind in (_OPERATES if "operations" in hello else _SERVED).items():
        value = hello.get(name)
        if not isinstance(value, kind):
            raise BadHello(f"its first line tells no {name}")
        parts = value.values() if isinstance(value, dict) else value
        if not all(isinstance(part, str) for part in parts):
            raise BadHello(f"its first line tells of {name} what is no text")
    return hello


def _refusal(client: Settings, daemon: Settings) -> str:
    """Return why a daemon does not serve a client; "" if it does."""
    names = differing(client, daemon)
    return f"it was started with another {', '.join(names)}" if names else ""


def _say(connection: socket.socket, answer: Mapping[str, Any]) -> None:
    connection.sendall(json.dumps(answer).encode() + b"\n")


def _mark(path: Path) -> tuple[int, int] | None:
    """Tell a file or folder from one that takes its name."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _open_log(home: Path) -> None:
    file = os.open(home / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)


def _bound_log(home: Path) -> None:
    if os.fstat(2).st_size > LOG_SIZE:
        try:
            (home / LOG).replace(home / f"{LOG}.1")
            _open_log(home)
        except OSError:
            # Windows renames no file that is open.
            os.ftruncate(2, 0)
