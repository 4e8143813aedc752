"""Start, stop and examine the engine beneath the store, for several connections at once."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from minutebook.memory.access.visibility import seen_by
from minutebook.memory.embeddings import Embeddings
from minutebook.record import policy
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.errors import StoreClosed, StoreError
from minutebook.record.filters import Filter
from minutebook.record.records import CLASSES, Kind, Record
from minutebook.record.rights.redaction import redacted_for
from minutebook.store.protocol import Tended
from minutebook.store.values import Placement, Writes

log = logging.getLogger(__name__)

Counts = Mapping[Kind, int]
"""How many records of each kind a caller may see."""

StoreState = Literal["open", "unreachable", "unwritable"]

PROBE_INTERVAL = 2.0
"""Seconds at least between two writes that only test whether the store takes writes: anybody may ask for that."""

COUNTED_KINDS = (Kind.TURN, Kind.SUMMARY)
"""The kinds whose records `Health` counts."""


class HealthStatus(StrEnum):
    """The state of the database in one word."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the database for one connection; `counts` is None if it could not be read.

    `details` are sentences on what is wrong and what to do. `uptime` is in seconds.
    """

    pulse: HealthStatus
    pid: int | None
    counts: Counts | None
    details: tuple[str, ...]
    uptime: float


class EngineControl:
    """Keeps the engine running as long as one connection of this process wants it to.

    A connection, known by its caller's session, wants it from its first call until it stops it or
    ends. A connection that has stopped it gets StoreClosed, even if the engine runs for others.
    `on_open` is called whenever the engine was opened.
    """

    def __init__(self, engine: Tended, embeddings: Embeddings, on_open: Callable[[], None]) -> None:
        self._engine = engine
        self._embeddings = embeddings
        self._on_open = on_open
        self._guard = threading.Lock()
        self._wanting: set[str] = set()
        self._stopped: set[str] = set()
        self._opened = time.monotonic()
        self._probed_at, self._takes_writes = -PROBE_INTERVAL, True

    def acquire(self, session: str) -> None:
        """Note a connection; a new one wants the engine to run. Raises StoreError if it cannot be opened."""
        if session not in self._wanting and session not in self._stopped:
            with self._guard:
                self._want(session)

    def release(self, session: str) -> None:
        """Forget a connection that has ended."""
        with self._guard:
            self._wanting.discard(session)
            self._stopped.discard(session)

    def start(self, caller: Caller) -> bool:
        """Start the engine for the caller's connection; tell whether that had stopped it. Raises StoreError."""
        policy.check_may_act(caller, "start the database")
        with self._guard:
            was_stopped = caller.call.session in self._stopped
            self._want(caller.call.session)
            self._stopped.discard(caller.call.session)
            return was_stopped

    def stop(self, caller: Caller) -> bool:
        """Stop the engine for the caller's connection; tell whether it ran for it.

        The engine itself stops if no other connection wants it, after the calls under way.
        """
        policy.check_may_act(caller, "stop the database")
        with self._guard:
            was_running = caller.call.session not in self._stopped
            self._stopped.add(caller.call.session)
            self._wanting.discard(caller.call.session)
            if not self._wanting:
                self._engine.close()
            return was_running

    def check_open(self, caller: Caller) -> None:
        """Raise StoreClosed if the connection of this call has stopped the engine."""
        if caller.call.session in self._stopped:
            raise StoreClosed("the store was stopped")

    @property
    def writes(self) -> Writes:
        """The number of writes of this process and the time they took."""
        return self._engine.database.writes

    def size(self) -> int:
        """Return the bytes that the store takes, log and indices included."""
        return self._engine.upkeep.size()

    @property
    def place(self) -> str:
        """The place of the store: a path, or a URL without user and password."""
        return self._engine.database.place

    def to_analyse(self) -> int:
        """Count the texts that another version analysed and that are still to be analysed anew."""
        return self._engine.upkeep.to_analyse()

    def placement(self) -> Placement | None:
        """Return on how many machines the records are; None if they are in a file."""
        return self._engine.database.placement()

    def state(self) -> StoreState:
        """Tell whether the store answers and takes writes; a stopped one counts as open.

        A write tests that, at most every PROBE_INTERVAL seconds.
        """
        try:
            self._engine.database.check_answers()
        except StoreClosed:
            return "open"
        except StoreError as error:
            log.warning("the database cannot be read: %s", error.reason)
            return "unreachable"
        if (now := time.monotonic()) >= self._probed_at + PROBE_INTERVAL:
            fault, self._probed_at = self._engine.database.why_unwritable(), now
            self._takes_writes = fault is None
            if fault is not None:
                log.warning("the database cannot be written: %s", fault.reason)
        return "open" if self._takes_writes else "unwritable"

    def counts(self, classes: Iterable[type[Record]]) -> dict[Kind, int]:
        """Count the records of some classes in all organizations. Raises StoreError if it cannot be read."""
        wheres = [Filter(organization=each) for each in self._engine.organizations()]
        return {of.kind: sum(self._engine.count(of, where) for where in wheres) for of in classes}

    def pid(self, caller: Caller) -> int | None:
        """Return the id of the process that runs the engine for the caller's connection, or None."""
        has_it = self._engine.upkeep.is_open and caller.call.session not in self._stopped
        return os.getpid() if has_it else None

    def health(self, caller: Caller) -> Health:
        """Return the state of the database, found by reading it; nothing is opened or waited for."""
        pid, uptime = self.pid(caller), round(time.monotonic() - self._opened, 3)
        try:
            self.check_open(caller)
            seen = seen_by(self._engine, without_folder_scope(caller))
            counts = {kind: seen.count(CLASSES[kind]) for kind in COUNTED_KINDS}
        except StoreClosed:
            detail = "The database is stopped; start_database opens it again."
            return Health(HealthStatus.UNHEALTHY, pid, None, (detail,), uptime)
        except StoreError as error:
            log.warning("the database cannot be read: %s", error.reason)
            shown = redacted_for(caller, error)
            assert isinstance(shown, StoreError)
            detail = f"The database cannot be read: {shown.reason}."
            return Health(HealthStatus.UNHEALTHY, pid, None, (detail,), uptime)
        match self._embeddings.state:
            case "ready":
                return Health(HealthStatus.HEALTHY, pid, counts, (), uptime)
            case "loading":
                detail = "The embedding model is loading; until then search goes by words alone."
            case _:
                detail = (
                    "Search goes by words alone, without meaning: the embedding model cannot be "
                    "used. `minutebook doctor` tells why."
                )
        return Health(HealthStatus.DEGRADED, pid, counts, (detail,), uptime)

    def _want(self, session: str) -> None:
        if not self._engine.upkeep.is_open:
            self._engine.upkeep.open()
            self._on_open()
        self._wanting.add(session)


def health_unopened(refusal: str) -> Health:
    """Return the state of a database that could not be opened; `refusal` is a sentence with the reason."""
    detail = f"The database cannot be opened: {refusal}"
    return Health(HealthStatus.UNHEALTHY, None, None, (detail,), 0.0)
