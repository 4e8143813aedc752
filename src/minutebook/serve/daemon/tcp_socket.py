"""The socket of a daemon where there are no Unix sockets: a port of this machine, a key in a file."""

import hmac
import os
import socket

from minutebook.serve.daemon.sockets import BACKLOG, DaemonSocket

PROOF_WAIT = 5.0
"""Seconds in which a client has to prove itself."""

_SIZE = 32


class TcpSocket(DaemonSocket):
    """A port behind a proof.

    Any process may try any port, so each end proves that it has read the file; the daemon first,
    for its port may have gone to a stranger since.
    """

    def open(self) -> socket.socket:
        """Listen, and write down where."""
        # The daemon does this; a client, which starts quickly, does not.
        from pathlib import Path

        from minutebook.store.disk.atomic_file import replace_file

        listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
        port, key = listener.getsockname()[1], os.urandom(_SIZE)
        replace_file(Path(self.path), b"%d\n" % port + key)
        return listener

    def check(self, client: socket.socket) -> None:
        """Prove oneself, then have the client do so."""
        _, key = self._read()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.settimeout(PROOF_WAIT)
        theirs, ours = _receive(client), os.urandom(_SIZE)
        client.sendall(_proof(key, b"daemon", theirs) + ours)
        if not hmac.compare_digest(_receive(client), _proof(key, b"client", ours)):
            raise ConnectionRefusedError("a client could not prove itself")

    def connect(self, wait: float) -> socket.socket:
        """Connect, and have the daemon prove itself."""
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
        with open(self.path, "rb") as file:
            port, _, key = file.read().partition(b"\n")
        if not port.isdigit() or len(key) != _SIZE:
            raise ConnectionRefusedError(f"{self.path} is no door")
        return int(port), key


def _proof(key: bytes, who: bytes, challenge: bytes) -> bytes:
    return hmac.digest(key, who + challenge, "sha256")


def _receive(connection: socket.socket) -> bytes:
    received = b""
    while len(received) < _SIZE:
        more = connection.recv(_SIZE - len(received))
        if not more:
            raise ConnectionResetError("the other end has gone")
        received += more
    return received
