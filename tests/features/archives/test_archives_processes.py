"""Archives when a process is killed halfway, a disk is full, or others write meanwhile."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.config import stores
from minutebook.features.archives.archive_lines import JOURNAL, Mode
from minutebook.features.archives.archives import Archives
from minutebook.record.errors import StoreBusy, StoreError
from minutebook.record.json_lines import line_of
from minutebook.record.records import Kind, Turn
from minutebook.store.disk.filelock import FileLock
from tests.features.archives.test_archives import AGENT, headed, journal, put, sealed, turn
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World, everything, worlds

TURNS = 1100
"""A tenth more than are written or read between two reports of progress."""

LONG = "long" * 1250
"""A word that takes room on a disk, and no time to index."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a session of many turns, to be copied."""
    folder = tmp_path_factory.mktemp("filled")
    with worlds(folder) as open_one:
        put(open_one(name="home"), *(turn(n) for n in range(TURNS)))
    return folder / "home"


@pytest.fixture
def kept(opener: Opener, filled: Path, tmp_path: Path) -> World:
    """A world with a session of many turns."""
    shutil.copytree(filled, tmp_path / "home")
    return opener(name="home")


def given(world: World, start: int = 0, **fields: Any) -> Path:
    """A file to import, where the world allows it."""
    path = world.app.get(Archives).export(AGENT, []).path.with_name("given.jsonl")
    path.write_bytes(
        sealed(headed(TURNS), *(line_of(turn(start + n, **fields)) for n in range(TURNS)))
    )
    return path


def begun(act: str, home: Path, file: str, limit: str = "") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.features.archives.archivist", act, str(home), file, limit],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def halfway(worker: "subprocess.Popen[str]") -> None:
    assert worker.stdout is not None
    assert worker.stdout.readline() == "half\n"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("no small disk can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.thorough
def test_an_export_that_is_killed_leaves_no_file_of_its_name(kept: World, tmp_path: Path) -> None:
    worker = begun("export", tmp_path / "home", "a.jsonl")
    halfway(worker)
    worker.kill()
    worker.communicate()
    folder = tmp_path / "home" / "backups"
    assert [each.name for each in folder.iterdir() if each.suffix != ".part"] == []
    assert kept.app.get(Archives).export(AGENT, JOURNAL, "a.jsonl").counts[Kind.TURN] == TURNS
    # What it left behind is gone as well.
    assert [each.name for each in folder.iterdir()] == ["a.jsonl"]


@pytest.mark.thorough
def test_an_export_clears_away_nothing_that_another_is_still_writing(
    kept: World, tmp_path: Path
) -> None:
    worker = begun("export", tmp_path / "home", "a.jsonl")
    halfway(worker)
    kept.app.get(Archives).export(AGENT, JOURNAL, "b.jsonl")
    said, _ = worker.communicate("go on\n", timeout=60)
    assert said == "done\n"
    folder = tmp_path / "home" / "backups"
    assert sorted(each.name for each in folder.iterdir()) == ["a.jsonl", "b.jsonl"]


def test_an_export_that_cannot_be_entered_in_the_trail_leaves_no_file(
    opener: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "WRITER_WAIT", 0.0)
    world = opener(name="home")
    world.app.sessions.add(AGENT, "s1", "hello", "", "")
    other = FileLock(tmp_path / "home" / "minutebook.db-lock")
    other.acquire(0.0)
    with pytest.raises(StoreBusy):
        world.app.get(Archives).export(AGENT, JOURNAL)
    assert list((tmp_path / "home" / "backups").iterdir()) == []
    other.close()
    world.app.get(Archives).export(AGENT, JOURNAL)
    assert len(list((tmp_path / "home" / "backups").iterdir())) == 1


def test_an_export_clears_away_only_what_an_export_left(opener: Opener, tmp_path: Path) -> None:
    world = opener(name="home")
    put(world, turn(1))
    folder = tmp_path / "home" / "backups"
    folder.mkdir()
    others = ["a.minutebook.part", ".a.part", ".b.minutebook.party"]
    for name in others:
        (folder / name).touch()
    (folder / ".c.minutebook.part").mkdir()
    (folder / ".d.minutebook.part").symlink_to(folder / ".a.part")
    world.app.get(Archives).export(AGENT, JOURNAL, "a.jsonl")
    names = {".c.minutebook.part", ".d.minutebook.part", "a.jsonl", *others}
    assert {each.name for each in folder.iterdir()} == names


@requirement("journal/considered/atomic", "journal/archives/replace")
@pytest.mark.parametrize(
    "mode", [Mode.REPLACE, pytest.param(Mode.MERGE, marks=pytest.mark.thorough)]
)
def test_an_import_that_is_killed_changes_nothing(kept: World, tmp_path: Path, mode: Mode) -> None:
    path = given(kept, start=2 * TURNS)
    before = kept.contents()
    worker = begun(mode, tmp_path / "home", path.name)
    halfway(worker)
    worker.kill()
    worker.communicate()
    assert kept.contents() == before
    assert kept.app.infrastructure.store.upkeep.check() == []
    told = kept.app.get(Archives).import_(AGENT, path.name, mode)
    assert told.imported == {Kind.TURN: TURNS}


@pytest.mark.thorough
def test_an_export_for_which_there_is_no_room_leaves_nothing(opener: Opener, small: Path) -> None:
    world = opener(archive_roots=(small,))
    put(world, *(turn(n, prompt=LONG) for n in range(500)))
    with pytest.raises(StoreError, match="No space left on device; nothing was kept of it"):
        world.app.get(Archives).export(AGENT, JOURNAL)
    assert list(small.iterdir()) == []


@pytest.mark.thorough
def test_an_export_that_may_not_grow_leaves_nothing(kept: World, tmp_path: Path) -> None:
    worker = begun("export", tmp_path / "home", "a.jsonl", "200000")
    out, err = worker.communicate("go on\n", timeout=60)
    assert worker.returncode == 0, err
    assert "File too large; nothing was kept of it" in out
    assert list((tmp_path / "home" / "backups").iterdir()) == []


@pytest.mark.thorough
def test_an_import_for_which_there_is_no_room_changes_nothing(
    opener: Opener, small: Path, tmp_path: Path
) -> None:
    roomy = given(opener(name="roomy"), prompt=LONG[:2500])
    world = opener(name="small/home", archive_roots=(roomy.parent,))
    put(world, turn(9 * TURNS))
    before = journal(world)
    with pytest.raises(StoreError, match="disk is full"):
        world.app.get(Archives).import_(AGENT, roomy.name, Mode.REPLACE)
    assert journal(world) == before
    assert world.store.upkeep.check() == []
    world.app.close()


@pytest.mark.thorough
def test_an_export_is_of_one_moment_while_others_write(kept: World, tmp_path: Path) -> None:
    worker = begun("export", tmp_path / "home", "a.jsonl")
    halfway(worker)
    put(kept, *(turn(n, response="changed") for n in range(TURNS)))
    kept.app.infrastructure.store.delete(Turn, "default", turn(TURNS - 1).id)
    out, err = worker.communicate("go on\n", timeout=60)
    assert out == "done\n", err
    told = kept.app.get(Archives).import_(AGENT, "a.jsonl", Mode.REPLACE)
    assert told.imported == {Kind.TURN: TURNS}
    assert journal(kept) == [turn(n) for n in range(TURNS)]
    assert kept.app.infrastructure.store.count(Turn, everything("default")) == TURNS
