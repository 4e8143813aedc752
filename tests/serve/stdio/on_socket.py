"""A client of a server that speaks over a socket, a line a message."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minutebook.config import settings_with
from minutebook.record.caller import with_call
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.contracts.knowledge import knowledge
from minutebook.serve.dispatch import new_session
from minutebook.serve.stdio.in_process import connection_server
from minutebook.serve.stdio.transport import serve_on

SETTINGS = settings_with(home=Path("unused"))


class SocketClient:
    """A client that writes whatever it likes."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._connection.settimeout(60)
        self._file = connection.makefile("rb")

    def write(self, data: bytes) -> None:
        self._connection.sendall(data)

    def send(self, *messages: object) -> None:
        self.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))

    def read(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._file.readline())
        return answer

    def ask(self, message: object) -> dict[str, Any]:
        self.send(message)
        return self.read()

    def end(self) -> bytes:
        """Stop writing; return all that still comes."""
        self._connection.shutdown(socket.SHUT_WR)
        return self._file.read()

    def vanish(self) -> None:
        self._file.close()
        self._connection.close()


@contextmanager
def connected(opening: AppLoader) -> Iterator[SocketClient]:
    """Serve the knowledge contract to a client, which leaves at the end."""
    near, far = socket.socketpair()
    caller = with_call(SETTINGS.caller(), session=new_session())
    served = connection_server(SETTINGS, [knowledge()], opening, caller)
    thread = threading.Thread(target=serve_on, args=(far, served, opening.start))
    thread.start()
    client = SocketClient(near)
    yield client
    client.vanish()
    thread.join(60)
    assert not thread.is_alive()
