"""Several processes on one file, and full disks."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from minutebook.record.errors import StoreError
from minutebook.record.records import Memory
from minutebook.store.sqlite import SqliteStore
from tests.store.promises_of_processes import ProcessPromises
from tests.store.samples import memory
from tests.store.sqlite_engine import DATABASE, SqliteEngine


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", tmp_path],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("no small disk can be mounted here")
    yield tmp_path
    subprocess.run(["umount", "--lazy", tmp_path], check=True)


@pytest.mark.thorough
class TestSqliteProcesses(ProcessPromises):
    engine = SqliteEngine()

    def test_on_a_full_disk_the_write_fails_plainly_and_the_store_is_sound(
        self, small_disk: Path
    ) -> None:
        self.check_outgrown(small_disk, "disk", "the disk is full")

    def test_on_a_full_disk_it_is_told_why_a_store_cannot_be_opened(self, small_disk: Path) -> None:
        self.engine.open(small_disk).close()
        with (small_disk / "other").open("wb", buffering=0) as other, suppress(OSError):
            while other.write(bytes(4096)):
                pass
        with pytest.raises(StoreError, match="the disk is full; make room"):
            self.engine.open(small_disk)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="file sizes are limited on POSIX only")
    def test_where_a_file_may_not_grow_the_write_fails_plainly_and_the_store_is_sound(
        self, tmp_path: Path
    ) -> None:
        self.check_outgrown(tmp_path, "1200000", "the file may not grow")

    def check_outgrown(self, folder: Path, limit: str, reason: str) -> None:
        worker = self.start("outgrow", folder, limit)
        out, err = worker.communicate(timeout=60)
        *acknowledged, last = out.splitlines()
        assert worker.returncode == 0, err
        assert reason in last
        assert str(folder / DATABASE) in last
        assert len(acknowledged) > 3
        self.check_whole(folder, set(acknowledged), set(acknowledged))


CHECKPOINTING = """
import fcntl, sys, time
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 121)
    print("locked", flush=True)
    time.sleep(0.5)
"""
"""Holds the lock that SQLite takes for as long as it carries a log over: byte 121 of the shared memory."""


@pytest.mark.skipif(sys.platform == "win32", reason="locks of bytes are used")
def test_what_was_removed_for_good_waits_for_another_that_carries_the_log_over(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with closing(SqliteStore(path)) as store:
        store.put(memory("bread"))
        store.delete(Memory, memory().organization, "bread")
        command = [sys.executable, "-c", CHECKPOINTING, f"{path}-shm"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "locked\n"
            store.upkeep.scrub()
        assert Path(f"{path}-wal").stat().st_size == 0
