"""What a person is told when the database is lost or damaged, and what they can do about it."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from click.testing import Result

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.features.archives.copies.backups import store_backups
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.record.caller import Caller
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.decision_drafts import DecisionDraft
from minutebook.record.writing.drafts import Draft
from tests.examples import parametrize_in_part
from tests.terminal import Run, remembered

PAGE = 4096
OWNER = Caller(name="ana", role=Role.HUMAN, writes_system=True)
READING = (["list"], ["search", "tea"], ["status"], ["list", "--alike"])
RESTORE = "`minutebook restore BACKUP --replace`"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that holds memories and a decision, and beside it a backup of that."""
    folder = tmp_path_factory.mktemp("kept")
    with closing(open_app(settings_with(home=folder / "home", embedder="none"))) as app:
        for number in range(60):
            app.memories.store(OWNER, Draft(content=f"tea {number} " * 40, type=MemoryType.FACT))
        app.get(DecisionActs).record(OWNER, DecisionDraft("Use one file", "store", "It is enough."))
        app.get(store_backups).make(OWNER, folder / "all.tar")
    return folder


@pytest.fixture
def home(run: Run, kept: Path, tmp_path: Path) -> Path:
    """The data directory of such a store, for one test."""
    shutil.copytree(kept / "home", tmp_path / "home")
    return tmp_path / "home"


def database(home: Path) -> Path:
    return home / "minutebook.db"


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def overwritten(path: Path) -> None:
    path.write_bytes(b"a shopping list " * 1000)


