"""Connections: deadlines for a client's sending and reading, and which connection makes room when all are taken."""

from asyncio import BaseTransport, TimerHandle
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from minutebook.domain.caller import Caller

HEAD_WITHIN = 5.0
"""Seconds in which the head of a request has to come, from its first byte to its last."""

RECLASSIFIED_EVERY = 1.0
"""Seconds after which a server that is full of strangers looks again which of them were let in meanwhile."""


class ClientConnection(H11Protocol):
    """One client's connection; it is closed where the client keeps it waiting too long.

    uvicorn bounds only the time between two requests.
    """

    patience = 30.0
    """Seconds that a client may take to read."""

    open: "ClientConnections"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.address = ""
        self._caller: Caller | None = None
        self._waiting: TimerHandle | None = None
        self._blocked: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        """Begin to wait for a request's head, if there is room for the connection."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self.address = network_of(self.client[0] if self.client else "")
        if not self.open.admit(self):
            # uvicorn answers 503 to whatever is asked for.
            self.limit_concurrency = 0
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Wait on, from a head's first byte, until it is whole."""
        cycle = self.cycle
        super().data_received(data)
        if self.cycle is not cycle:
            self.open.put_last(self)
        if not self._is_answering:
            self._wait_for_head()
        elif self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def on_response_complete(self) -> None:
        """Remember the principal for which the request was answered."""
        self._caller = self.caller
        self.open.put_last(self)
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer an unreadable request; if it was a body, its request is given up, as when the client is gone.

        uvicorn lets the application answer a second time, which fails.
        """
        has_begun = False
        if self._is_answering:
            has_begun = self.cycle.response_started
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if has_begun:
            self.cut()
        else:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        super().pause_writing()
        self._blocked = self.loop.call_later(self.patience, self.cut)

    def resume_writing(self) -> None:
        """Wait no longer."""
        super().resume_writing()
        if self._blocked is not None:
            self._blocked.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self.open.discard(self)
        for timer in (self._waiting, self._blocked):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    @property
    def caller(self) -> Caller | None:
        """The caller of the last authenticated request; None if there was none."""
        state = self.scope["state"] if self.scope else {}
        return state.get("caller", self._caller)

    @property
    def holder(self) -> str:
        """The holder of the connection: a token's bearer, else an address."""
        caller = self.caller
        return caller.principal if caller is not None and caller.token else self.address

    @property
    def waits_for_client(self) -> bool:
        """Whether the next thing to come is the client's: a head, a body, or reading the answer."""
        return not self._is_answering or self.cycle.more_body or self.flow.write_paused

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_head(self) -> None:
        within = min(HEAD_WITHIN, self.patience)
        self._waiting = self._waiting or self.loop.call_later(within, self.cut)

    def cut(self) -> None:
        """Close at once, with nothing more said."""
        self.transport.abort()


class _Held:
    """Connections by holder; those of each in the order in which they began to wait."""

    def __init__(self) -> None:
        self.count = 0
        self._by_holder: dict[str, dict[ClientConnection, None]] = {}

    def add(self, connection: ClientConnection, holder: str) -> None:
        self._by_holder.setdefault(holder, {})[connection] = None
        self.count += 1

    def remove(self, connection: ClientConnection, holder: str) -> None:
        held = self._by_holder[holder]
        del held[connection]
        self.count -= 1
        if not held:
            del self._by_holder[holder]

    def most_first(self) -> Iterator[ClientConnection]:
        """Go through the connections, those of the holder with most first."""
        for held in sorted(self._by_holder.values(), key=len, reverse=True):
            yield from tuple(held)


class ClientConnections:
    """The open connections of a server, at most so many.

    A new one is always let in as long as another only waits for its client: that one makes room.
    Clients that were let in by none yet may hold three quarters, so a quarter is left for the rest.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._most_strangers = max(1, most * 3 // 4)
        self._strangers, self._known = _Held(), _Held()
        self._places: dict[ClientConnection, tuple[_Held, str]] = {}
        self._reclassified_at = 0.0

    def admit(self, new: ClientConnection) -> bool:
        """Count a connection, and close another where there are too many; False if none can be."""
        has_room = self._has_room(new.loop.time())
        self._put(new)
        return has_room

    def put_last(self, connection: ClientConnection) -> None:
        """Count an open connection, by its present holder, as the one that began to wait last."""
        if connection in self._places:
            self.discard(connection)
            self._put(connection)

    def _put(self, connection: ClientConnection) -> None:
        held = self._strangers if connection.caller is None else self._known
        holder = connection.holder
        self._places[connection] = held, holder
        held.add(connection, holder)

    def discard(self, connection: ClientConnection) -> None:
        """Count a connection no longer."""
        if place := self._places.pop(connection, None):
            held, holder = place
            held.remove(connection, holder)

    def _has_room(self, now: float) -> bool:
        if (
            self._strangers.count >= self._most_strangers
            and now - self._reclassified_at >= RECLASSIFIED_EVERY
        ):
            self._reclassified_at = now
            self._reclassify()
        if self._strangers.count >= self._most_strangers:
            return self._make_room(self._strangers)
        if len(self._places) < self._most:
            return True
        return self._make_room(self._strangers) or self._make_room(self._known)

    def _reclassify(self) -> None:
        """Move to the known those strangers that were let in while their answer goes on, such as a stream."""
        for connection in tuple(self._strangers.most_first()):
            if connection.caller is not None:
                self.put_last(connection)

    def _make_room(self, among: _Held) -> bool:
        """Close the one that waits longest, of the client with most of which one waits; False if none does."""
        for connection in among.most_first():
            if connection.waits_for_client:
                # It is lost only when the event loop comes to it.
                self.discard(connection)
                connection.cut()
                return True
        return False


def network_of(address: str) -> str:
    """Return the IPv4 address, or the /64 network of an IPv6 address, which one subscriber has."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address


def bounded(patience: float, most: int) -> type[ClientConnection]:
    """Return the connection class of a server with these timeouts and this many connections."""
    return type(
        "Connection", (ClientConnection,), {"patience": patience, "open": ClientConnections(most)}
    )
