import subprocess
import sys
import threading
from pathlib import Path

import pytest

from minutebook.domain.errors import StoreError
from minutebook.services.turns import Turns

HOLD = """
import sys, time
from pathlib import Path
from minutebook.services.turns import Turns
with Turns(Path(sys.argv[1])).taken("a") as mine:
    print(mine, flush=True)
    time.sleep(60)
"""


def test_one_at_a_time_has_the_turn(tmp_path: Path) -> None:
    turns = Turns(tmp_path / "turns")
    assert not turns.is_taken("a")
    with turns.taken("a") as mine:
        assert mine
        assert turns.is_taken("a")
        assert not turns.is_taken("b")
        with Turns(tmp_path / "turns").taken("a", wait=0.05) as again:
            assert not again
    assert not turns.is_taken("a")


def test_a_turn_can_be_waited_for(tmp_path: Path) -> None:
    turns, held, let_go = Turns(tmp_path), threading.Event(), threading.Event()

    def hold() -> None:
        with turns.taken("a"):
            held.set()
            let_go.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    threading.Timer(0.05, let_go.set).start()
    with turns.taken("a", wait=30) as mine:
        assert mine
    thread.join()


def test_the_turn_of_a_killed_process_is_free(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    turns = Turns(tmp_path)
    assert turns.is_taken("a")
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert not turns.is_taken("a")


def test_a_name_may_be_anything(tmp_path: Path) -> None:
    turns = Turns(tmp_path)
    for name in ("", "a/b\0c", "ü" * 1000, "\ud800"):
        with turns.taken(name) as mine:
            assert mine


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"), Turns(tmp_path / "file" / "turns").taken("a"):
        pass
