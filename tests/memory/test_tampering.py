"""Whoever changes the trail behind the server's back is found out: real rows, really changed."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from minutebook.record.filters import Filter
from minutebook.record.records import Entry, Head
from tests.memory.writer import OWN, REFUSED
from tests.terminal import Run
from tests.world import Opener, World

LENGTH = 9
COLUMNS = ("at", "actor", "role", "act", "subject", "request", "outcome", "before", "after")


def filled(world: World) -> Path:
    """Leave nine entries in one organization, and one in another; the store's file."""
    for number in range(LENGTH):
        world.remember(f"memory {number}")
    world.by(organization="acme").remember("apart")
    assert world.app.trail.verify("default") is None
    return database(world)


def database(world: World) -> Path:
    return world.file_store.database._path


def tamper(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
        assert connection.changes(), statement
    connection.close()


ORGANIZATION = "organization = (SELECT number FROM organizations WHERE name = 'default')"


@pytest.mark.parametrize("number", [1, 5, LENGTH])
def test_a_changed_row_is_found_whatever_was_changed(world: World, number: int) -> None:
    row = f"WHERE number = {number} AND {ORGANIZATION}"
    with closing(apsw.Connection(str(filled(world)))) as connection:
        connection.execute(f"CREATE TEMP TABLE kept AS SELECT * FROM entries {row}")
        for column in (*COLUMNS, "previous", "digest"):
            value = "at + 1" if column == "at" else "'admin'" if column == "role" else "'forged'"
            connection.execute(f"UPDATE entries SET {column} = {value} {row}")
            assert connection.changes() == 1
            broken = world.app.trail.verify("default")
            assert broken is not None, column
            assert broken.number == number, column
            assert world.app.trail.verify("acme") is None, column
            connection.execute(f"UPDATE entries SET {column} = (SELECT {column} FROM kept) {row}")
            assert world.app.trail.verify("default") is None, column


@pytest.mark.parametrize("number", [1, 4, LENGTH - 1, LENGTH])
def test_a_removed_row_is_found_also_the_last(world: World, number: int) -> None:
    tamper(filled(world), f"DELETE FROM entries WHERE number = {number} AND {ORGANIZATION}")
    broken = world.app.trail.verify("default")
    assert broken is not None
    assert broken.number == number


def test_a_trail_that_was_cut_short_or_emptied_is_found(world: World) -> None:
    path = filled(world)
    tamper(path, f"DELETE FROM entries WHERE number > 6 AND {ORGANIZATION}")
    assert world.app.trail.verify("default") is not None
    tamper(path, f"DELETE FROM entries WHERE {ORGANIZATION}")
    broken = world.app.trail.verify("default")
    assert broken is not None
    assert broken.number == 1


def test_reordered_rows_are_found(world: World) -> None:
    tamper(
        filled(world),
        f"UPDATE entries SET number = 99, id = '99' WHERE number = 3 AND {ORGANIZATION}",
        f"UPDATE entries SET number = 3, id = '3' WHERE number = 4 AND {ORGANIZATION}",
        f"UPDATE entries SET number = 4, id = '4' WHERE number = 99 AND {ORGANIZATION}",
    )
    broken = world.app.trail.verify("default")
    assert broken is not None
    assert broken.number == 3


COPIED = "organization, sequence, at, actor, role, act, subject_kind, subject, request, outcome"
COPIED += ", before, after, previous, digest, token, reason, fingerprints"


@pytest.mark.parametrize("number", [0, 5, LENGTH + 1])
def test_an_inserted_row_is_found_wherever_it_stands(world: World, number: int) -> None:
    tamper(
        filled(world),
        f"INSERT INTO entries ({COPIED}, number, id) SELECT {COPIED}, {number}, 'x'"
        f" FROM entries WHERE number = 5 AND {ORGANIZATION}",
    )
    assert world.app.trail.verify("default") is not None


def test_a_well_made_entry_put_after_the_last_is_found(world: World) -> None:
    filled(world)
    store, trail = world.store, world.app.trail
    head = trail.head("default")
    world.remember("one more")
    assert head is not None
    store.put(head)
    broken = trail.verify("default")
    assert broken is not None
    assert broken.number == LENGTH + 1


def test_an_end_that_was_noted_elsewhere_shows_a_trail_made_anew(
    world: World, opener: Opener
) -> None:
    filled(world)
    noted = world.app.trail.head("default")
    assert noted is not None
    other = opener(name="other")
    for number in range(LENGTH + 3):
        other.remember(f"forged {number}")
    assert other.app.trail.verify("default") is None
    broken = other.app.trail.verify("default", noted)
    assert broken is not None
    assert broken.number == LENGTH
    world.remember("it grows")
    assert world.app.trail.verify("default", noted) is None


def test_a_head_that_is_gone_is_found(world: World) -> None:
    tamper(filled(world), f"DELETE FROM heads WHERE {ORGANIZATION}")
    assert world.app.trail.verify("default") is not None


@pytest.mark.needs("audit_proof")
def test_what_was_tampered_with_is_named_at_the_terminal(run: Run, tmp_path: Path) -> None:
    for text in ("a", "b", "c"):
        assert run("remember", text).exit_code == 0
    sound = run("audit", "verify")
    assert sound.exit_code == 0
    assert "default: 3 entries, sound" in sound.output
    tamper(tmp_path / "home" / "minutebook.db", "UPDATE entries SET actor = 'eve' WHERE number = 2")
    broken = run("audit", "verify")
    assert broken.exit_code == 1
    assert "default: broken at entry 2" in broken.output
    (told,) = json.loads(run("audit", "verify", "--json").stdout)["proofs"]
    assert told["broken"]["number"] == 2


@pytest.mark.thorough
def test_two_processes_that_write_at_once_leave_one_chain(world: World) -> None:
    world.remember("first")
    home = str(database(world).parent)
    command = [sys.executable, "-m", "tests.memory.writer", home]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([*command, name], **pipes) for name in ("one", "two")]  # type: ignore[call-overload]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        out, _ = writer.communicate(timeout=60)
        assert (writer.returncode, out) == (0, "done\n")
    entries = world.store.find(Entry, Filter(organization="default"), order=["number"])
    numbers = [each.number for each in entries if isinstance(each, Entry)]
    assert numbers == [*range(1, 2 + 2 * (OWN + REFUSED))]
    assert world.app.trail.verify("default") is None
    assert isinstance(world.app.trail.head("default"), Head)
