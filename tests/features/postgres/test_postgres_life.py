"""Any life of a store on a server, lost connections included, leaves it as the oracle says."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.examples import examples
from tests.features.postgres.engine import PostgresEngine
from tests.store.machine import STEADY, StoreMachine
from tests.store.small_index import small_index

pytestmark = pytest.mark.usefixtures("postgres")


class PostgresMachine(StoreMachine):
    engine = PostgresEngine()


@pytest.fixture(scope="module", autouse=True)
def _sizes() -> Iterator[None]:
    with small_index():
        yield


TestPostgresLife = pytest.mark.thorough(PostgresMachine.TestCase)
TestPostgresLife.settings = settings(STEADY, max_examples=examples(10), stateful_step_count=30)


class LongPostgresMachine(PostgresMachine):
    pass


TestLongPostgresLife = pytest.mark.slow(pytest.mark.timeout(900)(LongPostgresMachine.TestCase))
TestLongPostgresLife.settings = settings(STEADY, max_examples=examples(50), stateful_step_count=60)
