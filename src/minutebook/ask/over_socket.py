"""The daemon of this machine, which has the store open and the model loaded; little is imported for it."""

import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from minutebook.ask.connection import Operating, P, R
from minutebook.ask.errors import DaemonEnded, Told
from minutebook.ask.operation import Operation
from minutebook.record.caller import no_progress
from minutebook.record.plain import error_of
from minutebook.serve.daemon.greeting import DaemonRefuses, greet, next_answer, say
from minutebook.serve.daemon.rendezvous import daemon_address
from minutebook.serve.invocation import Invocation

READY_WAIT = 0.5
"""Seconds in which a daemon has to say that it is ready; a command is not held up by a sick one."""


class OverSocket(Operating):
    """Has operations done by the daemon."""

    def __init__(
        self, connection: socket.socket, otherwise: Callable[[], Operating] | None
    ) -> None:
        """`otherwise` opens another way for calls that only read, if the daemon ends meanwhile."""
        super().__init__()
        self._connection = connection
        self._answers = connection.makefile("rb")
        self._otherwise = otherwise
        self._other: Operating | None = None

    def is_ready(self, invocation: Invocation) -> bool:
        """Tell whether the daemon will do the request of this invocation. Raises OSError."""
        return greet(self._connection, self._answers, invocation)

    def _run(self, operation: Operation[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        request = {
            "operation": operation.name,
            "arguments": operation.given(*arguments, **named),
            "reports": self._progress is not no_progress,
        }
        if self._other is None:
            try:
                return operation.read(self._answered(request))
            except ConnectionError as error:
                if operation.writes or self._otherwise is None:
                    raise DaemonEnded(operation.name) from error
                self._other = self._otherwise()
        with self._other.reporting(self._progress):
            return self._other.run(operation, *arguments, **named)

    def _answered(self, request: Mapping[str, Any]) -> Any:
        """Return the daemon's answer. Raises its error, ConnectionError if it ends before."""
        say(self._connection, request)
        while message := next_answer(self._answers):
            match message:
                case {"part": part, "what": what}:
                    self._progress(part, what)
                case {"answer": answer, "notes": notes}:
                    self.notes |= notes
                    return answer
                case {"error": facts, "text": text, "notes": notes}:
                    self.notes |= notes
                    raise error_of(facts) or Told(text)
        raise ConnectionError("the daemon ended")

    def pages(self, folder: str, port: int) -> Iterator[str]:
        """Have the daemon serve the pages as long as this connection lasts; yield the link that lets in.

        `folder` is the one in which they were asked for. Ends when the daemon does. Raises InvalidInput.
        """
        say(self._connection, {"pages": {"folder": folder, "port": port}})
        while message := next_answer(self._answers):
            if "error" in message:
                raise error_of(message["error"]) or Told(message["text"])
            yield str(message["link"])

    def close(self) -> None:
        """Leave the daemon."""
        self._answers.close()
        self._connection.close()
        if self._other is not None:
            self._other.close()


def connect(invocation: Invocation, otherwise: Callable[[], Operating] | None) -> OverSocket | None:
    """Connect to the daemon of an invocation; None if none is ready, or if it has other settings.

    `otherwise` as `OverSocket` takes it.
    """
    try:
        connection = daemon_address(invocation.address).socket.connect(READY_WAIT)
    except OSError:
        return None
    there = OverSocket(connection, otherwise)
    try:
        if there.is_ready(invocation):
            return there
    except OSError:
        pass
    there.close()
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
