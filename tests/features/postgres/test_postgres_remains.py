"""What a server keeps of removed rows: read in every table, and gone once the tables were written anew."""

from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from minutebook.features.postgres.store import PostgresStore
from minutebook.record.records import Memory
from tests.features.postgres.engine import PostgresEngine
from tests.features.postgres.server import server
from tests.store.samples import memory

WORD = b"zanzibar"


def tables_holding(store: PostgresStore) -> set[str]:
    return {name for name, rows in store.database.server_contents() if WORD in b"".join(rows)}


def holds_file(connection: psycopg.Connection) -> bool:
    """Whether the table's file on the server's disk holds the word."""
    connection.execute("CHECKPOINT")
    content = "SELECT pg_read_binary_file(pg_relation_filepath('memories'))"
    return any(WORD in bytes(row[0]) for row in connection.execute(content))


@pytest.mark.thorough
def test_removed_rows_are_gone_once_the_tables_were_written_anew(tmp_path: Path) -> None:
    engine = PostgresEngine()
    with engine.fresh(tmp_path / "store") as store:
        assert isinstance(store, PostgresStore)
        url = server().url((tmp_path / "store" / "database").read_text())
        with (
            closing(psycopg.connect(url, autocommit=True)) as look,
            closing(psycopg.connect(url)) as old,
        ):
            store.put(memory("a", "the canary of zanzibar"))
            store.put(memory("b", "wine"))
            assert tables_holding(store) == {"memories"}
            # Somebody has a transaction open that may still see the row.
            old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            old.execute("SELECT 1")
            store.delete(Memory, "acme", "a")
            assert tables_holding(store) == set()
            assert any(
                "for a transaction that is open" in each for each in store.upkeep.rewrite_tables()
            )
            assert holds_file(look)
            old.rollback()
            (left,) = store.upkeep.rewrite_tables()
            assert "base backups" in left
            assert not holds_file(look)
            assert store.upkeep.check() == []
        assert store.get(Memory, "acme", "b") == memory("b", "wine")
