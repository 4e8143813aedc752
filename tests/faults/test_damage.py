"""Torn and flipped bytes in each file of a data directory: never a hang, never silence."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.features.archives.copies.backups import store_backups
from minutebook.features.hooks import log as hook_log
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.record.records import MemoryType
from minutebook.record.writing.decision_drafts import DecisionDraft
from minutebook.record.writing.drafts import Draft
from tests.faults.campaign import LONG, chance, report, rounds
from tests.faults.damaged import LIMITS, OWNER

SECONDS = 60
"""How long what is damaged may keep a process."""

SHORT = 1
"""In how many parts of a data directory a short run damages a file."""

TEXT = "Tea at five, number {number}, with bread and butter and a long talk about the weather"

Harm = Callable[[bytes, Random], bytes]

LOG = "its log"
CUTS = ("torn", "torn by a byte", "empty")
"""What a crash can leave of a log, too: nobody can tell that its last writes were there."""

HARMS: dict[str, Harm] = {
    "a flipped bit": lambda data, random: _at(
        data, at := random.randrange(len(data)), bytes([data[at] ^ 1 << random.randrange(8)])
    ),
    "a byte overwritten": lambda data, random: _at(
        data, random.randrange(len(data)), random.randbytes(1)
    ),
    "a page of zeros": lambda data, random: _at(
        data, random.randrange(len(data)) // 4096 * 4096, bytes(4096)
    ),
    "a page of noise": lambda data, random: _at(
        data, random.randrange(len(data)) // 4096 * 4096, random.randbytes(4096)
    ),
    "torn": lambda data, random: data[: random.randrange(len(data))],
    "torn by a byte": lambda data, random: data[:-1],
    "longer": lambda data, random: data + random.randbytes(100),
    "empty": lambda data, random: b"",
    "noise": lambda data, random: random.randbytes(len(data)),
}


def _at(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new[: len(data) - at] + data[at + len(new) :]


@dataclass(frozen=True)
class Whole:
    """A data directory that a process left without closing it, and what is read of it."""

    home: Path
    told: dict[str, list[str]]

    def files(self) -> dict[str, list[Path]]:
        """Return its files, relative, by what they are."""
        found: dict[str, list[Path]] = {}
        for path in sorted(self.home.rglob("*")):
            if path.is_file() and path.stat().st_size:
                name = path.relative_to(self.home)
                found.setdefault(_part(name), []).append(name)
        return found


def _part(path: Path) -> str:
    """Name the part of a data directory to which a file belongs."""
    match path.parts:
        case ("ledgers", _, "objects", *_):
            return "Git's objects"
        case ("ledgers", _, *_):
            return "Git's refs and settings"
        case ("minutebook.db",):
            return "the database"
        case ("minutebook.db-wal",):
            return LOG
        case ("minutebook.db-index", *_):
            return "the vector index"
        case ("config.toml" | "secret" | "backups.log" | "hooks.log", *_):
            return "settings and notes"
        case _:
            return "locks"


def used(home: Path, *limit: object) -> dict[str, list[str]]:
    """Return what a process makes of a data directory. Fails if it is at it for too long."""
    command = [sys.executable, "-m", "tests.faults.damaged", str(home), *map(str, limit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    first, home = folder / "first", folder / "home"
    with closing(open_app(settings_with(home=first, embedder="none"))) as app:
        for number in range(40):
            app.memories.store(
                OWNER, Draft(content=TEXT.format(number=number), type=MemoryType.FACT)
            )
        app.sessions.add(OWNER, "a session", "Mend it", "", "Done.")
        app.get(DecisionActs).record(OWNER, DecisionDraft("Use one file", "store", "It is enough."))
        app.get(ApprovalSecret).set(OWNER, "open sesame")
        app.doctor.repair(OWNER)
        app.get(store_backups).make(OWNER, folder / "all.tar")
        hook_log.append(str(first), client="codex", event="Stop", outcome="captured")
        (first / "config.toml").write_text("recall_tokens = 7\n")
        # With a log that was not carried over.
        shutil.copytree(first, home)
    copy = folder / "copy"
    shutil.copytree(home, copy)
    told = used(copy)
    assert not told["errors"]
    assert not told["mistakes"]
    assert not told["findings"]
    return Whole(home, told)


def test_whatever_is_damaged_is_told_or_does_no_harm(whole: Whole, tmp_path: Path) -> None:
    random = chance("damage")
    wrong = []
    files_of = whole.files()
    for part in files_of if LONG else random.sample(sorted(files_of), SHORT):
        told_of = harmless = cut = 0
        files, count = files_of[part], rounds(1, 12)
        for number in range(count):
            name, harm = random.choice(files), random.choice(list(HARMS))
            home = tmp_path / f"{part} {number}"
            shutil.copytree(whole.home, home)
            data = (home / name).read_bytes()
            (home / name).chmod(0o600)
            (home / name).write_bytes(HARMS[harm](data, random))
            told = used(home)
            shutil.rmtree(home)
            case = f"{harm} in {name}"
            wrong += [f"{case}: {each}" for each in told["mistakes"]]
            if told["errors"] or told["findings"]:
                told_of += 1
            elif harm in CUTS and part == LOG and set(told["records"]) < set(whole.told["records"]):
                cut += 1
            elif any(told[key] != whole.told[key] for key in ("records", "found")):
                wrong.append(f"{case}: other records were read, and nothing was said")
            else:
                harmless += 1
        report("damage", part, damaged=count, told=told_of, harmless=harmless, cut=cut)
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may read: each run of pytest takes those of the others away from all but its own."""
    with TemporaryDirectory(prefix="limits-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        yield folder


@pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")
@pytest.mark.parametrize(
    "limit",
    [pytest.param(name, marks=[] if name == "read-only" else pytest.mark.slow) for name in LIMITS],
)
def test_a_limit_of_the_machine_is_told_and_costs_nothing(
    whole: Whole, open_folder: Path, limit: str
) -> None:
    home, warm = open_folder / "home", open_folder / "warm"
    for folder in (home, warm):
        shutil.copytree(whole.home, folder)
    told = used(home, limit, warm)
    assert not told["mistakes"]
    # What a process has may be enough.
    assert told["errors"] or limit == "memory"
    for path in (home, *home.rglob("*")):
        os.chown(path, os.geteuid(), os.getegid())
        path.chmod(0o700 if path.is_dir() else 0o600)
    again = used(home)
    assert not again["mistakes"]
    assert not again["errors"]
    assert not again["findings"]
    lost = set(whole.told["records"]) - set(again["records"])
    assert not lost
