"""Several processes on one file, and full disks."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from minutebook.domain.errors import StoreError
from tests.store.promises_of_processes import ProcessPromises
from tests.store.sqlite_engine import DATABASE, SqliteEngine


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path],
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
        self.check_outgrown(tmp_path, "1000000", "the file may not grow")

    def check_outgrown(self, folder: Path, limit: str, reason: str) -> None:
        worker = self.start("outgrow", folder, limit)
        out, err = worker.communicate(timeout=60)
        *acknowledged, last = out.splitlines()
        assert worker.returncode == 0, err
        assert reason in last
        assert str(folder / DATABASE) in last
        assert len(acknowledged) > 3
        self.check_whole(folder, set(acknowledged), set(acknowledged))
