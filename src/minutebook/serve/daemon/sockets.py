"""The socket of a daemon, which a file leads to.

Standard library only and little of it, for the thin proxy imports it.
"""

import os
import socket
import sys

BACKLOG = 1024
"""How many connections wait to be let in; the system sends the next away at once."""


class DaemonSocket:
    """A file that leads to a daemon, for users that may read it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self) -> socket.socket:
        """Listen, in place of a daemon that died. Raises OSError if the system refuses."""
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
        """Listen."""
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
