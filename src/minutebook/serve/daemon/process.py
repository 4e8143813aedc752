"""The daemon: one process that serves all stdio clients of a data directory that have the same settings.

They share its store, its model and its watcher. `spawning.py` starts it.
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
from minutebook.serve.contracts.registry import narrowed, open_contracts
from minutebook.serve.daemon import operations
from minutebook.serve.daemon.operations import DaemonHost, LeftToClient
from minutebook.serve.daemon.rendezvous import INVALID, LOG, DaemonAddress, read_line, send_line
from minutebook.serve.dispatch import new_session
from minutebook.serve.invocation import FILE, stamp
from minutebook.serve.logs import log_to_stderr
from minutebook.serve.stdio.in_process import connection_server, reading_tools
from minutebook.serve.stdio.transport import DRAIN_WITHIN, serve_on

log = logging.getLogger(__name__)

LOG_SIZE = 1 << 20
"""Bytes after which the log is renamed to `daemon.log.1`, in place of an older one."""

HELLO_WAIT = 10.0
"""Seconds in which a client has to send its first message."""

IDLE = 600.0
"""Seconds without any client after which the daemon ends."""

TICK = 1.0
"""Seconds between two checks whether the daemon is still needed."""

_WAKE_BYTES = 64

SLOW = 5.0
"""Seconds of a start that are worth a warning."""


_COMMON_FIELDS: Mapping[str, type[Any]] = {"given": dict, "variables": dict, "folder": str}
"""The fields of every client's first message but its version, with their types; all that they hold is texts."""

_SERVE_FIELDS: Mapping[str, type[Any]] = {**_COMMON_FIELDS, "contracts": list, "session": str}
_OPERATION_FIELDS: Mapping[str, type[Any]] = {**_COMMON_FIELDS, "user": str}


