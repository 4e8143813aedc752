import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from minutebook.record.errors import StoreBusy, StoreError
from minutebook.store.file_locks import FileLocks

HOLD = """
import sys, time
from pathlib import Path
from minutebook.store.file_locks import FileLocks
with FileLocks(Path(sys.argv[1])).hold("a") as mine:
    print(mine is not None, flush=True)
    time.sleep(60)
"""


def test_one_at_a_time_has_the_claim(tmp_path: Path) -> None:
    claims = FileLocks(tmp_path / "claims")
    assert not claims.is_held("a")
    with claims.hold("a") as mine:
        assert mine
        assert claims.is_held("a")
        assert not claims.is_held("b")
        with FileLocks(tmp_path / "claims").hold("a", wait=0.05) as again:
            assert not again
    assert not claims.is_held("a")


def test_many_share_a_claim_that_nobody_has_alone(tmp_path: Path) -> None:
    claims = FileLocks(tmp_path)
    one, other = claims.share("a"), FileLocks(tmp_path).share("a")
    one.close()
    assert claims.is_held("a")
    other.close()
    with claims.hold("a") as mine:
        assert mine
        with pytest.raises(StoreBusy, match="process has a to itself"):
            claims.share("a")
    claims.share("a").close()


def test_a_turn_can_be_waited_for(tmp_path: Path) -> None:
    claims, held, let_go = FileLocks(tmp_path), threading.Event(), threading.Event()

    def hold() -> None:
        with claims.hold("a"):
            held.set()
            let_go.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    threading.Timer(0.05, let_go.set).start()
    with claims.hold("a", wait=30) as mine:
        assert mine
    thread.join()


def test_the_turn_of_a_killed_process_is_free(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    claims = FileLocks(tmp_path)
    assert claims.is_held("a")
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert not claims.is_held("a")


def test_a_name_may_be_anything(tmp_path: Path) -> None:
    claims = FileLocks(tmp_path)
    for name in ("", "a/b\0c", "ü" * 1000, "\ud800"):
        with claims.hold(name) as mine:
            assert mine


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match="file"),
        FileLocks(tmp_path / "file" / "claims").hold("a"),
    ):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
@pytest.mark.parametrize("put", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path)])
def test_what_stands_in_the_place_of_a_claim_is_told_or_does_no_harm(
    tmp_path: Path, put: Callable[[Path], object]
) -> None:
    claims = FileLocks(tmp_path)
    with claims.hold("a"):
        (path,) = tmp_path.iterdir()
    path.write_bytes(os.urandom(100))
    with claims.hold("a") as mine:
        assert mine
    path.unlink()
    put(path)
    try:
        with claims.hold("a") as mine:
            assert mine
    except StoreError as error:
        assert path.name in str(error)  # noqa: PT017
