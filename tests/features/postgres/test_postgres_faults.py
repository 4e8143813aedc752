"""Servers that stop, refuse or belong to others: a plain reason, nothing lost and nothing twice."""

import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import psycopg
import pytest
from psycopg import errors

from minutebook.features.postgres.errors import fault_of
from minutebook.features.postgres.store import PostgresStore
from minutebook.record.errors import InvalidInput, StoreBusy, StoreClosed, StoreError
from minutebook.record.filters import Filter
from minutebook.record.records import Memory
from minutebook.text.words import parse_query
from tests.features.postgres.engine import PostgresEngine
from tests.features.postgres.server import StartedServer, server, small_disk
from tests.store.samples import memory
from tests.world import wait_until

pytestmark = pytest.mark.usefixtures("postgres")

ACME = Filter(organization="acme")
PASSWORD = "a very secret passphrase"
ENGINE = PostgresEngine()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "store"
    ENGINE.make(folder)
    yield folder
    ENGINE.discard(folder)


@pytest.fixture
def database(folder: Path) -> str:
    return (folder / "database").read_text()


@pytest.fixture
def url(database: str) -> str:
    return server().url(database)


def opened(url: str, folder: Path, wait: float = 30.0, pool: int = 4) -> PostgresStore:
    return PostgresStore(url, folder / "index", writer_wait=wait, pool=pool)


