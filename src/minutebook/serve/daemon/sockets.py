"""The socket of a daemon, which clients find by a file.

Standard library only and little of it, since the thin proxy imports it.
"""

import os
import socket
import sys

BACKLOG = 1024
"""Connections that may wait to be accepted; the system refuses further ones."""


class DaemonSocket:
    """The socket of a daemon at the path of a file; users that may read the file may connect."""

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self) -> socket.socket:
        """Return a listening socket; a file left by a daemon that died is replaced. Raises OSError if the system refuses."""
        raise NotImplementedError

    def check(self, client: socket.socket) -> None:
        """Raise OSError if a client may not connect."""
        raise NotImplementedError

    def connect(self, wait: float) -> socket.socket:
        """Connect within `wait` seconds. Raises OSError if no daemon answers."""
        raise NotImplementedError

    def process(self) -> int | None:
        """Return the id of the process that listens; None if none does, or the system hides it."""
        return None

    def unlink(self) -> None:
        """Remove the file."""
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass


class UnixSocket(DaemonSocket):
    """A socket of the file system: only its owner can reach it, so every client is the owner."""

    def open(self) -> socket.socket:
        """Return a listening socket, at the path."""
        self.unlink()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        os.chmod(self.path, 0o600)
        listener.listen(BACKLOG)
        return listener

    def check(self, client: socket.socket) -> None:
        """Accept every client."""

    def connect(self, wait: float) -> socket.socket:
        """Connect."""
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(wait)
            connection.connect(self.path)
        except OSError:
            connection.close()
            raise
        return connection

    def process(self) -> int | None:
        """Return the id of the process that listens."""
        if not hasattr(socket, "SO_PEERCRED"):
            return None
        try:
            with self.connect(1.0) as connection:
                pid = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4)
        except OSError:
            return None
        return int.from_bytes(pid, sys.byteorder)
