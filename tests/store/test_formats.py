"""Stores that earlier versions wrote, each format once, are brought to the present one whole.

`formats/` holds them as the code of their time left them: two memories, kept by `minutebook remember` without a
model; a file after VACUUM INTO, a database by `pg_dump --inserts`. Whoever adds a script to a schema adds
the store of the format before.
"""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from minutebook.domain.filters import Filter
from minutebook.domain.records import Entry, Memory, Version
from minutebook.search.text import parse_query
from minutebook.services.access.audit_proof import proof_of
from minutebook.store.postgres import PostgresStore
from minutebook.store.postgres import schema as postgres_schema
from minutebook.store.protocol import Tended
from minutebook.store.sqlite import SqliteStore
from minutebook.store.sqlite import schema as sqlite_schema
from tests.examples import parametrize_in_part
from tests.postgres_server import server
from tests.store.samples import memory
from tests.world import wait_until

FORMATS = Path(__file__).parent / "formats"
HERE = Filter(organization="default")


def stored(engine: str) -> list[int]:
    """Return the formats of an engine of which there is a store."""
    return sorted(int(path.name.split("-")[1][:2]) for path in FORMATS.glob(f"{engine}-*.gz"))


@contextmanager
def opened(engine: str, number: int, folder: Path) -> Iterator[Tended]:
    """Open a stored store with the present version."""
    if engine == "sqlite":
        path = folder / "store.db"
        path.write_bytes(gzip.decompress((FORMATS / f"sqlite-{number:02}.db.gz").read_bytes()))
        store: Tended = SqliteStore(path)
        yield store
        store.close()
        return
    name = f"format_{uuid4().hex}"
    server().make_empty(name)
    try:
        dump = gzip.decompress((FORMATS / f"postgres-{number:02}.sql.gz").read_bytes())
        server().execute(dump.decode(), name)
        store = PostgresStore(server().url(name), folder)
        yield store
        store.close()
    finally:
        server().drop(name)


def check_whole(store: Tended) -> None:
    wait_until(lambda: store.to_analyse() == 0)
    texts = {each.content for each in store.find(Memory, HERE)}
    assert texts == {"Zwei Häuser in Köln", "tea at five"}
    assert [each.number for each in store.find(Version, HERE)] == [1, 1]
    assert [each.act for each in store.find(Entry, HERE)] == ["created", "created"]
    assert proof_of(store, "default").is_sound
    (found,) = store.match(Memory, HERE, parse_query("das Haus"), 9)
    kept = store.get(Memory, "default", found.id)
    assert kept is not None
    assert kept.content == "Zwei Häuser in Köln"
    store.put(memory("new", "rye bread", organization="default"))
    assert len(store.find(Memory, HERE)) == 3
    assert store.check() == []


def test_there_is_a_store_of_every_earlier_format() -> None:
    assert set(stored("sqlite")) >= {*range(1, sqlite_schema.VERSION)}
    assert set(stored("postgres")) >= {*range(1, postgres_schema.VERSION)}


@parametrize_in_part("number", stored("sqlite"))
def test_a_file_that_an_earlier_version_wrote_is_whole_in_the_present_one(
    tmp_path: Path, number: int
) -> None:
    with opened("sqlite", number, tmp_path) as store:
        check_whole(store)


@pytest.mark.thorough
@pytest.mark.parametrize("number", stored("postgres"))
def test_a_database_that_an_earlier_version_wrote_is_whole_in_the_present_one(
    tmp_path: Path, number: int
) -> None:
    with opened("postgres", number, tmp_path) as store:
        check_whole(store)
