"""A home in which nothing can be written: what is kept can be read, and no count that could not be made is told as none."""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path

import pytest

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.record.caller import Caller
from minutebook.record.records import Memory, MemoryType, Role
from minutebook.record.writing.drafts import Draft
from tests.terminal import typed
from tests.world import everything

ANA = Caller(name="ana", role=Role.HUMAN)


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    made = subprocess.run(["mount", *options, folder], check=False, capture_output=True)
    if made.returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def full_disk(home: Path) -> Iterator[Path]:
    small = home.with_name("small")
    small.mkdir()
    with mounted(small, "-t", "tmpfs", "-o", "size=8m", "tmpfs"):
        shutil.copytree(home, small / "home")
        with (small / "other").open("wb", buffering=0) as other, suppress(OSError):
            while other.write(bytes(4096)):
                pass
        yield small / "home"


@contextmanager
def read_only(home: Path) -> Iterator[Path]:
    with mounted(home, "--bind", str(home)):
        subprocess.run(["mount", "-o", "remount,ro,bind", home], check=True)
        yield home


@contextmanager
def read_only_with_a_log(home: Path) -> Iterator[Path]:
    """Beside the database is the log of a process that was killed, which has all there is."""
    killed = home.with_name("killed")
    with closing(open_app(settings_with(home=home, embedder="none"))) as app:
        app.memories.store(ANA, Draft(content="Tea at six", type=MemoryType.FACT))
        shutil.copytree(home, killed)
    with read_only(killed):
        yield killed


ALONE = {"MINUTEBOOK_EMBEDDER": "none", "MINUTEBOOK_DAEMON": "off"}

CAUSES: Mapping[Callable[[Path], AbstractContextManager[Path]], str] = {
    full_disk: "the disk is full",
    read_only: "Read-only file system",
    read_only_with_a_log: "Read-only file system",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with closing(open_app(settings_with(home=tmp_path / "home", embedder="none"))) as app:
        app.memories.store(ANA, Draft(content="Tea at five", type=MemoryType.FACT))
    return tmp_path / "home"


@pytest.mark.parametrize("unwritable", CAUSES)
def test_it_is_read_and_said_to_be_unwritable_and_nothing_uncounted_is_told_as_none(
    home: Path, unwritable: Callable[[Path], AbstractContextManager[Path]]
) -> None:
    cause = CAUSES[unwritable]
    with unwritable(home) as place:

        def said(*words: str, code: int = 0) -> str:
            done = typed("--home", str(place), *words, env=ALONE)
            assert done.exit_code == code, done.output
            return done.output

        assert "Tea at five" in said("list")
        assert "Tea at five" in said("search", "tea")
        assert "memories" in said("status")
        found = said("doctor", code=1)
        assert "cannot be written" in found
        assert cause in found
        assert "in order" not in found
        for command in ("today", "hook", "recalls"):
            found = said(command)
            assert "not known" in found, command
            assert not any(each in found for each in ("no agent asked", "No hook", "No question"))
        assert cause in said("remember", "more", code=1)


def test_once_there_is_room_it_is_written_again(home: Path) -> None:
    settings = settings_with(home=home, embedder="none")
    with full_disk(home) as place:
        full = settings_with(home=place, embedder="none")
        with closing(open_app(full, or_reads=True)) as app:
            assert app.database.state() == "unwritable"
        (place.parent / "other").unlink()
        with closing(open_app(full, or_reads=True)) as app:
            app.memories.store(ANA, Draft(content="Tea at six", type=MemoryType.FACT))
            assert app.database.state() == "open"
            kept = app.infrastructure.store.find(Memory, everything("default"))
            assert len(kept) == 2
    with closing(open_app(settings)) as app:
        assert app.doctor.examine() == []
