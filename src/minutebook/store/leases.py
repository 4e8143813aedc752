"""Locks by name for servers on many machines: rows of the store that run out unless they are renewed."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from uuid import uuid4

from minutebook.record.errors import StoreBusy, StoreError

log = logging.getLogger(__name__)

SECONDS = 30.0
"""Seconds after which a lease runs out unless it is renewed: so long others wait for a server that died."""

_RENEWALS = 3
"""The number of renewals in the time that a lease lasts."""

_RETRY_EVERY = 0.1
"""Seconds between two attempts to take a lease."""


class LeaseRows(Protocol):
    """The rows in which an engine keeps leases; each member may be called from any thread.

    `take` and `release` do not belong to the thread's transaction, and the
    clock is the database's, not that of the caller's machine.
    """

    def take(self, name: str, holder: str, seconds: float) -> bool:
        """Lease a name to a holder for so many seconds from now; return False if another holds it."""

    def keep(self, name: str, holder: str) -> bool:
        """Tell whether a holder has a name, and keep others from taking it until the transaction ends."""

    def release(self, name: str, holder: str) -> None:
        """End the lease of a name by a holder, unless another has it by now."""

    def is_taken(self, name: str) -> bool:
        """Tell whether anybody has a name."""


class _Lease:
    """A `Held` that a thread renews until it is released."""

    def __init__(self, rows: LeaseRows, name: str, seconds: float) -> None:
        self._rows = rows
        self._name = name
        self._seconds = seconds
        self._holder = uuid4().hex
        self._ended = threading.Event()

    def check(self) -> None:
        """Raise StoreBusy if the lease ran out and may be another's."""
        if not self._rows.keep(self._name, self._holder):
            raise StoreBusy(
                "this server was out of reach of the store for over {wait:g} s, so that another may do the same "
                "work by now; nothing was written, try again",
                wait=self._seconds,
            )

    def take(self, wait: float) -> bool:
        """Take the lease, trying for `wait` seconds; tell whether it was taken."""
        deadline = time.monotonic() + wait
        while not self._rows.take(self._name, self._holder, self._seconds):
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            time.sleep(min(_RETRY_EVERY, remaining))
        return True

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Renew the lease inside the block, and release it afterwards."""
        renewing = threading.Thread(target=self._renew, name="lease", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            self._ended.set()
            renewing.join()
            try:
                self._rows.release(self._name, self._holder)
            except StoreError as error:
                log.warning("a lease is left to run out: %s", error)

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds / _RENEWALS):
            try:
                if not self._rows.take(self._name, self._holder, self._seconds):
                    log.warning("a lease ran out and is another server's now")
                    return
            except StoreError as error:
                log.warning("a lease could not be renewed: %s", error)


class LeaseLocks:
    """`NamedLocks` in the rows of a store."""

    def __init__(self, rows: LeaseRows, seconds: float = SECONDS) -> None:
        self._rows = rows
        self._seconds = seconds

    @contextmanager
    def hold(self, name: str, wait: float = 0.0) -> Iterator[_Lease | None]:
        """Hold the lock of a name inside the block; yield None if another still has it after `wait` seconds."""
        lease = _Lease(self._rows, name, self._seconds)
        if not lease.take(wait):
            yield None
            return
        with lease.renewed():
            yield lease

    def is_held(self, name: str) -> bool:
        """Tell whether anybody holds the lock of a name now."""
        return self._rows.is_taken(name)
