"""Any life of a store, crashes and undone transactions included, leaves it as the oracle says."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.examples import examples
from tests.store.machine import STEADY, StoreMachine
from tests.store.small_index import small_index
from tests.store.sqlite_engine import SqliteEngine


class SqliteMachine(StoreMachine):
    engine = SqliteEngine("normal")


@pytest.fixture(scope="module", autouse=True)
def _sizes() -> Iterator[None]:
    with small_index():
        yield


TestSqliteLife = pytest.mark.thorough(SqliteMachine.TestCase)
TestSqliteLife.settings = settings(STEADY, max_examples=examples(25), stateful_step_count=30)


class LongSqliteMachine(SqliteMachine):
    pass


TestLongSqliteLife = pytest.mark.slow(pytest.mark.timeout(900)(LongSqliteMachine.TestCase))
TestLongSqliteLife.settings = settings(STEADY, max_examples=examples(150), stateful_step_count=60)
