"""The server engine keeps leases, and a write under one keeps it from being taken."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.features.postgres.shared_rows import PostgresLeases
from minutebook.features.postgres.store import PostgresStore
from tests.features.postgres.engine import PostgresEngine
from tests.store.promises_of_leases import LeasePromises
from tests.store.samples import memory
from tests.world import wait_until

pytestmark = pytest.mark.usefixtures("postgres")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresStore]:
    with PostgresEngine().fresh(tmp_path / "store") as store:
        assert isinstance(store, PostgresStore)
        yield store


class TestPostgresLeases(LeasePromises):
    @pytest.fixture
    def rows(self, store: PostgresStore) -> PostgresLeases:
        return store.database.leases


def test_nobody_takes_a_lease_that_ran_out_while_its_holder_writes(store: PostgresStore) -> None:
    rows = store.database.leases
    asked, taken = threading.Event(), []

    def take() -> None:
        asked.set()
        taken.append(rows.take("a", "other", 600))

    other = threading.Thread(target=take)
    with store.transaction("acme"):
        wait_until(lambda: rows.take("a", "one", 0.5) and rows.keep("a", "one"))
        # Its time is over: who writes under it goes on undisturbed.
        wait_until(lambda: not rows.is_taken("a"))
        store.put(memory("a"))
        other.start()
        asked.wait(60)
        other.join(0.3)
        assert taken == []
    wait_until(lambda: taken == [True])
    other.join()


def test_a_lease_outlives_the_transaction_in_which_it_was_taken(store: PostgresStore) -> None:
    with pytest.raises(ZeroDivisionError), store.transaction("acme"):  # noqa: PT012
        assert store.database.leases.take("a", "one", 600)
        _ = 1 / 0
    assert store.database.leases.keep("a", "one")
