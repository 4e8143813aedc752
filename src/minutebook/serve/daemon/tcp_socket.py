"""The socket of a daemon where there are no Unix sockets: a port of this machine, and a file with port and key."""

import hmac
import os
import socket

from minutebook.serve.daemon.sockets import BACKLOG, DaemonSocket

PROOF_WAIT = 5.0
"""Seconds in which a client has to prove that it has read the key."""

# Bytes of the key, of a challenge, and of a proof.
_SIZE = 32


class TcpSocket(DaemonSocket):
    """A TCP port on which both ends prove that they have read the key in the file.

    Any process may connect to any port. The daemon proves itself first, since its port may be
    another program's by now.
    """

    def open(self) -> socket.socket:
        """Return a listening socket, and write its port and a new key to the file."""
        # Imported here: the daemon does this, not a client, which must start quickly.
        from pathlib import Path

        from minutebook.store.disk.atomic_file import replace_file

        listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        port, key = listener.getsockname()[1], os.urandom(_SIZE)
        replace_file(Path(self.path), b"%d\n" % port + key)
        return listener

    def check(self, client: socket.socket) -> None:
        """Prove the daemon to a client. Raises OSError if the client cannot prove itself."""
        _, key = self._read()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.settimeout(PROOF_WAIT)
        theirs, ours = _receive(client), os.urandom(_SIZE)
        client.sendall(_proof(key, b"daemon", theirs) + ours)
        if not hmac.compare_digest(_receive(client), _proof(key, b"client", ours)):
            raise ConnectionRefusedError("a client could not prove itself")

    def connect(self, wait: float) -> socket.socket:
        """Connect, and exchange proofs. Raises OSError if no daemon answers, or it cannot prove itself."""
        port, key = self._read()
        connection = socket.create_connection(("127.0.0.1", port), timeout=wait)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            challenge = os.urandom(_SIZE)
            connection.sendall(challenge)
            if not hmac.compare_digest(_receive(connection), _proof(key, b"daemon", challenge)):
                raise ConnectionRefusedError(f"who listens on port {port} is not the daemon")
            connection.sendall(_proof(key, b"client", _receive(connection)))
        except OSError:
            connection.close()
            raise
        return connection

    def _read(self) -> tuple[int, bytes]:
        """Return port and key from the file. Raises OSError if it is missing or damaged."""
        with open(self.path, "rb") as file:
            port, _, key = file.read().partition(b"\n")
        if not port.isdigit() or len(key) != _SIZE:
            raise ConnectionRefusedError(f"{self.path} is no door")
        return int(port), key


def _proof(key: bytes, role: bytes, challenge: bytes) -> bytes:
    return hmac.digest(key, role + challenge, "sha256")


def _receive(connection: socket.socket) -> bytes:
    received = b""
    while len(received) < _SIZE:
        more = connection.recv(_SIZE - len(received))
        if not more:
            raise ConnectionResetError("the other end has gone")
        received += more
    return received