def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    server().make_empty("of_others")
    try:
        server().execute("CREATE TABLE theirs (id integer)", "of_others")
        with pytest.raises(StoreError, match="another program's tables"):
            opened(server().url("of_others"), tmp_path)
        with psycopg.connect(server().url("of_others")) as connection:
            rows = connection.execute(
                "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            ).fetchall()
        assert rows == [("theirs",)]
    finally:
        server().drop("of_others")


def test_a_database_that_keeps_no_unicode_is_refused(tmp_path: Path) -> None:
    server().execute("CREATE DATABASE of_bytes ENCODING 'SQL_ASCII' TEMPLATE template0")
    try:
        with pytest.raises(StoreError, match="ENCODING 'UTF8'"):
            opened(server().url("of_bytes"), tmp_path)
    finally:
        server().drop("of_bytes")


def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nowhere: the database does not exist|nowhere.*exist"):
        opened(server().url("nowhere"), tmp_path)


@pytest.mark.parametrize(
    "wrong", ["postgresql://ana:{}@127.0.0.1:1/store", "postgresql://ana:%zz{}@host/store"]
)
def test_a_password_is_in_no_message_and_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    secret = PASSWORD.replace(" ", "%20")
    with caplog.at_level(logging.DEBUG), pytest.raises((StoreError, InvalidInput)) as refused:
        opened(wrong.format(secret), tmp_path)
    chain: BaseException | None = refused.value
    while chain is not None:
        assert not any(each in f"{chain} {chain!r}" for each in (PASSWORD, secret, "ana:"))
        chain = chain.__cause__
    assert not any(each in caplog.text for each in (PASSWORD, secret))


def test_who_writes_for_the_same_organization_too_long_is_not_waited_for(
    folder: Path, url: str
) -> None:
    one, other = opened(url, folder), opened(url, folder / "other", wait=2.0)
    with one.transaction("acme"):
        with pytest.raises(StoreBusy, match="same organization"):
            other.put(memory("a"))
        other.put(memory("a", organization="zoo"))
    other.put(memory("a"))
    assert one.count(Memory, ACME) == 1
    one.close()
    other.close()


def test_when_all_connections_are_in_use_the_message_says_so(folder: Path, url: str) -> None:
    store = opened(url, folder, wait=2.0, pool=1)
    store.put(memory("a"))
    with store.snapshot("acme") as moment:
        with pytest.raises(StoreBusy, match="all 1 connections"), store.snapshot("acme"):
            pass
        assert moment.count(Memory, ACME) == 1
    assert store.count(Memory, ACME) == 1
    store.close()


def test_a_server_that_became_a_standby_is_told_and_its_successor_is_found(
    folder: Path, database: str, url: str
) -> None:
    store = opened(url, folder)
    store.put(memory("a"))
    server().execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    _end_connections(database)
    with pytest.raises(StoreError, match="standby"):
        store.put(memory("b"))
    assert store.ids(Memory, ACME, ()) == ["a"]
    server().execute(f"ALTER DATABASE {database} RESET default_transaction_read_only")
    _end_connections(database)
    store.put(memory("b"))
    assert store.ids(Memory, ACME, ()) == ["a", "b"]
    store.close()


def test_connections_that_the_server_ended_meanwhile_are_replaced(
    folder: Path, database: str, url: str
) -> None:
    store = opened(url, folder)
    store.put(memory("a"))
    for _ in range(3):
        _end_connections(database)
        assert store.count(Memory, ACME) == 1
        _end_connections(database)
        store.put(memory("a"))
    store.close()


def test_a_transaction_whose_connection_is_lost_is_undone_and_not_repeated(
    folder: Path, database: str, url: str
) -> None:
    store = opened(url, folder)
    store.put(memory("a"))
    with pytest.raises(StoreError, match="look whether"), store.transaction("acme"):  # noqa: PT012
        store.put(memory("b"))
        _end_connections(database)
    with pytest.raises(StoreError), store.transaction("acme"):  # noqa: PT012
        _end_connections(database)
        store.put(memory("c"))
    assert store.ids(Memory, ACME, ()) == ["a"]
    assert [change.id for change in store.changes("acme", 0)] == ["a"]
    store.close()


def test_a_store_is_closed_even_if_its_server_is_gone(
    folder: Path, database: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(url, folder)
    store.put(memory("a"))

    def save() -> None:
        raise StoreError("the server cannot be reached")

    monkeypatch.setattr(store.upkeep.indices, "save", save)
    store.close()
    assert not store.upkeep.is_open
    store.upkeep.open()
    assert store.ids(Memory, ACME, ()) == ["a"]
    store.close()


def test_whether_the_server_answers_is_asked_each_time(
    folder: Path, database: str, url: str
) -> None:
    store = opened(url, folder, wait=5.0)
    store.put(memory("a"))
    assert store.organizations(["acme"]) == ["acme"]
    store.database.check_answers()
    server().execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
    _end_connections(database)
    # What was found once is known; whether there is an answer is not.
    assert store.organizations(["acme"]) == ["acme"]
    with pytest.raises(StoreError):
        store.database.check_answers()
    store.close()
    for ask in (store.database.check_answers, lambda: store.organizations(["acme"])):
        with pytest.raises(StoreClosed):
            ask()


def test_a_database_that_takes_no_writes_answers_all_the_same(
    folder: Path, database: str, url: str
) -> None:
    store = opened(url, folder, wait=5.0)
    store.database.check_writes()
    server().execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    store.database.check_answers()
    with pytest.raises(StoreError, match="read-only"):
        store.database.check_writes()
    server().execute(f"ALTER DATABASE {database} SET default_transaction_read_only = off")
    store.database.check_writes()
    store.close()
    with pytest.raises(StoreClosed):
        store.database.check_writes()


@pytest.mark.parametrize(
    ("error", "fault", "said"),
    [
        (errors.DeadlockDetected(), StoreBusy, "try again"),
        (errors.TooManyConnections(), StoreBusy, "max_connections"),
        (errors.CannotConnectNow(), StoreBusy, "try again"),
        (errors.AdminShutdown(), StoreError, "ended the connection"),
        (errors.DiskFull(), StoreError, "disk is full"),
        (errors.InternalError_("no shard 7"), StoreError, "the server failed (no shard 7)"),
        (errors.OutOfMemory(), StoreError, "memory"),
        (errors.InsufficientPrivilege(), StoreError, "privilege"),
    ],
)
def test_what_the_server_refuses_has_a_reason(
    error: psycopg.Error, fault: type[StoreError], said: str
) -> None:
    found = fault_of(error, "postgresql://host/store")
    assert type(found) is fault
    assert found.reason.startswith("postgresql://host/store: ")
    assert said in found.reason


def test_a_mistake_of_ours_stays_visible() -> None:
    assert fault_of(errors.SyntaxError(), "postgresql://host/store") is None


@pytest.mark.thorough
def test_a_killed_server_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    started = StartedServer(16)
    try:
        started.make_empty("store")
        store = opened(started.url("store"), tmp_path, wait=5.0)
        acknowledged: set[str] = set()
        for life in range(3):
            refused = _write_until_killed(store, started, f"{life}", acknowledged)
            assert all(isinstance(each, StoreError) for each in refused)
            with pytest.raises(StoreError, match="cannot be reached"):
                store.count(Memory, ACME)
            started.start()
            ids = set(store.ids(Memory, ACME, ()))
            assert acknowledged <= ids
            # What was lost during its commit may be there; nothing else may.
            assert len(ids - acknowledged) <= len(refused)
            acknowledged = ids
        assert store.upkeep.check() == []
        sequences = [change.sequence for change in store.changes("acme", 0)]
        assert sequences == sorted(set(sequences))
        found = store.match(Memory, ACME, parse_query("bread"), len(acknowledged) + 1)
        assert {each.id for each in found} == acknowledged
        store.close()
    finally:
        started.stop()


def _write_until_killed(
    store: PostgresStore, started: StartedServer, life: str, acknowledged: set[str]
) -> list[Exception]:
    """Have three threads write until the server is killed; return what they were refused with."""
    refused: list[Exception] = []
    enough = threading.Event()

    def write(name: str) -> None:
        for number in range(10_000):
            id = f"{life}{name}{number:04}"
            try:
                store.put(memory(id))
            except Exception as error:
                refused.append(error)
                return
            acknowledged.add(id)
            if len(acknowledged) > 40:
                enough.set()

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    started.kill()
    for thread in threads:
        thread.join()
    return refused


@pytest.mark.thorough
def test_of_two_writers_that_wait_for_each_other_one_is_undone_and_told(
    folder: Path, database: str, url: str
) -> None:
    store = opened(url, folder, wait=60.0)
    store.put(memory("b"))
    with psycopg.connect(url) as other:
        # The store's side is the one that finds the circle.
        other.execute("SET deadlock_timeout = '1h'")
        other.execute("SELECT FROM memories WHERE id = 'b' FOR UPDATE")
        feed = "SELECT FROM feeds FOR UPDATE"
        waiting = threading.Thread(target=other.execute, args=(feed,))
        with pytest.raises(StoreBusy, match="undone; try again"):
            _close_a_circle(store, waiting, database)
        waiting.join()
        other.rollback()
    assert store.ids(Memory, ACME, ()) == ["b"]
    with store.transaction("acme"):
        store.put(memory("a"))
        store.put(replace(memory("b"), content="another"))
    assert store.upkeep.check() == []
    store.close()


def _close_a_circle(store: PostgresStore, waiting: threading.Thread, database: str) -> None:
    """Wait for who waits for this transaction."""
    with store.transaction("acme"):
        store.put(memory("a"))
        waiting.start()
        wait_until(lambda: _waits(database))
        store.put(replace(memory("b"), content="another"))


def _waits(database: str) -> bool:
    """Tell whether somebody in a database waits for a lock."""
    with psycopg.connect(server().url(database)) as connection:
        query = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        row = connection.execute(query).fetchone()
    return row is not None and row[0] > 0


@pytest.mark.thorough
def test_a_full_disk_of_the_server_is_told_and_what_was_acknowledged_stays(tmp_path: Path) -> None:
    disk = server().folder / "disk"
    with small_disk(disk, 24) as resize:
        server().execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
        try:
            server().execute("CREATE DATABASE on_small TABLESPACE small")
            store = opened(server().url("on_small"), tmp_path)
            acknowledged: list[str] = []
            with pytest.raises(StoreError, match="the server's disk is full"):
                _write_until_refused(store, acknowledged)
            assert acknowledged
            # On a disk without a free page PostgreSQL now and then has none to read with.
            resize(26)
            assert sorted(store.ids(Memory, ACME, ())) == acknowledged
            resize(64)
            store.put(memory("after"))
            assert store.upkeep.check() == []
            assert sorted(store.ids(Memory, ACME, ())) == [*acknowledged, "after"]
            store.close()
        finally:
            server().drop("on_small")
            server().execute("DROP TABLESPACE IF EXISTS small")


def _write_until_refused(store: PostgresStore, acknowledged: list[str]) -> None:
    for number in range(10_000):
        id, noise = f"{number:04}", Random(number).randbytes(50_000).hex()
        store.put(replace(memory(id), metadata={"noise": noise}))
        acknowledged.append(id)


def _end_connections(database: str) -> None:
    with psycopg.connect(server().url("postgres"), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s",
            (database,),
        )
