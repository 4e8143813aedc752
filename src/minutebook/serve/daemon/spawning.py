"""Start a daemon, and wait for it as long as its process lives.

Imported only if no daemon listens yet, so that a client of one that listens starts quickly.
"""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from minutebook.record.errors import StoreError
from minutebook.serve.daemon.rendezvous import INVALID, LOG, TAKEN, DaemonAddress
from minutebook.serve.invocation import Invocation
from minutebook.serve.launch import module_command
from minutebook.store.disk.filelock import FileLock

LOCK_CHECK = 1.0
"""Seconds between two checks whether another process still holds the daemon's lock."""

KILLS = 3
"""Daemons that may be killed before they listen until starting is given up."""

_POLL = 0.02
_SLOW_POLL = 0.2
_PROMPT = 5.0
"""Seconds in which a daemon ordinarily listens."""

_LOG_TAIL = 4096

_ALLOCATOR = {"MALLOC_ARENA_MAX": "2", "MALLOC_TRIM_THRESHOLD_": "1048576"}
"""Variables by which glibc gives freed memory back: 178 MB in place of 211 after a recall and a store. A successor inherits them."""

_APART = sum(
    getattr(subprocess, name, 0) for name in ("CREATE_NEW_PROCESS_GROUP", "CREATE_NO_WINDOW")
)
"""Flags that separate a daemon from its client's console on Windows, as a session of its own does elsewhere."""


class StartFailed(Exception):
    """A daemon ended before it listened; the message says how. `is_invalid` if its settings did not fit together."""

    def __init__(self, how: str, *, is_invalid: bool = False) -> None:
        super().__init__(how)
        self.is_invalid = is_invalid


class _Died(Exception):
    """The process of a daemon ended with a status; `last_line` is the last line that it logged."""

    def __init__(self, status: int, last_line: str) -> None:
        super().__init__()
        self.status = status
        self.last_line = last_line


def start_and_connect(
    invocation: Invocation,
    address: DaemonAddress,
    connect: Callable[[DaemonAddress], socket.socket | None],
    is_awaited: Callable[[], bool],
) -> socket.socket | None:
    """Start a daemon, unless another process does, and return a connection to it; None once `is_awaited` returns False.

    `connect` returns a connection once the daemon listens. Raises StartFailed if the daemon ends by
    itself or is killed KILLS times, OSError if no process can be started.
    """
    kills = 0
    while is_awaited():
        try:
            starting = _Starting(invocation, address)
            return _await_daemon(starting, address, connect, is_awaited)
        except _Died as death:
            kills += death.status < 0
            if death.status >= 0 or kills == KILLS:
                raise StartFailed(
                    _how_it_ended(death, invocation), is_invalid=death.status == INVALID
                ) from None
        except _OtherEnded:
            continue
    return None


class _OtherEnded(Exception):
    """The daemon of another process, which held the lock, ended before it listened."""


def _await_daemon(
    starting: "_Starting",
    address: DaemonAddress,
    connect: Callable[[DaemonAddress], socket.socket | None],
    is_awaited: Callable[[], bool],
) -> socket.socket | None:
    """Return a connection once the daemon listens; None once `is_awaited` returns False.

    Raises _Died if the process of `starting` ends, _OtherEnded if it found another daemon and that ends.
    """
    began = checked = time.monotonic()
    while is_awaited():
        if (connection := connect(address)) is not None:
            return connection
        status, now = starting.process.returncode, time.monotonic()
        if status == TAKEN:
            if now - checked > LOCK_CHECK:
                checked = now
                if not is_held(address):
                    raise _OtherEnded
        elif status is not None:
            raise _Died(status, starting.last_log_line())
        time.sleep(_POLL if now - began < _PROMPT else _SLOW_POLL)
    return None


def spawn_daemon(
    *arguments: str,
    log: int,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    stdout: int = subprocess.DEVNULL,
) -> "subprocess.Popen[bytes]":
    """Start a process that becomes the daemon of an address, unless another is; it outlives this one.

    `arguments` are those of `start.main`. `log` is the file descriptor of its stderr; its `environment` is that of
    this process if None.
    """
    return subprocess.Popen(  # noqa: S603
        module_command("minutebook.serve.daemon.start", *arguments),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=log,
        env=environment,
        cwd=folder,
        start_new_session=True,
        creationflags=_APART,
    )


class _Starting:
    """A started process that becomes the daemon, or finds that another process is."""

    def __init__(self, invocation: Invocation, address: DaemonAddress) -> None:
        self._log = Path(invocation.home, LOG)
        log = _open_log(invocation)
        self._log_size = os.fstat(log).st_size
        self.process = spawn_daemon(
            invocation.address,
            json.dumps({"given": invocation.given, "folder": invocation.folder}),
            log=log,
            folder=Path(address.lock).parent,
            environment={**_ALLOCATOR, **invocation.environment},
        )
        os.close(log)
        # Else a daemon that ends before its parent would stay in the table of processes.
        threading.Thread(target=self.process.wait, name="reap", daemon=True).start()

    def last_log_line(self) -> str:
        """Return the last line that was logged since the process started; "" if there is none."""
        try:
            with self._log.open("rb") as file:
                file.seek(max(self._log_size, self._log.stat().st_size - _LOG_TAIL))
                lines = file.read().decode(errors="replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def is_held(address: DaemonAddress) -> bool:
    """Tell whether a process that is or becomes the daemon of an address holds its lock.

    Raises StartFailed if the lock's file cannot be opened.
    """
    if not Path(address.lock).exists():
        return False
    lock = FileLock(Path(address.lock))
    try:
        return not lock.try_share()
    except StoreError as error:
        raise StartFailed(str(error)) from error
    finally:
        lock.close()


def _how_it_ended(death: _Died, invocation: Invocation) -> str:
    how = f"it ended at once, with status {death.status}"
    if death.status < 0:
        how = f"{KILLS} were killed, the last by {signal.Signals(-death.status).name}"
    last_line = f": {death.last_line}" if death.last_line else ""
    return f"{how}{last_line} ({Path(invocation.home, LOG)} may tell more)"


def _open_log(invocation: Invocation) -> int:
    """Return a file descriptor of the daemon's log, of the null device if the log cannot be opened."""
    how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    try:
        Path(invocation.home).mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(Path(invocation.home, LOG), how, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def log(invocation: Invocation, sentence: str) -> None:
    """Append a warning to the daemon's log, if it can be opened."""
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    file = _open_log(invocation)
    try:
        os.write(file, f"{now} WARNING process {os.getpid()}: {sentence}\n".encode())
    except OSError:
        # The disk is full: stderr has it.
        pass
    finally:
        os.close(file)
