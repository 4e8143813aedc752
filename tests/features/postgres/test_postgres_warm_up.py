"""A new server reads its indices before anybody searches."""

from pathlib import Path

import pytest

from minutebook.features.postgres.store import PostgresStore
from minutebook.record.records import Kind
from minutebook.store.sql.index_source import WORDS, IndexKey
from tests.features.postgres.engine import PostgresEngine
from tests.features.postgres.server import server
from tests.store.samples import memory
from tests.store.small_index import small_index
from tests.world import wait_until

pytestmark = pytest.mark.usefixtures("postgres")


def test_a_new_server_reads_large_indices_before_anybody_searches(tmp_path: Path) -> None:
    engine = PostgresEngine()
    engine.make(tmp_path)
    one = engine.open(tmp_path)
    url = server(engine.version).url((tmp_path / "database").read_text())
    other = PostgresStore(url, tmp_path / "another index", durability="normal", pool=4)
    try:
        one.upkeep.open()
        with small_index(), one.transaction("acme"):
            for number in range(6):
                one.put(memory(f"m{number}", f"bread {number}"))
        with small_index():
            other.upkeep.open()
            number_of = other.database.number_of("acme")
            assert number_of is not None
            words = other.upkeep.indices._index(IndexKey(number_of, Kind.MEMORY, WORDS))
            assert words.behind() > 0
            other.upkeep.warm_up()
            wait_until(lambda: words.behind() == 0)
    finally:
        one.close()
        other.close()
        engine.discard(tmp_path)
