"""The setting `store`: a database on a server instead of a file, and what is said of it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from minutebook.config import load, settings_with
from minutebook.config.stores import open_store
from minutebook.features.postgres.connections import place_of
from minutebook.features.postgres.store import PostgresStore
from minutebook.record.errors import InvalidInput, StoreError
from tests.features.postgres.server import server
from tests.terminal import Run

PASSWORD = "correcthorse"
NAME = "store_of_the_setting"


@pytest.fixture
def url() -> Iterator[str]:
    server().make_store(NAME)
    yield server().url(NAME)
    server().drop(NAME)


@pytest.fixture
def on_server(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("MINUTEBOOK_STORE", url)
    return run


def test_a_url_that_is_none_is_refused_without_being_repeated() -> None:
    with pytest.raises(InvalidInput) as refused:
        load({}, {"MINUTEBOOK_STORE": f"mysql://ana:{PASSWORD}@host/store"})
    assert refused.value.argument == "store"
    assert "postgresql://" in str(refused.value)
    assert PASSWORD not in str(refused.value)


def test_the_url_is_shown_nowhere(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_STORE", f"postgresql://ana:{PASSWORD}@host/store")
    for arguments in (("settings",), ("settings", "--json")):
        assert PASSWORD not in run(*arguments).output
    assert PASSWORD not in repr(load({}))
    done = run("settings", "set", "store", f"postgresql://ana:{PASSWORD}@host/store")
    assert PASSWORD not in done.output
    assert load({}).store == f"postgresql://ana:{PASSWORD}@host/store"


def test_without_the_driver_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("minutebook.features.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidInput, match=r"minutebook\[server\]"):
        open_store(settings_with(home=tmp_path, store="postgresql://host/store"))


def test_the_settings_open_the_database(tmp_path: Path, url: str) -> None:
    store = open_store(settings_with(home=tmp_path, store=url))
    assert isinstance(store, PostgresStore)
    store.close()
    assert not (tmp_path / "minutebook.db").exists()


@pytest.mark.needs("audit_proof", "archives")
def test_a_person_remembers_and_recalls_on_a_server(
    on_server: Run, tmp_path: Path, url: str
) -> None:
    assert on_server("remember", "Ana bakes rye bread on Fridays").exit_code == 0
    assert "rye bread" in on_server("search", "rye bread").output
    assert not (tmp_path / "home" / "minutebook.db").exists()
    assert on_server("audit", "verify").exit_code == 0
    done = on_server("doctor", "--repair")
    assert "in order" in done.output, done.output
    assert f"store             {place_of(url)}" in on_server("status").output
    assert on_server("export", str(tmp_path / "all.jsonl")).exit_code == 0
    assert "rye bread" in (tmp_path / "all.jsonl").read_text()


def test_what_contradicts_is_not_mended_by_a_backup_of_a_file(on_server: Run, url: str) -> None:
    on_server("remember", "Ana bakes rye bread on Fridays")
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE memories SET sequence = 1000000")
    found = on_server("doctor").output
    assert "1 memories changed later than their organization" in found
    assert "have the server recover the database as of an earlier moment" in found


@pytest.mark.needs("archives")
def test_backup_and_restore_say_whose_they_are(on_server: Run, tmp_path: Path) -> None:
    on_server("remember", "Ana bakes rye bread on Fridays")
    done = on_server("backup", str(tmp_path / "kept.tar"))
    assert done.exit_code != 0
    assert "any point in time" in done.output + done.stderr
    assert not (tmp_path / "kept.tar").exists()
    (tmp_path / "kept.tar").write_bytes(b"anything")
    done = on_server("restore", str(tmp_path / "kept.tar"), "--replace")
    assert done.exit_code != 0
    assert "database on a server" in done.output + done.stderr


def test_a_server_that_is_not_there_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_STORE", f"postgresql://ana:{PASSWORD}@127.0.0.1:1/store")
    done = run("search", "bread")
    said = done.output + done.stderr
    assert done.exit_code != 0
    assert "postgresql://127.0.0.1:1/store: the server cannot be reached" in said
    assert PASSWORD not in said
    with pytest.raises(StoreError):
        open_store(load({}))