class Daemon:
    """Serves every client that connects, until there is none for IDLE seconds or the data directory is gone.

    It ends, too, once the file of settings was changed and a successor with these settings is ready.
    """

    def __init__(
        self,
        source: "SettingsSource",
        address: DaemonAddress,
        is_in_place: Callable[[], bool],
        began: float,
        successor: Callable[[], int],
    ) -> None:
        """`is_in_place` tells whether this daemon still holds its lock file; `began` is when it started, by `time.monotonic`.

        `successor` starts the process that succeeds this one, and returns the pipe on which it says that it is ready.
        """
        self._source = source
        self._settings = settings = source.settings
        self._successor = successor
        self._is_closed = threading.Event()
        self._address = address
        self._is_in_place = is_in_place
        self._began = began
        self._home = _identity(settings.home)
        self._database: tuple[int, int] | None = None
        self._socket_file: tuple[int, int] | None = None
        self._loader = AppLoader(settings)
        self._lock = threading.Lock()
        self._contracts: dict[tuple[str, ...], list[Contract]] = {}
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._clients = 0
        """The connections of clients; the others ask something, or have sent nothing yet."""
        self._started_at = self._last_client_at = time.monotonic()
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
        successor: threading.Thread | None = None
        while not self._stopping.is_set() and self._is_needed():
            if successor is None and self._is_outdated():
                successor = threading.Thread(target=self._await_successor, daemon=True)
                successor.start()
            ready, _, _ = select.select([listener, self._woken], [], [], TICK)
            if self._woken in ready:
                self._woken.recv(_WAKE_BYTES)
            if listener in ready:
                self._accept(listener)
            if _identity(self._path) is None and self._is_in_place():
                log.warning("%s was removed; it is made again", self._path)
                listener.close()
                listener = self._listen()
            _limit_log(self._settings.home)
        self._unlink_socket()
        listener.close()
        self._is_closed.set()
        self._drain()
        self._end()

    def _await_successor(self) -> None:
        """Start the successor, and stop once it is ready."""
        ready = self._successor()
        # If it cannot start, the pipe ends: this daemon stops as well, and the next client starts another.
        os.read(ready, 1)
        os.close(ready)
        self._stopping.set()
        self._wake()

    def _listen(self) -> socket.socket:
        listener = self._address.socket.open()
        self._socket_file = _identity(self._path)
        return listener

    @property
    def _path(self) -> Path:
        return Path(self._address.socket.path)

    def _is_needed(self) -> bool:
        """Tell whether the data directory was not replaced, and clients are connected or were within IDLE seconds."""
        database = _identity(self._settings.database)
        if self._database is None:
            self._database = database
        if _identity(self._settings.home) != self._home or database != self._database:
            log.warning("the data directory was removed or replaced; the daemon ends")
            return False
        idle = self._idle()
        if idle is None:
            return True
        return _identity(self._path) == self._socket_file and idle < IDLE

    def _is_outdated(self) -> bool:
        """Tell whether the file of settings was changed; wake the main loop then, which starts the successor."""
        if not self._source.look():
            return False
        self._wake()
        return True

    def _wake(self) -> None:
        with suppress(OSError):
            self._waker.send(b"x")

    def _idle(self) -> float | None:
        """Return the seconds since the last client left, None while there is one."""
        with self._lock:
            return None if self._clients else time.monotonic() - self._last_client_at

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
                send_line(connection, self._answer(str(hello["ask"])))
            elif "operations" in hello:
                check = self._check_latest if hello.get("reads") is True else self._check_same
                operations.attend(connection, hello, DaemonHost(self._loader, check, self._counted))
            else:
                self._serve(connection, hello)
        except BadHello as error:
            log.info("a client was refused: %s", error)
            with suppress(OSError):
                send_line(connection, {"refused": str(error)})
        except (OSError, EOFError, ValueError) as error:
            log.info("a client was not served: %s", error)
        finally:
            connection.close()
            with self._lock:
                del self._connections[threading.current_thread()]

    def _answer(self, ask: str) -> Mapping[str, Any]:
        """Return the daemon's status; stop if `ask` is `stop`."""
        if ask == "stop":
            self._stopping.set()
            self._wake()
        idle = self._idle()
        return {
            "pid": os.getpid(),
            "version": __version__,
            "home": os.path.realpath(self._settings.home),
            "clients": self._clients,
            "seconds": round(time.monotonic() - self._started_at),
            "idle_seconds": None if idle is None else round(idle),
            "ends_in_seconds": (None if idle is None else max(0, round(IDLE - idle))),
            "model": self._loader().embedding.state if self._loader.is_open else "loading",
        }

    def _serve(self, connection: socket.socket, hello: Mapping[str, Any]) -> None:
        """Serve contracts to a client, as its first message asks, until it leaves."""
        if hello["version"] != __version__:
            send_line(connection, {"refused": f"it is of version {__version__}"})
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
            send_line(connection, {"refused": str(error), "invalid": True})
            return
        if self._is_outdated():
            # The connection ends without an answer once this daemon listens no more; the client then connects to the successor.
            self._is_closed.wait(HELLO_WAIT)
            return
        if refusal := _refusal(settings, self._settings):
            send_line(connection, {"refused": refusal})
            return
        session = hello["session"] or new_session()
        caller = with_call(settings.caller(), session=session)
        server = connection_server(settings, contracts, self._loader, caller, hello["folder"])
        try:
            with self._counted():
                send_line(
                    connection, {"reading": sorted(reading_tools(contracts)), "session": session}
                )
                connection.settimeout(None)
                # The thread that serves on it closes its own end.
                serve_on(connection.dup(), server, self._loader.start)
        finally:
            if self._loader.is_open:
                self._loader().database.release(session)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a client within this context: the daemon does not end by itself while there is one."""
        with self._lock:
            self._clients += 1
        try:
            yield
        finally:
            with self._lock:
                self._clients -= 1
                self._last_client_at = time.monotonic()

    def _check_same(self, settings: Settings) -> None:
        """Raise EOFError if a successor takes over, LeftToClient if a client's settings are not the daemon's."""
        if self._is_outdated():
            raise EOFError("settings were changed, and another daemon takes this one's place")
        if refusal := _refusal(settings, self._settings):
            raise LeftToClient(refusal)

    def _check_latest(self, settings: Settings) -> None:
        """Raise LeftToClient if a client's settings are not the latest: for calls that only read, which need no successor."""
        self._is_outdated()
        if refusal := _refusal(settings, self._source.latest):
            raise LeftToClient(refusal)

    def _opened(self, names: list[str]) -> list[Contract]:
        with self._lock:
            key = tuple(names)
            if key not in self._contracts:
                self._contracts[key] = open_contracts(names)
            return self._contracts[key]

    def _unlink_socket(self) -> None:
        """Remove the socket's file, unless it is another daemon's."""
        if _identity(self._path) == self._socket_file:
            self._address.unlink()

    def _drain(self) -> None:
        """Let clients send no more, and wait up to DRAIN_WITHIN seconds for the answers under way."""
        with self._lock:
            connections = list(self._connections.items())
        for _, connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        until = time.monotonic() + DRAIN_WITHIN
        for client, _ in connections:
            client.join(max(0.0, until - time.monotonic()))

    def _end(self) -> NoReturn:
        """End the process at once; the engine completes or undoes a transaction under way."""
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
    """Run the daemon of an address that this process has claimed.

    `options` is JSON of the options of the client that started the daemon, and their folder; the other arguments are
    those of `Daemon`.
    """
    try:
        source = SettingsSource(**json.loads(options))
    except InvalidInput as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(INVALID)
    settings = source.settings
    make_home(settings.home)
    # Whatever any part of the process prints goes to the log in the data directory.
    _open_log(settings.home)
    log_to_stderr(settings, "info")
    Daemon(source, address, is_in_place, began, successor).run()


class SettingsSource:
    """The settings that a daemon was started with, and whether their file was changed since."""

    def __init__(self, given: Mapping[str, str], folder: str) -> None:
        """Read the settings from options, variables and file. Raises InvalidInput if one does not fit.

        Relative paths in options and variables are relative to `folder`.
        """
        self._load = partial(load, given, environment(), folder)
        self._lock = threading.Lock()
        self.is_outdated = False
        self._file = str(self._load().home / FILE)
        # The stamp is taken before the file is read, so that a change in between is found by the next `look`.
        self._stamp = stamp(self._file)
        self.settings = self.latest = shared(self._load())

    def look(self) -> bool:
        """Read the file again if it was changed; return whether its settings now differ from those of the start."""
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
    for name, kind in (_OPERATION_FIELDS if "operations" in hello else _SERVE_FIELDS).items():
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


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file or folder, which another of the same name does not have; None if it is gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _open_log(home: Path) -> None:
    """Have stdout and stderr write to the log in a data directory."""
    file = os.open(home / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)


def _limit_log(home: Path) -> None:
    """Rename the log and begin another if it is larger than LOG_SIZE."""
    if os.fstat(2).st_size > LOG_SIZE:
        try:
            (home / LOG).replace(home / f"{LOG}.1")
            _open_log(home)
        except OSError:
            # Windows renames no file that is open.
            os.ftruncate(2, 0)
