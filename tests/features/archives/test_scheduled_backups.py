"""Backups by a schedule: when one is due, that it can be restored, which stay, and what a failure leaves."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from minutebook.config import settings_with
from minutebook.config.places import data_directory
from minutebook.features.archives.copies.backups import Backups, store_backups
from minutebook.features.archives.copies.restores import Restores, check_restorable
from minutebook.features.archives.copies.scheduled_backups import Schedule, ScheduledBackups
from minutebook.features.archives.seam import of_backups
from minutebook.memory.maintenance.doctor import Check, Doctor
from minutebook.record.errors import InvalidArchive, InvalidInput, MinutebookError, StoreError
from minutebook.store.file_locks import FileLocks
from tests.features.ledger.decided import PERSON
from tests.world import NOON, Opener, World

DAY = timedelta(days=1)


@dataclass
class Kept:
    """A store and its schedule."""

    world: World
    folder: Path
    backups: ScheduledBackups

    def names(self) -> list[str]:
        """The files of the folder, those that begin with a dot too."""
        return sorted(path.name for path in self.folder.iterdir())


Scheduled = Callable[..., Kept]


@pytest.fixture
def scheduled(opener: Opener, tmp_path: Path) -> Scheduled:
    world = opener(name="home")
    world.remember("tea at five")
    home = tmp_path / "home"

    def make(
        every: timedelta | None = DAY,
        keep: int = 2,
        folder: Path = tmp_path / "copies",
        verify: Callable[[Path], None] = check_restorable,
    ) -> Kept:
        place = data_directory(settings_with(home=home, backup_folder=folder))
        copies = Backups(place, world.file_store, world.app.trail, world.clock)
        schedule = Schedule(every, folder, keep)
        locks = FileLocks(tmp_path / "locks")
        return Kept(
            world, folder, ScheduledBackups(copies, verify, schedule, home, locks, world.clock)
        )

    return make


@pytest.mark.parametrize("has_earlier", [False, True])
@pytest.mark.parametrize("cut", [False, True])
def test_one_that_is_gone_is_told_and_made_again_at_once(
    scheduled: Scheduled, *, has_earlier: bool, cut: bool
) -> None:
    kept = scheduled()
    for _ in range(1 + has_earlier):
        kept.world.clock.now += DAY
        made = kept.backups.run_if_due(PERSON)
    assert made is not None
    kept.world.clock.now += timedelta(hours=1)
    assert (kept.backups.state().gone, kept.backups.run_if_due(PERSON)) == (None, None)
    made.path.write_bytes(b"PK") if cut else made.path.unlink()
    assert kept.backups.state().gone == made.path
    assert kept.backups.state().last != made.path
    assert kept.backups.run_if_due(PERSON) is not None
    assert kept.backups.state().gone is None
    assert len(kept.names()) == 1 + has_earlier + cut, "what is cut short pushes no other out"


def test_one_is_made_when_it_is_due_and_the_last_few_stay(scheduled: Scheduled) -> None:
    kept = scheduled()
    assert kept.backups.state().next_at == kept.world.clock()
    for _ in range(4):
        assert kept.backups.run_if_due(PERSON) is not None
        assert kept.backups.run_if_due(PERSON) is None
        kept.world.clock.now += DAY - timedelta(seconds=1)
        assert kept.backups.run_if_due(PERSON) is None
        kept.world.clock.now += timedelta(seconds=1)
    began = NOON + timedelta(seconds=1)
    assert kept.names() == [
        f"minutebook-{began + days * DAY:%Y%m%dT%H%M%SZ}.tar" for days in (2, 3)
    ]
    state = kept.backups.state()
    assert (state.last_at, state.next_at, state.failure) == (began + 3 * DAY, began + 4 * DAY, None)


def test_it_can_be_restored(scheduled: Scheduled, opener: Opener, tmp_path: Path) -> None:
    kept = scheduled()
    made = kept.backups.run(PERSON)
    assert made is not None
    Restores(data_directory(settings_with(home=tmp_path / "other"))).run(PERSON, made.path, NOON)
    assert len(opener(name="other").ids("list_memories")) == 1


def test_files_of_others_in_the_folder_stay(scheduled: Scheduled) -> None:
    kept = scheduled(keep=1)
    kept.folder.mkdir()
    for name in ("notes.txt", "mine.tar", "minutebook-all.tar"):
        (kept.folder / name).write_text("mine")
    # What a killed process left of the schedule's own goes.
    (kept.folder / ".minutebook-20260101T000000Z.tar").write_text("half")
    for _ in range(3):
        kept.backups.run(PERSON)
        kept.world.clock.now += DAY
    ours = {name for name in kept.names() if name.startswith("minutebook-2")}
    assert len(ours) == 1
    assert set(kept.names()) - ours == {"notes.txt", "mine.tar", "minutebook-all.tar"}


def broken(backup: Path) -> None:
    raise InvalidArchive(str(backup), "it is not whole")


def test_one_that_cannot_be_restored_replaces_none_and_is_tried_again_later(
    scheduled: Scheduled,
) -> None:
    kept = scheduled(keep=1)
    assert kept.backups.run_if_due(PERSON) is not None
    before = kept.names()
    kept.world.clock.now += DAY
    failing = scheduled(keep=1, verify=broken)
    with pytest.raises(InvalidArchive):
        failing.backups.run_if_due(PERSON)
    assert kept.names() == before
    state = kept.backups.state()
    assert state.failure is not None
    assert "not whole" in state.failure.reason
    # Not at each look: the next try is an hour later, and then all is well again.
    assert kept.backups.run_if_due(PERSON) is None
    kept.world.clock.now += timedelta(hours=1)
    assert kept.backups.run_if_due(PERSON) is not None
    assert kept.backups.state().failure is None
    assert kept.names() != before


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(
    scheduled: Scheduled, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    kept = scheduled(folder=tmp_path / "file" / "copies")
    with pytest.raises(StoreError, match="copies"):
        kept.backups.run(PERSON)
    assert kept.backups.state().failure is not None


def test_only_one_process_makes_it(scheduled: Scheduled, tmp_path: Path) -> None:
    kept = scheduled()
    with FileLocks(tmp_path / "locks").hold("scheduled backup"):
        assert kept.backups.run(PERSON) is None
    assert not kept.folder.exists()


def test_without_a_schedule_one_is_made_only_when_somebody_asks(scheduled: Scheduled) -> None:
    kept = scheduled(every=None)
    assert kept.backups.state().next_at is None
    assert kept.backups.run_if_due(PERSON) is None
    assert kept.backups.run(PERSON) is not None
    assert kept.backups.state().last is not None


def test_backups_hold_no_backups(scheduled: Scheduled, tmp_path: Path) -> None:
    inside = tmp_path / "home" / "copies"
    kept = scheduled(folder=inside)
    sizes = []
    for _ in range(2):
        made = kept.backups.run(PERSON)
        assert made is not None
        sizes.append(made.files)
        kept.world.clock.now += DAY
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("position", [0.2, 0.6])
def test_a_damaged_one_is_found(scheduled: Scheduled, position: float, tmp_path: Path) -> None:
    made = scheduled().backups.run(PERSON)
    assert made is not None
    damaged = tmp_path / "damaged.tar"
    shutil.copy(made.path, damaged)
    with damaged.open("r+b") as file:
        file.seek(int(made.size * position))
        file.write(b"\x55" * 64)
    check_restorable(made.path)
    with pytest.raises(MinutebookError):
        check_restorable(damaged)


def test_a_store_on_a_server_has_the_tools_of_its_server(opener: Opener) -> None:
    world = opener(name="home")
    on_server = ScheduledBackups(
        world.app.get(store_backups),
        check_restorable,
        None,
        Path(),
        world.app.infrastructure.locks,
        world.clock,
    )
    assert on_server.state().next_at is None
    with pytest.raises(InvalidInput, match="pg_basebackup"):
        on_server.run(PERSON)


def test_the_doctor_names_a_failure_and_a_schedule_that_never_ran(
    scheduled: Scheduled,
) -> None:
    kept = scheduled(verify=broken)
    app = kept.world.app
    check = Check("The backups", lambda: of_backups(kept.backups.state()))
    store, home = app.infrastructure.store, app.settings.home
    doctor = Doctor(store, app.trail, app.embedding, app.mentions, [check], home=home)
    assert [each.finding for each in doctor.examine()] == [
        "No backup was made by the schedule yet."
    ]
    with pytest.raises(InvalidArchive):
        kept.backups.run(PERSON)
    (finding,) = doctor.examine()
    assert "failed" in finding.finding
    assert "--rotate" in finding.remedy
