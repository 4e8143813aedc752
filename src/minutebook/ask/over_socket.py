"""Operations by the daemon of this machine, which has the store open and the model loaded; little is imported here."""

import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from minutebook.ask.connection import P, R, StoreConnection
from minutebook.ask.errors import DaemonEnded, RemoteError
from minutebook.ask.operation import Operation
from minutebook.record.caller import no_progress
from minutebook.record.plain import error_of
from minutebook.serve.daemon.greeting import DaemonRefuses, greet, next_answer
from minutebook.serve.daemon.rendezvous import daemon_address, send_line
from minutebook.serve.invocation import Invocation

READY_WAIT = 0.5
"""Seconds in which a daemon has to say that it is ready, else the command does without it."""


class OverSocket(StoreConnection):
    """Runs operations in the daemon."""

    def __init__(
        self, connection: socket.socket, fallback: Callable[[], StoreConnection] | None
    ) -> None:
        """`fallback` opens another connection, for operations that only read, if the daemon ends."""
        super().__init__()
        self._connection = connection
        self._answers = connection.makefile("rb")
        self._fallback = fallback
        self._other: StoreConnection | None = None

    def is_ready(self, invocation: Invocation) -> bool:
        """Greet the daemon; return whether it takes requests. Raises OSError, as `greet`."""
        return greet(self._connection, self._answers, invocation)

    def _run(self, operation: Operation[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        request = {
            "operation": operation.name,
            "arguments": operation.as_json(*arguments, **named),
            "reports": self._progress is not no_progress,
        }
        if self._other is None:
            try:
                return operation.read(self._ask(request))
            except ConnectionError as error:
                if operation.writes or self._fallback is None:
                    raise DaemonEnded(operation.name) from error
                self._other = self._fallback()
        with self._other.reporting(self._progress):
            return self._other.run(operation, *arguments, **named)

    def _ask(self, request: Mapping[str, Any]) -> Any:
        """Send a request, and return the daemon's answer. Raises its error, ConnectionError if it ends first."""
        send_line(self._connection, request)
        while message := next_answer(self._answers):
            match message:
                case {"part": part, "what": what}:
                    self._progress(part, what)
                case {"answer": answer, "notes": notes}:
                    self.notes |= notes
                    return answer
                case {"error": facts, "text": text, "notes": notes}:
                    self.notes |= notes
                    raise error_of(facts) or RemoteError(text)
        raise ConnectionError("the daemon ended")

    def pages(self, folder: str, port: int) -> Iterator[str]:
        """Have the daemon serve the pages while this connection lasts; yield the link that signs a person in.

        `folder` is the folder of the command. Ends when the daemon does. Raises InvalidInput.
        """
        send_line(self._connection, {"pages": {"folder": folder, "port": port}})
        while message := next_answer(self._answers):
            if "error" in message:
                raise error_of(message["error"]) or RemoteError(message["text"])
            yield str(message["link"])

    def close(self) -> None:
        """Leave the daemon."""
        self._answers.close()
        self._connection.close()
        if self._other is not None:
            self._other.close()


def connect(
    invocation: Invocation, fallback: Callable[[], StoreConnection] | None
) -> OverSocket | None:
    """Connect to the daemon of an invocation, with the `fallback` of OverSocket; None if it is not ready or refuses."""
    try:
        connection = daemon_address(invocation.address).socket.connect(READY_WAIT)
    except OSError:
        return None
    daemon = OverSocket(connection, fallback)
    try:
        if daemon.is_ready(invocation):
            return daemon
    except OSError:
        pass
    daemon.close()
    return None


def refusal(invocation: Invocation) -> str:
    """Return why the daemon of an invocation does not serve it; "" if it does, or none is ready."""
    try:
        connection = daemon_address(invocation.address).socket.connect(READY_WAIT)
        with connection, connection.makefile("rb") as answers:
            greet(connection, answers, invocation, reads=True)
    except DaemonRefuses as error:
        return str(error)
    except OSError:
        pass
    return ""
