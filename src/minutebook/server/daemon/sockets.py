"""The door of a daemon: a socket that a file leads to.

Standard library only and little of it, for the thin proxy imports it.
"""

import os
import socket
import sys

BACKLOG = 1024
"""How many guests wait to be let in; the system sends the next away at once."""


class Door:
    """A file that leads to a daemon, for those who may read it."""

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self) -> socket.socket:
        """Listen; what a daemon that died has left of a door is cleared away. OSError."""
        raise NotImplementedError

    def check(self, guest: socket.socket) -> None:
        """Refuse a guest who may not come in: OSError."""
        raise NotImplementedError

    def enter(self, wait: float) -> socket.socket:
        """Connect, after `wait` seconds at most; OSError where no daemon answers."""
        raise NotImplementedError

    def process(self) -> int | None:
        """Return the id of the process that listens; None if none does, or the system hides it."""
        return None

    def take_away(self) -> None:
        """Leave no trace of it."""
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass


class UnixSocket(Door):
    """A socket of the file system: only its owner can reach it, so every guest is the owner."""

    def open(self) -> socket.socket:
        """Listen."""
        self.take_away()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        os.chmod(self.path, 0o600)
        listener.listen(BACKLOG)
        return listener

    def check(self, guest: socket.socket) -> None:
        """Let everyone in."""

    def enter(self, wait: float) -> socket.socket:
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
            with self.enter(1.0) as connection:
                told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4)
        except OSError:
            return None
        return int.from_bytes(told, sys.byteorder)
