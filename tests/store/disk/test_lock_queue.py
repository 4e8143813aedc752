"""Who waits longest for a lock gets it next, whoever dies meanwhile."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from minutebook.record.errors import StoreBusy
from minutebook.store.disk import filelock, lock_queue
from minutebook.store.disk.filelock import FileLock
from tests.world import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="waiters are not queued there")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(filelock, "PATIENCE", 0.0)
    return tmp_path / "a.lock"


@pytest.fixture
def held(path: Path) -> Iterator[FileLock]:
    lock = FileLock(path)
    assert lock.try_acquire()
    yield lock
    lock.close()


def waiting(path: Path) -> int:
    folder = filelock.queue_of(path)
    return len([each for each in folder.glob("*") if each.name[0] != "."]) if folder.exists() else 0


def _are_waiting(path: Path, count: int) -> bool:
    return waiting(path) == count


def test_waiters_get_the_lock_in_the_order_of_their_coming(path: Path, held: FileLock) -> None:
    order: list[int] = []

    def wait_for_it(number: int) -> None:
        lock = FileLock(path)
        lock.acquire(60)
        order.append(number)
        lock.close()

    threads = []
    for number in range(6):
        threads.append(threading.Thread(target=wait_for_it, args=(number,)))
        threads[-1].start()
        wait_until(partial(_are_waiting, path, number + 1))
    held.release()
    for each in threads:
        each.join()
    assert order == list(range(6))
    assert not filelock.queue_of(path).exists()


def test_who_releases_a_lock_and_wants_it_again_comes_after_those_who_wait(
    path: Path, held: FileLock
) -> None:
    had = threading.Event()

    def wait_for_it() -> None:
        lock = FileLock(path)
        lock.acquire(60)
        had.set()
        lock.close()

    thread = threading.Thread(target=wait_for_it)
    thread.start()
    wait_until(lambda: waiting(path) == 1)
    held.release()
    held.acquire(60)
    assert had.is_set()
    thread.join()


def test_a_waiter_that_is_killed_holds_up_nobody(path: Path, held: FileLock) -> None:
    program = (
        "import sys; from pathlib import Path; from minutebook.store.disk import filelock\n"
        "filelock.PATIENCE = 0.0\n"
        "filelock.FileLock(Path(sys.argv[1])).acquire(60)"
    )
    waiter = subprocess.Popen([sys.executable, "-c", program, str(path)])
    wait_until(lambda: waiting(path) == 1)
    os.kill(waiter.pid, signal.SIGKILL)
    waiter.wait()
    assert waiting(path) == 1
    held.release()
    other = FileLock(path)
    other.acquire(60)
    other.close()
    assert not filelock.queue_of(path).exists()


def test_who_gives_up_leaves_the_queue(path: Path, held: FileLock) -> None:
    other = FileLock(path)
    with pytest.raises(StoreBusy):
        other.acquire(0.01)
    assert waiting(path) == 0
    held.release()
    other.acquire(0)
    other.close()


def test_a_place_that_was_not_locked_yet_is_one_of_the_dead(path: Path) -> None:
    folder = filelock.queue_of(path)
    folder.mkdir()
    (folder / ".00000000000000000001.1.0").touch()
    place = lock_queue.queue_up(folder)
    assert place.is_first()
    place.leave()
    assert not folder.exists()


def test_where_nobody_can_queue_up_the_lock_is_waited_for_all_the_same(
    path: Path, held: FileLock
) -> None:
    filelock.queue_of(path).touch()
    timer = threading.Timer(0.05, held.release)
    timer.start()
    other = FileLock(path)
    other.acquire(60)
    other.close()
    timer.join()
