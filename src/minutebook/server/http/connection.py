"""Connections that do not wait for ever: for a request to be said, or for an answer to be read."""

from asyncio import BaseTransport, TimerHandle
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class Connection(H11Protocol):
    """One client's connection; it is cut where the client keeps it waiting for `patience` seconds.

    uvicorn bounds only the time between two requests.
    """

    patience = 30.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting: TimerHandle | None = None
        self._blocked: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        """Begin to wait for a request's head."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._waiting = self.loop.call_later(self.patience, self._cut)

    def data_received(self, data: bytes) -> None:
        """Wait on, from a head's first byte, until it is whole."""
        super().data_received(data)
        if not self._is_answering:
            self._waiting = self._waiting or self.loop.call_later(self.patience, self._cut)
        elif self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        super().pause_writing()
        self._blocked = self.loop.call_later(self.patience, self._cut)

    def resume_writing(self) -> None:
        """Wait no longer."""
        super().resume_writing()
        if self._blocked is not None:
            self._blocked.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        for timer in (self._waiting, self._blocked):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _cut(self) -> None:
        self.transport.abort()


def waiting(seconds: float) -> type[Connection]:
    """Give connections that wait for so long."""
    return type("Connection", (Connection,), {"patience": seconds})
