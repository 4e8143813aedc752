"""Where a daemon and its clients meet: a socket in a folder that is its owner's alone.

The folder is the machine's, not the store's: a data directory may be shared between machines, or
have a path that is too long for a socket. Standard library only, for the thin proxy imports it.
"""

import json
import os
import socket
import stat
import sys
import time

from minutebook.serve.daemon.sockets import DaemonSocket, UnixSocket

LOG = "daemon.log"
"""The log of daemons, in the data directory."""

TAKEN = 3
"""The exit status of a process that found another daemon at its address."""

INVALID = 4
"""The exit status of a process that could not become the daemon because its settings do not fit together."""

_LONGEST_LINE = 1 << 20


class DaemonAddress:
    """The files of the daemon that has an address: its lock and its socket."""

    def __init__(self, folder: str, address: str) -> None:
        path = os.path.join(folder, address)
        self.lock = f"{path}.lock"
        """The file that the daemon holds locked as long as it lives."""
        self.socket = _socket_at(f"{path}.door")

    def unlink(self) -> None:
        """Remove the socket and the lock of a daemon that ends."""
        self.socket.unlink()
        try:
            os.unlink(self.lock)
        except FileNotFoundError:
            pass


def daemon_address(address: str) -> DaemonAddress:
    """Return the files of the daemon that has an address. Raises OSError if their folder cannot be used."""
    return DaemonAddress(folder(), address)


def folder() -> str:
    """Return the folder of all daemons of this user; make it if it is missing.

    Raises PermissionError if it is not the user's own.
    """
    return owned(_folder())


def owned(path: str) -> str:
    """Make a folder if it is missing. Raises PermissionError if others can open it."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{path} is no folder")
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
        raise PermissionError(f"{path} is open to others; remove it")
    return path


def all_of_this_user() -> list[DaemonAddress]:
    """Return the addresses of all daemons of this user that may run."""
    path = folder()
    locks = [name.removesuffix(".lock") for name in os.listdir(path) if name.endswith(".lock")]
    return [DaemonAddress(path, address) for address in sorted(locks)]


def read_line(connection: socket.socket, within: float) -> bytes:
    """Read the first line of a connection, after which the sender waits for an answer.

    Raises EOFError if the connection ends before, TimeoutError after `within` seconds.
    """
    line, until = b"", time.monotonic() + within
    while not line.endswith(b"\n"):
        # The time is for all parts together, so that a slow sender is not awaited for ever.
        connection.settimeout(max(0.001, until - time.monotonic()))
        more = connection.recv(65536)
        if not more or len(line) > _LONGEST_LINE:
            raise EOFError("the connection ended within its first line")
        line += more
    return line


def send_line(connection: socket.socket, message: object) -> None:
    """Send a message as a line of JSON. Raises OSError if the other end is gone."""
    connection.sendall(json.dumps(message).encode() + b"\n")


def _socket_at(path: str) -> DaemonSocket:
    if hasattr(socket, "AF_UNIX"):
        return UnixSocket(path)
    from minutebook.serve.daemon.tcp_socket import TcpSocket

    return TcpSocket(path)


if sys.platform == "win32":

    def _folder() -> str:
        return os.path.expanduser("~\\AppData\\Local\\minutebook\\run")

else:

    def _folder() -> str:
        # Not XDG_RUNTIME_DIR: some clients start servers without it, and all are to meet.
        runtime = f"/run/user/{os.getuid()}"
        if os.access(runtime, os.W_OK) and os.stat(runtime).st_uid == os.getuid():
            return f"{runtime}/minutebook"
        return f"/tmp/minutebook-{os.getuid()}"  # noqa: S108 - checked by `folder`
