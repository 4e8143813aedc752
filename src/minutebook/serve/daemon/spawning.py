"""Start a daemon and wait for it: as long as its process lives, and no longer.

Imported only where no daemon listens yet, so that a client of one that does starts quickly.
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

AGAIN = 1.0
"""Seconds after which it is looked whether the daemon that is awaited is still there."""

KILLS = 3
"""How many daemons that are started may be killed before they listen."""

_POLL = 0.02
_SLOW_POLL = 0.2
_PROMPT = 5.0
"""Seconds in which a daemon ordinarily listens."""

_LOG_TAIL = 4096

_APART = sum(
    getattr(subprocess, name, 0) for name in ("CREATE_NEW_PROCESS_GROUP", "CREATE_NO_WINDOW")
)
"""What on Windows keeps a daemon from the console of the client that starts it, as a session does elsewhere."""


class Ended(Exception):
    """A daemon ended before it listened; the message says how.

    `is_invalid` tells whether its settings did not fit.
    """

    def __init__(self, how: str, *, is_invalid: bool = False) -> None:
        super().__init__(how)
        self.is_invalid = is_invalid


class _Died(Exception):
    def __init__(self, status: int, last_line: str) -> None:
        super().__init__()
        self.status = status
        self.last_line = last_line


def started(
    invocation: Invocation,
    address: DaemonAddress,
    connected: Callable[[DaemonAddress], socket.socket | None],
    goes_on: Callable[[], bool],
) -> socket.socket | None:
    """Start a daemon, unless another process does, and return a connection to it.

    Returns None once `goes_on` says that nobody waits any more. Raises Ended if the daemon ends by
    itself or is killed KILLS times, OSError if no process can be started.
    """
    kills = 0
    while goes_on():
        try:
            return _awaited(_Starting(invocation, address), address, connected, goes_on)
        except _Died as death:
            kills += death.status < 0
            if death.status >= 0 or kills == KILLS:
                raise Ended(
                    _how_it_ended(death, invocation), is_invalid=death.status == INVALID
                ) from None
        except _NobodyThere:
            continue
    return None


class _NobodyThere(Exception):
    """The daemon that had the place is gone."""


def _awaited(
    starting: "_Starting",
    address: DaemonAddress,
    connected: Callable[[DaemonAddress], socket.socket | None],
    goes_on: Callable[[], bool],
) -> socket.socket | None:
    began = looked = time.monotonic()
    while goes_on():
        if (connection := connected(address)) is not None:
            return connection
        status, now = starting.process.returncode, time.monotonic()
        if status == TAKEN:
            if now - looked > AGAIN:
                looked = now
                if not _is_held(address):
                    raise _NobodyThere
        elif status is not None:
            raise _Died(status, starting.last_log_line())
        time.sleep(_POLL if now - began < _PROMPT else _SLOW_POLL)
    return None


def spawned(
    *arguments: str,
    log: int,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    stdout: int = subprocess.DEVNULL,
) -> "subprocess.Popen[bytes]":
    """Start a process that becomes the daemon of an address, unless another is; it outlives this one.

    `arguments` are those of `start.main`: the address, the options and their folder as JSON. In `log` it says what keeps it
    from starting; `environment` is this process's if None.
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
    """A process that begins to be the daemon, or finds that another is."""

    def __init__(self, invocation: Invocation, address: DaemonAddress) -> None:
        self._log = Path(invocation.home, LOG)
        log = _log_of(invocation)
        self._log_size = os.fstat(log).st_size
        self.process = spawned(
            invocation.address,
            json.dumps({"given": invocation.given, "folder": invocation.folder}),
            log=log,
            folder=Path(address.lock).parent,
            environment=invocation.environment,
        )
        os.close(log)
        # A parent that outlives the daemon must not leave a zombie in the table of processes.
        threading.Thread(target=self.process.wait, name="reap", daemon=True).start()

    def last_log_line(self) -> str:
        """Return the last line that was logged since."""
        try:
            with self._log.open("rb") as file:
                file.seek(max(self._log_size, self._log.stat().st_size - _LOG_TAIL))
                lines = file.read().decode(errors="replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def is_held(address: DaemonAddress) -> bool:
    """Tell whether a process lives that is the daemon of a place, or becomes it."""
    return Path(address.lock).exists() and _is_held(address)


def _is_held(address: DaemonAddress) -> bool:
    lock = FileLock(Path(address.lock))
    try:
        return not lock.try_share()
    except StoreError as error:
        raise Ended(str(error)) from error
    finally:
        lock.close()


def _how_it_ended(death: _Died, invocation: Invocation) -> str:
    how = f"it ended at once, with status {death.status}"
    if death.status < 0:
        how = f"{KILLS} were killed, the last by {signal.Signals(-death.status).name}"
    last_line = f": {death.last_line}" if death.last_line else ""
    return f"{how}{last_line} ({Path(invocation.home, LOG)} may tell more)"


def _log_of(invocation: Invocation) -> int:
    """Open the log to which a daemon writes why it cannot start, where there can be one."""
    how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    try:
        Path(invocation.home).mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(Path(invocation.home, LOG), how, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def log(invocation: Invocation, sentence: str) -> None:
    """Enter a sentence in the log of daemons, where there is one."""
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    file = _log_of(invocation)
    try:
        os.write(file, f"{now} WARNING process {os.getpid()}: {sentence}\n".encode())
    except OSError:
        # The disk is full: stderr has it.
        pass
    finally:
        os.close(file)
