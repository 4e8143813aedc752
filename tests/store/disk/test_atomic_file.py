"""Files that are whole under their names, whatever happened while they were written."""

import errno
import json
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from minutebook.record.errors import InvalidInput, StoreError
from minutebook.store.disk.atomic_file import (
    PART,
    new_file,
    replace_file,
    scratch_folder,
    synced_file,
)
from tests.faults.calls import IS_POSSIBLE, Calls, Fault
from tests.features.archives.test_archives_processes import small
from tests.world import Opener, wait_until

__all__ = ["small"]

WRITER = """
import json, sys
from itertools import count
from pathlib import Path
from minutebook.store.disk.atomic_file import replace_file
for number in count():
    replace_file(Path(sys.argv[1]), json.dumps([number] * 20_000).encode())
"""

KILLED_WITHIN_A_WRITE = """
import os, signal, sys
from pathlib import Path
from minutebook.store.disk.atomic_file import replace_file
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
replace_file(Path(sys.argv[1]), b"half")
"""


def parts(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if PART in each.name]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o440])
def test_a_file_is_replaced_with_the_mode_that_was_asked_for(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    replace_file(path, b"after", mode)
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == mode
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_its_owners_alone_before_it_has_any_content(tmp_path: Path) -> None:
    with new_file(tmp_path / "file", "file"):
        (part,) = tmp_path.iterdir()
        assert part.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_leaves_what_was_there_and_no_part(small: Path) -> None:
    path = small / "file"
    replace_file(path, b"before")
    with pytest.raises(OSError, match="No space"):
        replace_file(path, bytes(4 << 20))
    assert path.read_bytes() == b"before"
    assert list(small.iterdir()) == [path]


def test_writers_that_are_killed_leave_a_whole_file_and_the_next_write_clears_up(
    tmp_path: Path,
) -> None:
    path, chance = tmp_path / "file", Random(7)
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-P", "-c", WRITER, str(path)])
        wait_until(path.exists)
        time.sleep(chance.uniform(0.01, 0.1))
        process.kill()
        process.wait()
        assert len(set(json.loads(path.read_bytes()))) == 1
        path.unlink()
    # When those were killed is chance; this one dies between what it writes and the name.
    subprocess.run([sys.executable, "-P", "-c", KILLED_WITHIN_A_WRITE, str(path)], check=False)
    assert parts(tmp_path)
    assert not path.exists()
    replace_file(path, b"[]")
    assert list(tmp_path.iterdir()) == [path]


def test_the_next_start_clears_what_killed_processes_left_and_nothing_under_way(
    opener: Opener, tmp_path: Path
) -> None:
    opener(name="home").app.close()
    home = tmp_path / "home"
    index = home / "minutebook.db-index" / "1"
    (home / "backups").mkdir()
    index.mkdir(parents=True)
    for folder in (home, home / "backups", index):
        (folder / f".config.toml.dead{PART}").touch()
        (folder / f".a.dead{PART}.d").mkdir()
    with scratch_folder(home / "at work"), new_file(home / "backups" / "new", "new"):
        opener(name="home")
        assert len(parts(home)) == 2
        assert len(parts(home / "backups")) == 1
    assert parts(home) == parts(home / "backups") == parts(index) == []


def written_beside(path: Path) -> None:
    """Write a new file while somebody else makes one of that name."""
    with new_file(path, "file") as file:
        file.write(b"mine")
        path.write_bytes(b"theirs")


def test_a_new_file_never_takes_a_name(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(InvalidInput, match="must be new"):
        written_beside(path)
    assert path.read_bytes() == b"theirs"
    with pytest.raises(FileExistsError), synced_file(path):
        pass
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not IS_POSSIBLE, reason="the tables of libraries are Linux's")
def test_a_new_file_whose_name_cannot_be_flushed_is_not_there(tmp_path: Path) -> None:
    calls, broken = Calls(), Fault("broken", {"fsync"}, errno.EIO)
    path = tmp_path / "file"
    # First its content is flushed, then its name.
    with calls.hooked(), calls.failing(tmp_path, broken, 1) as plan:  # noqa: SIM117
        with pytest.raises(StoreError, match="nothing was kept"), new_file(path, "file") as file:
            file.write(b"all")
    assert plan.failed == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not IS_POSSIBLE, reason="the tables of libraries are Linux's")
def test_a_part_that_cannot_be_locked_is_not_left(tmp_path: Path) -> None:
    calls, busy = Calls(), Fault("busy", {"flock", "fcntl", "fcntl64"}, errno.EAGAIN)
    with calls.hooked(), calls.failing(tmp_path, busy, 0) as plan:
        replace_file(tmp_path / "file", b"all")
    assert plan.failed == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.thorough
@pytest.mark.skipif(not IS_POSSIBLE, reason="the tables of libraries are Linux's")
def test_a_part_that_cannot_be_removed_is_no_failure(tmp_path: Path) -> None:
    calls, broken = Calls(), Fault("broken", {"unlink"}, errno.EIO)
    with calls.hooked(), calls.failing(tmp_path, broken, 0) as plan:  # noqa: SIM117
        with new_file(tmp_path / "file", "file") as file:
            file.write(b"all")
    assert plan.failed == 1
    assert (tmp_path / "file").read_bytes() == b"all"
    replace_file(tmp_path / "another", b"")
    assert parts(tmp_path) == []
