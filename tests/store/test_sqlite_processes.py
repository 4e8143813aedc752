"""Several processes on one file, and full disks."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.store.promises_of_processes import ProcessPromises
from tests.store.sqlite_engine import DATABASE, SqliteEngine


@pytest.mark.thorough
class TestSqliteProcesses(ProcessPromises):
    engine = SqliteEngine()

    def test_on_a_full_disk_the_write_fails_plainly_and_the_store_is_sound(
        self, tmp_path: Path
    ) -> None:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path],
            check=False,
            capture_output=True,
        )
        if mounted.returncode != 0:
            pytest.skip("no small disk can be mounted here")
        try:
            self.check_outgrown(tmp_path, "disk", "the disk is full")
        finally:
            subprocess.run(["umount", "--lazy", tmp_path], check=True)

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
