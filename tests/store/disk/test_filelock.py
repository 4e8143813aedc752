"""A lock is that of the file at its path, not of one that was there before."""

from pathlib import Path

from minutebook.store.disk.filelock import FileLock


def test_a_lock_whose_file_was_taken_away_locks_nobody_out_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    one, two = FileLock(path), FileLock(path)
    assert one.try_acquire()
    assert one.is_in_place()
    assert not two.try_acquire()
    path.unlink()
    assert not one.is_in_place()
    other = FileLock(path)
    assert other.try_acquire()
    assert other.is_in_place()
    assert not one.is_in_place()
    for each in (one, two, other):
        each.close()
