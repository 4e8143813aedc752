"""Backups made while others write, without room, and restores that are killed."""

import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import apsw
import pytest

from minutebook.config import settings_with
from minutebook.config.places import data_directory
from minutebook.features.archives.copies.backups import BackedUp, Backups
from minutebook.features.archives.copies.restores import Restores
from minutebook.features.audit_proof.audit_proof import TrailProving, prove_trail
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.repositories import Ledgers
from minutebook.record.errors import StoreBusy, StoreError, StoreTooNew, Unidentified
from minutebook.record.records import Memory, Role
from minutebook.record.rights.grants import Grant
from minutebook.store.disk.atomic_file import noting_parts, scratch_folder
from tests.features.archives.test_archives_processes import small
from tests.features.ledger.decided import PERSON, decisions_in, draft
from tests.features.ledger.test_decisions_together import check_agreed, decider, start
from tests.store.samples import memory
from tests.world import NOON, Opener, World, everything, failed

__all__ = ["small"]

OWNER = replace(PERSON, writes_system=True)


def backed_up(world: World, home: Path, path: Path) -> BackedUp:
    place = data_directory(settings_with(home=home))
    return Backups(place, world.file_store, world.app.trail, world.clock).make(PERSON, path)


def restored(home: Path, path: Path) -> None:
    Restores(data_directory(settings_with(home=home))).run(OWNER, path, NOON)


LINK_AND_DIE = """
import os, sys
from contextlib import closing
from pathlib import Path
from minutebook.app import open_app
from minutebook.record.caller import Caller
from minutebook.record.records import Role
from minutebook.features.archives.copies.backups import store_backups
from tests.homes import settings_at

def die(path, target):
    os.link(target, path)
    os._exit(0)

Path.hardlink_to = die
with closing(open_app(settings_at(sys.argv[1], embedder="none"))) as app:
    app.get(store_backups).make(Caller(name="ana", role=Role.HUMAN), Path(sys.argv[2]))
"""


def test_a_backup_that_was_killed_when_it_got_its_name_has_no_other_after_a_start(
    opener: Opener, tmp_path: Path
) -> None:
    world = opener(name="home")
    world.app.close()
    folder = tmp_path / "backups"
    folder.mkdir()
    arguments = [str(tmp_path / "home"), str(folder / "all.tar")]
    subprocess.run([sys.executable, "-c", LINK_AND_DIE, *arguments], check=True)
    assert len(list(folder.iterdir())) == 2
    opener(name="home")
    assert [path.name for path in folder.iterdir()] == ["all.tar"]


def test_a_directory_that_a_restore_makes_is_its_owners_alone(
    opener: Opener, tmp_path: Path
) -> None:
    world = opener(name="home")
    backed_up(world, tmp_path / "home", tmp_path / "all.tar")
    restored(tmp_path / "other", tmp_path / "all.tar")
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o700


def test_nobody_is_in_the_directory_while_it_is_restored(opener: Opener, tmp_path: Path) -> None:
    world = opener(name="home")
    world.remember("tea at five")
    backed_up(world, tmp_path / "home", tmp_path / "all.tar")
    directory = data_directory(settings_with(home=tmp_path / "home"))
    with pytest.raises(StoreBusy, match="in use"), directory.alone():
        pass
    world.store.close()
    # Stopped, but it would go on with whatever is there.
    with pytest.raises(StoreBusy, match="in use"), directory.alone():
        pass
    world.app.close()
    with directory.alone(), pytest.raises(StoreBusy, match="try again"):
        opener(name="home")
    assert len(opener(name="home").ids("list_memories")) == 1


@pytest.mark.thorough
def test_backups_are_whole_while_others_decide_and_write(opener: Opener, tmp_path: Path) -> None:
    home = tmp_path / "home"
    world = opener(name="home")
    sizes: list[int] = []
    with decider(home, "bo", 40, "wire") as process:
        start(process)
        while process.poll() is None:
            path = tmp_path / f"{len(sizes)}.tar"
            world.remember(f"note {len(sizes)}")
            backed_up(world, home, path)
            restored(tmp_path / f"home{len(sizes)}", path)
            other = opener(name=f"home{len(sizes)}")
            # Both are of one moment: neither the tables nor Git are ahead.
            assert [each.reason for each in other.app.get(Ledgers).states()] in (
                [],
                [None],
            )
            if decisions_in(other.app):
                assert not [each for each in other.trail() if each.act == "take_in"]
                sizes.append(len(check_agreed(other)))
            else:
                sizes.append(0)
            findings = other.app.doctor.examine()
            assert findings == []
            assert len(other.ids("list_memories")) == len(sizes)
    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 1