def halved(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def in_pieces(path: Path) -> None:
    """Overwrite the pages on which memories are, as a failing disk would."""
    content = path.read_bytes()
    pages = [content[at : at + PAGE] for at in range(0, len(content), PAGE)]
    held = [at for at, page in enumerate(pages) if page.count(b"tea ") > 40 and page[0] == 0x0D]
    assert len(held) > 4
    for at in held[2:-2]:
        pages[at] = b"\xff" * PAGE
    path.write_bytes(b"".join(pages))


def check_plain(result: Result) -> str:
    """Check that a command ended with one plain sentence; return it."""
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("harm", [emptied, Path.unlink, overwritten, halved])
def test_every_command_says_what_is_damaged_and_what_helps(
    run: Run, home: Path, harm: Callable[[Path], None]
) -> None:
    harm(database(home))
    before = database(home).read_bytes() if database(home).exists() else None
    for command in (*READING, ["remember", "more tea"], ["export", str(home / "x.jsonl")]):
        said = check_plain(run(*command))
        assert str(database(home)) in said
        assert "`minutebook doctor`" in said
        assert RESTORE in said
    assert (database(home).read_bytes() if database(home).exists() else None) == before


@pytest.mark.parametrize("harm", [emptied, Path.unlink, overwritten, halved, in_pieces])
def test_doctor_works_on_a_damaged_database_and_names_the_backup(
    run: Run, home: Path, kept: Path, harm: Callable[[Path], None]
) -> None:
    harm(database(home))
    for command in (["doctor"], ["doctor", "--repair"]):
        result = run(*command)
        assert result.exit_code == 1
        assert isinstance(result.exception, SystemExit)
        assert f"minutebook restore {kept / 'all.tar'} --replace" in result.output
    told = json.loads(run("doctor", "--json").output)
    assert set(told[0]) == {"finding", "remedy"}
    done = run("restore", str(kept / "all.tar"), "--replace")
    assert done.exit_code == 0, done.output
    assert " of 60" in run("list").output
    assert "Use one file" in run("decisions").output


def test_what_can_still_be_read_is_counted(run: Run, home: Path) -> None:
    in_pieces(database(home))
    said = run("doctor").output
    assert "the database is damaged" in said
    (line,) = (line for line in said.splitlines() if line.startswith("memories: "))
    assert "of 60 can still be read" in line
    assert 0 < int(line.split()[1]) < 60


def test_damage_to_an_index_alone_is_repaired(run: Run, home: Path) -> None:
    with sqlite3.connect(database(home)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'memories_by_update'"
        ).fetchone()
    connection.close()
    content = bytearray(database(home).read_bytes())
    at = (root - 1) * PAGE
    # One entry fewer: the index no longer knows one of the memories.
    content[at + 3 : at + 5] = (int.from_bytes(content[at + 3 : at + 5]) - 1).to_bytes(2)
    database(home).write_bytes(bytes(content))
    assert "memories_by_update" in run("doctor").output
    mended = run("doctor", "--repair").output
    assert "memories_by_update" not in mended
    assert "damaged" not in mended


def test_without_a_backup_an_empty_store_is_begun_only_when_asked_for(run: Run, home: Path) -> None:
    assert "--start-anew is for a damaged" in check_plain(run("doctor", "--start-anew"))
    (home / "backups.log").unlink()
    (home / "config.toml").write_text("recall_tokens = 7\n")
    overwritten(database(home))
    said = run("doctor").output
    assert "No backup" in said
    assert "`minutebook doctor --start-anew`" in said
    assert "An empty store was begun" in run("doctor", "--start-anew").stderr
    assert "0 of 0" in run("list").output
    # Git is the record of truth for decisions.
    assert "Use one file" in run("decisions").output
    assert (home / "config.toml").exists()
    (aside,) = home.glob("replaced-*")
    assert (aside / "minutebook.db").read_bytes().startswith(b"a shopping list")


def test_the_log_of_an_empty_database_is_not_lost(run: Run, home: Path) -> None:
    connection = sqlite3.connect(database(home))
    connection.execute("UPDATE memories SET importance = 2.0")
    connection.commit()
    log = home / "minutebook.db-wal"
    kept = log.read_bytes()
    assert kept
    connection.close()
    log.write_bytes(kept)
    (home / "minutebook.db-lock").write_bytes(b"")
    shutil.rmtree(home / "ledgers")
    emptied(database(home))
    assert "minutebook.db-wal" in check_plain(run("list"))
    assert log.read_bytes() == kept


def test_a_folder_in_which_no_store_was_kept_begins_one(run: Run, home: Path) -> None:
    """Neither settings alone, nor what a start that was killed leaves, stand in the way."""
    shutil.rmtree(home)
    home.mkdir()
    (home / "config.toml").write_text("recall_tokens = 7\n")
    for name in ("minutebook.db", "minutebook.db-lock"):
        (home / name).touch()
    (home / "claims").mkdir()
    remembered(run, "tea")
    assert "1 of 1" in run("list").output


@parametrize_in_part("seed", range(6))
def test_no_damage_leads_to_a_traceback(run: Run, home: Path, seed: int) -> None:
    chance = Random(seed)
    content = bytearray(database(home).read_bytes())
    for _ in range(chance.choice([1, 3, 10])):
        at = chance.randrange(len(content) // PAGE) * PAGE
        harm = chance.choice([bytes(PAGE), b"\xff" * PAGE, chance.randbytes(PAGE)])
        content[at : at + PAGE] = harm
    database(home).write_bytes(bytes(content))
    for command in (*READING, ["doctor"], ["doctor", "--repair"], ["remember", "more"]):
        result = run(*command)
        assert result.exception is None or isinstance(result.exception, SystemExit), command
        assert result.exit_code in (0, 1)


@pytest.mark.needs("install")
def test_doctor_names_a_client_whose_entry_lets_a_folder_run_code(run: Run, tmp_path: Path) -> None:
    run("remember", "tea at five")
    entry = {"command": "python3", "args": ["-m", "minutebook", "serve"]}
    (tmp_path / ".claude.json").write_text(json.dumps({"mcpServers": {"minutebook": entry}}))
    examined = run("doctor")
    assert examined.exit_code == 1
    assert "of Claude Code starts Python with -m and without -P" in examined.output
    assert "`minutebook install claude-code --name minutebook`" in examined.output
