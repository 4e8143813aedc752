"""What features keep of the words of records goes with them: each table that declares words, each act."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.app import App
from minutebook.features.code.projects import Projects
from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice, texts_of_row
from minutebook.features.screening.secret_scan import SecretScan
from minutebook.record.caller import Caller, with_call
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft
from minutebook.store.sql.side_tables import SideTable, all_tables
from minutebook.store.sql.side_words import SideWords
from tests.features.erasure.given import PERSON, kept
from tests.world import NOON, World, ready, worlds

AGENT = Caller(name="bot", role=Role.AGENT)
WORDS = "the violet lighthouse of Tregavarra"
TOKEN = "AKIA" + "QZTV5NJ2WD7XKM3R"
TABLES = [each for each in all_tables() if each.words]
OF_IMAGES = [each for each in TABLES if each.has_images]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with worlds(tmp_path) as open_one:
        yield open_one(ready())


def keep(app: App, table: SideTable, id: str, words: str = WORDS) -> None:
    """Keep a row about a record that holds some words, of a user, where it holds words."""
    # Of the present: what is old leaves a log by itself.
    present = int(NOON.timestamp() * 1_000_000)
    values = {"name": "x", "integer": 1, "instant": present, "real": 0.5}
    said = f'{{"text": "{words}", "user": "mia"}}'
    row = {
        column: said if column in table.words else values.get(type.rstrip("?"))
        for column, type in table.types.items()
    }
    row["id" if "id" in row else "name"] = id
    with app.infrastructure.store.database.writing("default") as (connection, number):
        row["organization"] = number
        connection.run(
            f"INSERT INTO {table.name} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
            tuple(row.values()),
        )


def said(app: App, table: SideTable) -> list[str]:
    """The words that a table holds."""
    rows = SideWords(app.infrastructure.store.database).rows("default")
    return [text for row in rows if row.table is table for text in texts_of_row(row)]


def test_every_table_with_words_of_records_is_known() -> None:
    assert {each.name for each in TABLES} >= {"undo_images", "recalls", "citations"}


@pytest.mark.parametrize("table", TABLES, ids=lambda each: each.name)
def test_what_is_kept_of_an_erased_record_goes_with_it(world: World, table: SideTable) -> None:
    gone, stays = kept(world, "Dana likes tea"), kept(world, "Olaf likes coffee")
    keep(world.app, table, gone)
    keep(world.app, table, stays, "nothing of the kind")
    erasing = world.app.get(Erasing)
    erasing.erase(PERSON, erasing.find(PERSON, Choice((gone,))), backups=False, from_ledger=False)
    assert WORDS not in said(world.app, table)
    assert "nothing of the kind" in said(world.app, table)


@pytest.mark.parametrize("table", TABLES, ids=lambda each: each.name)
def test_what_another_row_repeats_of_an_erased_record_goes_too(
    world: World, table: SideTable
) -> None:
    gone, stays = kept(world, WORDS), kept(world, "Olaf likes coffee")
    keep(world.app, table, stays)
    erasing = world.app.get(Erasing)
    done = erasing.erase(
        PERSON, erasing.find(PERSON, Choice((gone,))), backups=False, from_ledger=False
    )
    assert WORDS not in said(world.app, table)
    assert done.checked is not None
    assert done.checked.traces == []


@pytest.mark.parametrize("table", TABLES, ids=lambda each: each.name)
def test_words_that_stand_in_a_copy_alone_are_found_and_erased(
    world: World, table: SideTable
) -> None:
    keep(world.app, table, kept(world, "Olaf likes coffee"))
    erasing, choice = world.app.get(Erasing), Choice(query="violet lighthouse")
    assert erasing.find(PERSON, choice) == []
    copies = erasing.copies(PERSON, choice)
    assert [each.table.name for each in copies] == [table.name]
    held = Caller(name="mia", role=Role.HUMAN, repositories=frozenset({"shop"}))
    assert erasing.copies(held, choice) == []
    erasing.erase(PERSON, [], copies, backups=False, from_ledger=False)
    assert said(world.app, table) == []
    assert erasing.check(PERSON, [WORDS]).traces == []


@pytest.mark.parametrize("table", OF_IMAGES, ids=lambda each: each.name)
def test_a_user_s_records_as_they_were_are_found_by_the_user(
    world: World, table: SideTable
) -> None:
    keep(world.app, table, kept(world, "Olaf likes coffee"))
    erasing = world.app.get(Erasing)
    assert len(erasing.copies(PERSON, Choice(user="mia"))) == 1
    assert erasing.copies(PERSON, Choice(user="olaf")) == []


@pytest.mark.parametrize("table", OF_IMAGES, ids=lambda each: each.name)
def test_of_what_was_deleted_no_image_is_left(world: World, table: SideTable) -> None:
    keep(world.app, table, kept(world, "Olaf likes coffee"))
    erasing = world.app.get(Erasing)
    assert erasing.scrub(PERSON) == []
    assert said(world.app, table) == []
    assert erasing.check(PERSON, [WORDS]).traces == []


@pytest.mark.needs("code")
def test_of_a_project_that_was_deleted_no_path_is_left(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "zuider"
    folder.mkdir()
    (folder / "tregavarra_lighthouse.py").write_text("def lamp():\n    return 1\n")
    projects = world.app.get(Projects)
    project = projects.index(PERSON, str(folder)).progress.project
    projects.delete(PERSON, project.id)
    erasing = world.app.get(Erasing)
    erasing.scrub(PERSON)
    assert erasing.check(PERSON, ["tregavarra_lighthouse"]).traces == []


@pytest.mark.parametrize("table", TABLES, ids=lambda each: each.name)
def test_a_reset_clears_what_it_touched_and_nothing_else(world: World, table: SideTable) -> None:
    own = world.app.memories.store(
        AGENT, Draft(content="A note of the bot", type=MemoryType.FACT)
    ).id
    others = kept(world, "Olaf likes coffee")
    keep(world.app, table, own)
    keep(world.app, table, others, "nothing of the kind")
    world.app.overview.reset(AGENT)
    assert WORDS not in said(world.app, table)
    assert "nothing of the kind" in said(world.app, table)


@pytest.mark.parametrize("table", TABLES, ids=lambda each: each.name)
def test_secrets_in_what_features_keep_are_found_and_masked(world: World, table: SideTable) -> None:
    keep(world.app, table, kept(world, "Olaf likes coffee"), f"key {TOKEN}")
    scan = world.app.get(SecretScan)
    found = {each.field for each in scan.scan(PERSON)}
    assert found == {f"{table.name}.{column}" for column in table.words}
    done = scan.mask(with_call(PERSON, reason="it leaked"))
    assert ({each.field for each in done.masked}, done.left) == (found, [])
    assert list(scan.scan(PERSON)) == []
    assert not any(TOKEN in text for text in said(world.app, table))