@pytest.mark.thorough
def test_a_backup_during_heavy_writing_holds_all_that_was_acknowledged_before(
    opener: Opener, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    world = opener(failed(), name="home")
    command = [sys.executable, "-m", "tests.memory.writer", str(home)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    writers = [subprocess.Popen([*command, name], **pipes) for name in ("one", "two")]  # type: ignore[call-overload]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
        writer.stdin.write("go\n")
        writer.stdin.flush()
    acknowledged: list[str] = []
    held = []
    for number in range(3):
        acknowledged.append(world.remember(f"note {number}"))
        backed_up(world, home, tmp_path / f"{number}.tar")
        held.append(list(acknowledged))
    for writer in writers:
        assert writer.communicate(timeout=60)[0] == "done\n"
    for number, ids in enumerate(held):
        restored(tmp_path / f"home{number}", tmp_path / f"{number}.tar")
        other = opener(failed(), name=f"home{number}")
        kept = {each.id for each in other.store.find(Memory, everything("default"))}
        assert kept.issuperset(ids)
        created = {each.subject for each in other.trail() if each.act == "created" and each.after}
        assert kept == created
        assert prove_trail(other.store, "default").is_sound
        assert other.app.infrastructure.store.upkeep.check() == []


@pytest.mark.thorough
def test_a_backup_for_which_there_is_no_room_leaves_nothing(
    opener: Opener, small: Path, tmp_path: Path
) -> None:
    world = opener(failed(), name="home")
    for number in range(20):
        world.remember(f"{number} " + "long " * 10_000)
    with pytest.raises(StoreError, match=r"full|No space"):
        backed_up(world, tmp_path / "home", small / "all.tar")
    assert list(small.iterdir()) == []


@pytest.mark.thorough
def test_a_restore_for_which_there_is_no_room_changes_nothing(
    opener: Opener, small: Path, tmp_path: Path
) -> None:
    world = opener(failed(), name="home")
    for number in range(20):
        world.remember(f"{number} " + "long " * 10_000)
    backed_up(world, tmp_path / "home", tmp_path / "all.tar")
    (small / "home").mkdir()
    (small / "home" / "config.toml").write_text("")
    with pytest.raises(StoreError, match="No space"):
        restored(small / "home", tmp_path / "all.tar")
    assert [each.name for each in (small / "home").iterdir()] == ["config.toml"]


def test_a_store_that_a_later_version_wrote_is_not_restored(opener: Opener, tmp_path: Path) -> None:
    world = opener(name="home")
    world.remember("tea")
    with closing(apsw.Connection(str(tmp_path / "home" / "minutebook.db"))) as later:
        later.pragma("user_version", 99)
    backed_up(world, tmp_path / "home", tmp_path / "all.tar")
    with pytest.raises(StoreTooNew, match="format 99"):
        restored(tmp_path / "other", tmp_path / "all.tar")
    assert list((tmp_path / "other").iterdir()) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 8))]
)
def test_a_restore_that_is_killed_leaves_a_store_and_is_ended_by_the_next(
    opener: Opener, tmp_path: Path, seed: int
) -> None:
    chance = Random(seed)
    source = opener(name="source")
    source.remember("tea at five")
    source.app.get(DecisionActs).record(PERSON, draft())
    path = tmp_path / "all.tar"
    backed_up(source, tmp_path / "source", path)
    old = opener(name="home")
    old.remember("coffee at six")
    old.app.get(DecisionActs).record(PERSON, draft("wire"))
    old.app.close()
    home = tmp_path / "home"
    for _ in range(4):
        process = begun(home, path)
        time.sleep(chance.uniform(0.2, 0.9))
        process.kill()
        process.wait()
        assert (home / "minutebook.db").is_file()
    assert begun(home, path).wait(60) == 0
    world = opener(name="home")
    assert len(check_agreed(world)) == 1
    assert [each["content"] for each in world.call("list_memories")["memories"]] == ["tea at five"]
    assert any(each.name.startswith("replaced-") for each in home.iterdir())
    assert left_in(home) == []


@pytest.fixture
def large(opener: Opener, tmp_path: Path) -> Path:
    """A data directory of some 40 MB, so that a backup of it can be killed halfway."""
    world = opener(name="home")
    with world.store.transaction("acme"):
        for number in range(200):
            world.store.put(memory(f"m{number:03}", metadata={"x": "long " * 40_000}))
    world.app.close()
    return tmp_path / "home"


