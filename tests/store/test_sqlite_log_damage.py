"""A damaged write-ahead log: what SQLite passes over in silence is told, and the log is kept."""

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

import apsw
import pytest

from minutebook.record.filters import Filter
from minutebook.record.records import Memory
from minutebook.store.sqlite import SqliteStore, log_damage
from minutebook.store.sqlite.encryption import connect
from tests.store.samples import memory
from tests.store.test_sqlite_encrypted import KEY, TwoKeys

WRITES = 12
HEADER, FRAME = 32, 24 + 4096
ACME = Filter(organization="acme")

Harm = Callable[[Path], None]


def opened(path: Path, *, encrypted: bool = False) -> SqliteStore:
    new_key = KEY if encrypted else None
    return SqliteStore(path, durability="normal", keys=TwoKeys(), new_key=new_key)


def left(folder: Path, *, encrypted: bool = False) -> Path:
    """Return a database whose writer ended without closing it: WRITES memories are in its log."""
    first, path = folder / "first", folder / "left" / "store.db"
    first.mkdir()
    with closing(opened(first / "store.db", encrypted=encrypted)):
        pass
    with closing(opened(first / "store.db", encrypted=encrypted)) as store:
        for number in range(WRITES):
            store.put(memory(f"m{number:02}", f"bread {number}"))
        shutil.copytree(first, path.parent)
    return path


def log_of(path: Path) -> Path:
    return path.with_name("store.db-wal")


def flipped(at: int) -> Harm:
    def harm(log: Path) -> None:
        content = bytearray(log.read_bytes())
        content[at] ^= 1
        log.write_bytes(content)

    return harm


def cut(frames: float) -> Harm:
    """Cut off the end of the log."""

    def harm(log: Path) -> None:
        os.truncate(log, log.stat().st_size - int(frames * FRAME))

    return harm


def found(path: Path, *, encrypted: bool = False) -> tuple[int, list[str]]:
    """Open a database; return how many memories it has, and what it says of its log."""
    with closing(opened(path, encrypted=encrypted)) as store:
        return store.count(Memory, ACME), [sentence for sentence, _ in store.database.file_faults()]


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
@pytest.mark.parametrize(
    "at",
    [20, HEADER + 2, HEADER + 10, HEADER + 24 + 100, HEADER + 3 * FRAME + 24 + 7],
    ids=["salts of the log", "page number", "salts of a frame", "first page", "a later page"],
)
def test_writes_behind_damage_are_told_and_the_log_is_kept(
    at: int, tmp_path: Path, *, encrypted: bool
) -> None:
    path = left(tmp_path, encrypted=encrypted)
    flipped(at)(log_of(path))
    damaged = log_of(path).read_bytes()
    count, (told,) = found(path, encrypted=encrypted)
    assert count < WRITES
    assert "writes behind the damage were acknowledged" in told
    (copy,) = log_damage.kept(path)
    assert copy.name in told
    assert copy.read_bytes() == damaged
    # It is told until the copy is gone, and what is written now is not passed over.
    with closing(opened(path, encrypted=encrypted)) as store:
        store.put(memory("new"))
    assert found(path, encrypted=encrypted) == (count + 1, [told])
    copy.unlink()
    assert found(path, encrypted=encrypted) == (count + 1, [])


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
def test_a_sound_log_is_read_whole_and_nothing_is_told(tmp_path: Path, *, encrypted: bool) -> None:
    assert found(left(tmp_path, encrypted=encrypted), encrypted=encrypted) == (WRITES, [])


@pytest.mark.parametrize(
    "harm",
    [cut(0.5), cut(1), cut(2.2), flipped(-7), Path.unlink, partial(os.truncate, length=0)],
    ids=["half", "one", "two", "a flip in the last", "gone", "empty"],
)
def test_what_a_kill_can_leave_at_the_end_of_the_log_is_told_by_nobody(
    harm: Harm, tmp_path: Path
) -> None:
    path = left(tmp_path)
    harm(log_of(path))
    assert found(path)[1] == []


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
def test_frames_that_were_carried_over_are_not_taken_for_unread(
    tmp_path: Path, *, encrypted: bool
) -> None:
    path = left(tmp_path, encrypted=encrypted)
    with closing(opened(path, encrypted=encrypted)):
        key = KEY if encrypted else None
        with closing(connect(path, key, apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
            # The log begins anew with this write, which is undone: its frames stay as they are.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
            assert log_of(path).stat().st_size > HEADER + FRAME
        assert found(path, encrypted=encrypted) == (WRITES, [])
        with closing(opened(path, encrypted=encrypted)) as other:
            other.put(memory("new"))
        assert found(path, encrypted=encrypted) == (WRITES + 1, [])


def test_flips_anywhere_before_the_last_frame_lose_nothing_in_silence(tmp_path: Path) -> None:
    path, drawn = left(tmp_path), Random(7)
    whole = log_of(path).read_bytes()
    for number in range(25):
        folder = tmp_path / f"flip{number}"
        shutil.copytree(path.parent, folder)
        flipped(drawn.randrange(len(whole) - FRAME))(log_of(folder / "store.db"))
        count, told = found(folder / "store.db")
        assert count == WRITES or told


def test_what_is_removed_for_good_stays_in_no_copy_of_the_log(tmp_path: Path) -> None:
    path = left(tmp_path)
    flipped(HEADER + 3 * FRAME + 24 + 7)(log_of(path))
    with closing(opened(path)) as store:
        assert any(b"bread" in copy.read_bytes() for copy in log_damage.kept(path))
        store.upkeep.scrub()
    assert not log_damage.kept(path)


def test_a_log_of_noise_is_told(tmp_path: Path) -> None:
    path = left(tmp_path)
    log_of(path).write_bytes(Random(1).randbytes(3 * FRAME))
    assert len(found(path)[1]) == 1
