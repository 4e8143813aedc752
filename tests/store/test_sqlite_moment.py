"""Reads that are held to one moment: what they see of writes, their own thread's and others'."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import apsw
import pytest

from minutebook.record.errors import StoreClosed
from minutebook.record.filters import Filter
from minutebook.record.records import Memory
from minutebook.store.sqlite import SqliteStore
from minutebook.text.words import parse_query
from tests.store.samples import memory
from tests.store.sqlite_engine import SqliteEngine

ACME = Filter(organization="acme")


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[SqliteStore, SqliteStore]]:
    """Two stores over one file, as two processes have them."""
    engine = SqliteEngine("normal")
    engine.make(tmp_path)
    ours, others = engine.open(tmp_path), engine.open(tmp_path)
    ours.put(memory("a", "bread"))
    yield ours, others
    ours.close()
    others.close()


def seen(store: SqliteStore) -> tuple[list[str], int, int, list[str]]:
    matched = store.match(Memory, ACME, parse_query("bread"), 9)
    return (
        store.ids(Memory, ACME, ["id"]),
        store.count(Memory, ACME),
        store.sequence("acme"),
        [each.id for each in matched],
    )


def select(store: SqliteStore, expression: str) -> None:
    with store.database.reading() as connection:
        connection.run(f"SELECT {expression}")


def test_what_others_write_is_seen_from_the_next_moment_on(
    stores: tuple[SqliteStore, SqliteStore],
) -> None:
    ours, others = stores
    for id in ("b", "c"):
        with ours.database.one_moment():
            before = seen(ours)
            others.put(memory(id, "bread"))
            assert seen(ours) == before
        after = seen(ours)
        assert after[0] == after[3] == [*before[0], id]
        assert after[1:3] == (before[1] + 1, before[2] + 1)


def test_a_write_inside_is_seen_after_it_and_so_are_the_others(
    stores: tuple[SqliteStore, SqliteStore],
) -> None:
    ours, others = stores
    with ours.database.one_moment():
        assert seen(ours)[0] == ["a"]
        others.put(memory("b", "bread"))
        ours.put(memory("c", "bread"))
        assert seen(ours) == (["a", "b", "c"], 3, 3, ["a", "b", "c"])
        with suppress(ZeroDivisionError), ours.transaction("acme"):
            ours.put(memory("d", "bread"))
            assert seen(ours)[0] == ["a", "b", "c", "d"]
            raise ZeroDivisionError
        assert seen(ours) == (["a", "b", "c"], 3, 3, ["a", "b", "c"])


def test_what_is_asked_for_as_committed_is_the_latest_and_the_moment_goes_on_from_there(
    stores: tuple[SqliteStore, SqliteStore],
) -> None:
    ours, others = stores
    with ours.database.one_moment():
        seen(ours)
        others.put(memory("b", "bread"))
        with ours.database.committed() as connection:
            assert connection.sequence(1) == 2
        later = seen(ours)
        assert later[0] == ["a", "b"]
        others.put(memory("c", "bread"))
        assert seen(ours) == later


def test_each_thread_has_a_moment_of_its_own(stores: tuple[SqliteStore, SqliteStore]) -> None:
    ours, others = stores
    found: list[list[str]] = []
    with ours.database.one_moment():
        seen(ours)
        others.put(memory("b", "bread"))
        thread = Thread(target=lambda: found.append(seen(ours)[0]))
        thread.start()
        thread.join()
        assert (found, seen(ours)[0]) == ([["a", "b"]], ["a"])


def test_a_moment_ends_with_an_error_in_it_and_stands_in_no_ones_way(
    stores: tuple[SqliteStore, SqliteStore],
) -> None:
    ours, others = stores
    with pytest.raises(apsw.SQLError), ours.database.one_moment():
        select(ours, "nonsense")
    others.put(memory("b", "bread"))
    assert seen(ours)[0] == ["a", "b"]
    with ours.transaction("acme"), ours.database.one_moment():
        ours.put(memory("c", "bread"))
        assert seen(ours)[0] == ["a", "b", "c"]
    with ours.database.one_moment():
        ours.close()
        with pytest.raises(StoreClosed):
            seen(ours)