def killed_backup(home: Path, folder: Path) -> None:
    """Begin a backup and kill it while its copy of the store is being made."""
    while True:
        process = run_in("backup", str(folder / "all.tar"), "--home", str(home))
        while process.poll() is None and not is_copying(folder):
            time.sleep(0.002)
        process.kill()
        if process.wait() != 0:
            break
        # It was done before it could be killed: once more.
        (folder / "all.tar").unlink()
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "all.tar").exists()
    # A part and its copy of the store; and the note of where they are.
    assert len(left_in(folder)) == 3
    assert len(left_in(home)) == 2


def is_copying(folder: Path) -> bool:
    with suppress(FileNotFoundError):
        return any(each.stat().st_size > 1 << 20 for each in folder.rglob("minutebook.db"))
    return False


@pytest.mark.thorough
@pytest.mark.parametrize(
    "next_one",
    [
        "backup beside it",
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in ("backup elsewhere", "doctor")
        ),
    ],
)
def test_a_backup_that_is_killed_leaves_no_copy_once_the_next_command_ran(
    large: Path, tmp_path: Path, next_one: str
) -> None:
    folder, other = tmp_path / "one", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    killed_backup(large, folder)
    command = {
        "backup beside it": ("backup", str(folder / "again.tar")),
        "backup elsewhere": ("backup", str(other / "again.tar")),
        "doctor": ("doctor",),
    }[next_one]
    run_in(*command, "--home", str(large)).wait(60)
    assert left_in(large) == left_in(folder) == left_in(other) == []
    made = [each.name for each in (*folder.iterdir(), *other.iterdir())]
    assert made == ([] if next_one == "doctor" else ["again.tar"])


@pytest.mark.thorough
def test_a_backup_under_way_is_left_alone(opener: Opener, tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "one"
    folder.mkdir()
    opener(name="home").remember("tea at five")
    with noting_parts(home, folder / "all.tar"), scratch_folder(folder / "all.tar") as work:
        (work / "minutebook.db").touch()
        run_in("doctor", "--home", str(home)).wait(60)
        run_in("backup", str(folder / "other.tar"), "--home", str(home)).wait(60)
        assert (work / "minutebook.db").exists()
        assert len(left_in(home)) == 2
    assert [each.name for each in folder.iterdir()] == ["other.tar"]
    assert left_in(home) == []


def left_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if ".minutebook.part" in each.name]


def run_in(*command: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-P", "-m", "minutebook", *command])


def begun(home: Path, path: Path) -> "subprocess.Popen[bytes]":
    return run_in("restore", str(path), "--replace", "--home", str(home))


def test_tokens_that_were_revoked_or_replaced_since_a_backup_stay_so(
    opener: Opener, tmp_path: Path
) -> None:
    home, path = tmp_path / "home", tmp_path / "all.tar"
    world = opener(name="home")
    owner, tokens = OWNER, world.app.tokens
    first, second, third = (
        tokens.create(owner, Grant(name=name, role=Role.AGENT)) for name in ("a", "b", "c")
    )
    backed_up(world, home, path)
    tokens.revoke(owner, first.token.id)
    replaced = tokens.rotate(owner, second.token.id, None)
    world.app.close()
    done = Restores(data_directory(settings_with(home=home))).run(OWNER, path, NOON)
    assert {each.id for each in done.kept} == {first.token.id, second.token.id}
    assert done.unsure == ()
    world = opener(name="home")
    tokens = world.app.tokens
    assert all(proof.is_sound for proof in world.app.get(TrailProving).prove(owner))
    for secret in (first.secret, second.secret):
        with pytest.raises(Unidentified):
            tokens.caller_of(secret)
    assert [tokens.caller_of(each.secret).name for each in (replaced, third)] == ["b", "c"]


def test_a_restore_names_the_tokens_that_let_in_where_it_cannot_ask(
    opener: Opener, tmp_path: Path
) -> None:
    path = tmp_path / "all.tar"
    world = opener(name="home")
    live, revoked = (
        world.app.tokens.create(OWNER, Grant(name=name, role=Role.AGENT)) for name in ("a", "b")
    )
    world.app.tokens.revoke(OWNER, revoked.token.id)
    backed_up(world, tmp_path / "home", path)
    done = Restores(data_directory(settings_with(home=tmp_path / "other"))).run(OWNER, path, NOON)
    assert [each.id for each in done.unsure] == [live.token.id]
    assert done.kept == ()
