"""The locks over leases, with rows in memory."""

import threading
import time

import pytest

from minutebook.store.leases import LeaseRows
from tests.store.promises_of_leases import LeasePromises


class RowsInMemory:
    """Leases for the threads of one process."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._rows: dict[str, tuple[str, float]] = {}

    def take(self, name: str, holder: str, seconds: float) -> bool:
        with self._turn:
            if self._holder(name) not in (None, holder):
                return False
            self._rows[name] = holder, time.monotonic() + seconds
            return True

    def keep(self, name: str, holder: str) -> bool:
        with self._turn:
            return self._holder(name) == holder

    def release(self, name: str, holder: str) -> None:
        with self._turn:
            if self._rows.get(name, ("",))[0] == holder:
                del self._rows[name]

    def is_taken(self, name: str) -> bool:
        with self._turn:
            return self._holder(name) is not None

    def _holder(self, name: str) -> str | None:
        holder, until = self._rows.get(name, (None, 0.0))
        return holder if until > time.monotonic() else None


class TestLeasesInMemory(LeasePromises):
    @pytest.fixture
    def rows(self) -> LeaseRows:
        return RowsInMemory()
