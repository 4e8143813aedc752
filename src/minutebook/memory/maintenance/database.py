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

PROBED_EVERY = 2.0
"""Seconds between two writes that are tried only to see whether there can be any: anybody may ask."""

COUNTED = (Kind.TURN, Kind.SUMMARY)


class HealthStatus(StrEnum):
    """How the database is."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True)
class Health:
    """How the database is for one connection; `counts` is None where it could not be read.

    `details` say what is not as it should be, and what to do. `uptime` is in seconds.
    """

    pulse: HealthStatus
    pid: int | None
    counts: Counts | None
    details: tuple[str, ...]
    uptime: float


class EngineControl:
    """Keeps the engine running as long as one connection of this process wants it to.

    A connection, known by its caller's session, wants it from its first call until it stops it or
    leaves. One that has stopped it is told so, whatever the others do.
    """

    def __init__(self, engine: Tended, embeddings: Embeddings, woken: Callable[[], None]) -> None:
        self._engine = engine
        self._embeddings = embeddings
        self._woken = woken
        self._guard = threading.Lock()
        self._wanting: set[str] = set()
        self._stopped: set[str] = set()
        self._opened = time.monotonic()
        self._probed_at, self._takes_writes = -PROBED_EVERY, True

    def acquire(self, session: str) -> None:
        """Note that a connection is there; one that is new wants the engine to run. StoreError."""
        if session not in self._wanting and session not in self._stopped:
            with self._guard:
                self._want(session)

    def release(self, session: str) -> None:
        """Forget a connection that has ended."""
        with self._guard:
            self._wanting.discard(session)
            self._stopped.discard(session)

    def start(self, caller: Caller) -> bool:
        """Start the engine for the caller's connection; tell whether it was stopped. Raises StoreError."""
        policy.check_may_act(caller, "start the database")
        with self._guard:
            had_not = caller.call.session in self._stopped
            self._want(caller.call.session)
            self._stopped.discard(caller.call.session)
            return had_not

    def stop(self, caller: Caller) -> bool:
        """Take the engine from the caller's connection; tell whether it had it.

        It stops when no other connection wants it, after what is under way.
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
        """Count the texts that are still to be analysed anew, as another version analysed them."""
        return self._engine.upkeep.to_analyse()

    def placement(self) -> Placement | None:
        """Return on how many machines the records are; None if they are in a file."""
        return self._engine.database.placement()

    def state(self) -> StoreState:
        """Tell whether the store answers and takes writes; one that was stopped does when it is started.

        Whether it takes them is tried by a write, at most every PROBED_EVERY seconds.
        """
        try:
            self._engine.database.check_answers()
        except StoreClosed:
            return "open"
        except StoreError as error:
            log.warning("the database cannot be read: %s", error.reason)
            return "unreachable"
        if (now := time.monotonic()) >= self._probed_at + PROBED_EVERY:
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
        """Tell how the database is, by reading it; nothing is opened or waited for."""
        pid, uptime = self.pid(caller), round(time.monotonic() - self._opened, 3)
        try:
            self.check_open(caller)
            seen = seen_by(self._engine, without_folder_scope(caller))
            counts = {kind: seen.count(CLASSES[kind]) for kind in COUNTED}
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
            self._woken()
        self._wanting.add(session)


def health_unopened(refusal: str) -> Health:
    """Tell how a database is that could not be opened; the refusal is a sentence."""
    detail = f"The database cannot be opened: {refusal}"
    return Health(HealthStatus.UNHEALTHY, None, None, (detail,), 0.0)
