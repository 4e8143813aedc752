"""`minutebook migrate`, as a person types it."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from minutebook.config import load
from minutebook.config.places import data_directory
from minutebook.config.stores import store_at
from minutebook.features.postgres.connections import place_of
from tests.features.postgres.server import server
from tests.terminal import Run, remembered

pytestmark = pytest.mark.usefixtures("postgres")

NAME = "store_that_is_migrated"


@pytest.fixture
def url() -> Iterator[str]:
    server().make_empty(NAME)
    yield server().url(NAME)
    server().drop(NAME)


def done(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refused(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    return result.output + result.stderr


@pytest.mark.needs("audit_proof", "ledger")
def test_a_store_moves_to_a_server_and_back(
    run: Run, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = remembered(run, "tea at five")
    said = ("--target", "store", "--title", "Use one store", "--rationale", "It needs no server")
    done(run, "decide", *said)
    done(run, "token", "create", "--name", "ana", "--organization", "acme", "--expires", "never")
    before = (tmp_path / "home" / "minutebook.db").read_bytes()
    moved = done(run, "migrate", "--to", url)
    assert f"minutebook.db to {place_of(url)}" in moved
    assert "memory 1" in moved
    assert "token 1" in moved
    assert "trails are sound" in moved
    assert f"Move {tmp_path / 'home' / 'ledgers'} there" in moved
    assert "minutebook ledger secret" not in moved
    assert (tmp_path / "home" / "minutebook.db").read_bytes() == before
    monkeypatch.setenv("MINUTEBOOK_STORE", url)
    assert "tea at five" in done(run, "show", id)
    assert "Use one store" in done(run, "decisions")
    assert "ana" in done(run, "token", "list")
    examined = done(run, "doctor")
    assert "in order" in examined
    assert f"The store is on a server: {place_of(url)}" in examined
    done(run, "audit", "verify")
    coffee = remembered(run, "coffee at six")
    other = ("--home", str(tmp_path / "other"))
    moved = done(run, "migrate", "--from", url, *other)
    assert "memory 2" in moved
    assert f"copy the folder `ledgers` of the server that recorded them to {tmp_path}" in moved
    monkeypatch.delenv("MINUTEBOOK_STORE")
    assert "coffee at six" in done(run, "show", coffee, *other)
    done(run, "audit", "verify", *other)


def test_what_is_in_use_is_not_moved(run: Run, url: str) -> None:
    remembered(run, "tea at five")
    with closing(data_directory(load({})).use()):
        said = refused(run, "migrate", "--to", url)
    assert "first end the clients and servers that have it open" in said
    assert "memory 1" in done(run, "migrate", "--to", url)


def test_a_folder_whose_move_was_killed_is_no_empty_store(
    run: Run, url: str, tmp_path: Path
) -> None:
    remembered(run, "tea at five")
    done(run, "migrate", "--to", url)
    (tmp_path / "other").mkdir()
    other = ("--home", str(tmp_path / "other"))
    (tmp_path / "other" / ".moving").touch()
    assert "a move was cut short" in refused(run, "remember", "coffee", *other)
    done(run, "migrate", "--from", url, *other)
    assert not (tmp_path / "other" / ".moving").exists()
    assert "tea at five" in done(run, "list", *other)


def test_a_move_after_a_kill_says_how_long_it_waits_and_goes_on(
    run: Run, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minutebook.store.leases.SECONDS", 1.0)
    remembered(run, "tea at five")
    done(run, "migrate", "--to", url)
    with closing(store_at(load({}), url, receives=True)) as store:
        assert store.database.leases is not None
        assert store.database.leases.take("moving records", "who was killed", 1.5)
    result = run("migrate", "--to", url)
    assert result.exit_code == 0, result.output + result.stderr
    assert "after 1 s at most" in result.output + result.stderr


def test_a_target_with_records_is_refused(run: Run, url: str, tmp_path: Path) -> None:
    remembered(run, "tea at five")
    done(run, "migrate", "--to", url)
    other = ("--home", str(tmp_path / "other"))
    remembered(run, "coffee at six", *other)
    assert "moved from another store" in refused(run, "migrate", "--to", url, *other)
    assert "holds records already" in refused(run, "migrate", "--from", url, *other)
    listed = json.loads(done(run, "list", "--json", *other))["memories"]
    assert [each["content"] for each in listed] == ["coffee at six"]


def test_what_cannot_be_moved_says_why(run: Run, url: str) -> None:
    assert "there is no store in" in refused(run, "migrate", "--to", url)
    assert "--to or --from must name a database" in refused(run, "migrate")
    both = ("--to", url, "--from", url)
    assert "only one of them" in refused(run, "migrate", *both)
    assert "--from must be a URL such as postgresql://" in refused(run, "migrate", "--from", "x.db")
