"""How the server finds what is read page by page, however much there is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from minutebook.record.filters import Filter
from minutebook.record.records import Memory
from minutebook.text.words import parse_query
from tests.features.postgres.engine import PostgresEngine
from tests.features.postgres.server import server
from tests.store.samples import memory

pytestmark = pytest.mark.usefixtures("postgres")

ACME = Filter(organization="acme")


def test_a_page_of_changes_is_cut_in_each_table_by_the_index_of_sequences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, folder = PostgresEngine(), tmp_path / "store"
    with engine.fresh(folder) as store:
        store.put(memory("a"))
        asked = _asked(monkeypatch)
        store.changes("acme", 0, 10)
        store.match(Memory, ACME, parse_query("bread"), 10)
        monkeypatch.undo()
        pages = [each for each in asked if "deletions" in each[0]]
        assert len(pages) == 2
        with psycopg.connect(server().url((folder / "database").read_text())) as connection:
            # A small table is quicker read whole, which says nothing of a large one.
            for costly in ("seqscan", "bitmapscan", "sort"):
                connection.execute(f"SET enable_{costly} = off".encode())
            for sql, values in pages:
                explained = b"EXPLAIN (FORMAT JSON) " + sql.encode()
                ((found,),) = connection.execute(explained, values).fetchall()
                ways = list(_ways(found[0]["Plan"], []))
                assert len(ways) > 1
                for way in ways:
                    below = way[max(way.index(each) for each in way if "Append" in each) + 1 :]
                    assert "Limit" in below, json.dumps(found)
                    assert below[-1].endswith("_by_sequence"), json.dumps(found)


def test_a_long_transaction_writes_the_feed_once_and_plans_anew_as_tables_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PostgresEngine().fresh(tmp_path / "store") as store:
        store.put(memory("first"))
        asked = _asked(monkeypatch)
        with store.transaction("acme"):
            for number in range(1100):
                store.put(memory(f"m{number}"))
            begun = store.sequence("acme")
            with pytest.raises(ZeroDivisionError), store.transaction("acme"):  # noqa: PT012
                store.put(memory("undone"))
                _ = 1 / 0
            assert store.sequence("acme") == begun
            store.put(memory("last"))
        monkeypatch.undo()
        statements = [sql for sql, _ in asked]
        assert sum("UPDATE feeds" in each for each in statements) == 1
        assert statements.count("DISCARD PLANS") == 2
        assert store.sequence("acme") == begun + 1
        found = [each.id for each in store.changes("acme", 0, None)]
        assert found == ["first", *(f"m{number}" for number in range(1100)), "last"]


def _asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Have every query noted from now on, with its values."""
    noted: list[tuple[str, Any]] = []
    real = psycopg.Cursor.execute

    def noting(self: Any, query: Any, values: Any = None, **named: Any) -> Any:
        noted.append((query if isinstance(query, str) else query.decode(), values))
        return real(self, query, values, **named)

    monkeypatch.setattr(psycopg.Cursor, "execute", noting)
    return noted


def _ways(plan: dict[str, Any], above: list[str]) -> Iterator[list[str]]:
    """Yield the steps from the top of a plan to each table that it reads, the last by its index."""
    here = [*above, plan.get("Index Name") or plan["Node Type"]]
    if "Relation Name" in plan:
        yield here
    for part in plan.get("Plans", ()):
        yield from _ways(part, here)
