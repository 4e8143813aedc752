"""Any life of a store, crashes and undone transactions included, leaves it as the oracle says."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from minutebook.store.sqlite import SqliteStore
from tests.empty_database import empty_database
from tests.examples import examples
from tests.store.machine import StoreMachine
from tests.store.small_index import small_index


class SqliteMachine(StoreMachine):
    def open(self, folder: Path) -> SqliteStore:
        path = folder / "store.db"
        if not path.exists():
            empty_database(path)
        return SqliteStore(path, durability="normal")

    def _sound(self) -> list[str]:
        assert isinstance(self.store, SqliteStore)
        return self.store.check()


@pytest.fixture(scope="module", autouse=True)
def _sizes() -> Iterator[None]:
    with small_index():
        yield


_SETTINGS = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

TestSqliteLife = SqliteMachine.TestCase
TestSqliteLife.settings = settings(_SETTINGS, max_examples=examples(25), stateful_step_count=30)


class LongSqliteMachine(SqliteMachine):
    pass


TestLongSqliteLife = pytest.mark.slow(pytest.mark.timeout(900)(LongSqliteMachine.TestCase))
TestLongSqliteLife.settings = settings(
    _SETTINGS, max_examples=examples(150), stateful_step_count=60
)
