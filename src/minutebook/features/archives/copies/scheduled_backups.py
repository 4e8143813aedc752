"""Makes backups by a schedule, checks that each can be restored, and keeps the latest."""

import json
import logging
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from minutebook.app import App
from minutebook.features.archives.copies.backups import BackedUp, Backups, store_backups
from minutebook.features.archives.copies.restores import check_restorable
from minutebook.features.archives.settings import ArchiveSettings
from minutebook.memory.access.visibility import Clock
from minutebook.memory.jobs import Job
from minutebook.memory.maintenance.data_directory import BACKUP, make_home
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, MinutebookError, StoreError
from minutebook.record.reason import Reason, count_of, os_error_reason
from minutebook.store.disk.atomic_file import replace_file, sync_folder
from minutebook.store.disk.keys import place_of
from minutebook.store.named_locks import NamedLocks

log = logging.getLogger(__name__)

KEPT = 7
"""The number of scheduled backups that are kept."""

LOCK = "scheduled backup"
"""The named lock of the process that makes a scheduled backup."""

RETRY = timedelta(hours=1)
"""The time after a failure until the next try, unless the schedule is more frequent."""

_STEM = "minutebook-"
_INSTANT = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(rf"{_STEM}(\d{{8}}T\d{{6}}Z){re.escape(BACKUP)}")
_NOTED = ".scheduled-backup.json"
"""The file in the data directory with the last backup and a failure since."""

_MADE = frozenset({"made", "size"})

_ON_SERVER = Reason(
    "is for a store in a file: a database on a server is backed up by its own tools, pg_basebackup "
    "with its log for any moment, or pg_dump"
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The time between backups (None: only when somebody asks), their folder, and the number to keep."""

    every: timedelta | None
    folder: Path
    keep: int


@dataclass(frozen=True, slots=True)
class BackupFailure:
    """A scheduled backup that could not be made or restored."""

    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class BackupState:
    """The state of scheduled backups: the last one, when the next is due, and a failure since; each None if there is none.

    `gone` is the path of the last backup if it is missing or has another size than it was written with.
    """

    last: Path | None
    last_at: datetime | None
    next_at: datetime | None
    failure: BackupFailure | None
    gone: Path | None = None


class ScheduledBackups:
    """Makes the backups of a schedule; `verify` raises if one cannot be restored.

    `schedule` is None if the store is on a server, which makes its own. A backup gets its name after it was verified, and
    only then older ones are removed.
    """

    def __init__(
        self,
        backups: Backups,
        verify: Callable[[Path], None],
        schedule: Schedule | None,
        home: Path,
        locks: NamedLocks,
        clock: Clock,
    ) -> None:
        self._backups = backups
        self._verify = verify
        self._schedule = schedule
        self._note_file = home / _NOTED
        self._locks = locks
        self._clock = clock

    @property
    def is_possible(self) -> bool:
        """Whether backups of this store can be made here: not if it is on a server."""
        return self._schedule is not None

    def state(self) -> BackupState:
        """Return the state of the scheduled backups."""
        schedule = self._schedule
        if schedule is None:
            return BackupState(None, None, None, None)
        noted = self._read_noted()
        failure, gone = _failure_in(noted), _lost_backup(noted, schedule.folder)
        made = _existing_backups(schedule.folder, gone)
        last_at, last = made[0] if made else (None, None)
        since = None if gone is not None else last_at
        return BackupState(last, last_at, self._next(schedule.every, since, failure), failure, gone)

    def run_if_due(self, caller: Caller) -> BackedUp | None:
        """Make the backup that is due, as `run` does; None if none is due. Raises the same."""
        return self.run(caller, only_if_due=True) if self._is_due() else None

    def run(self, caller: Caller, *, only_if_due: bool = False) -> BackedUp | None:
        """Make a backup, verify it and remove those beyond the number to keep.

        None if another process is making one. Raises StoreError or InvalidArchive if it cannot be
        made or restored: the failure is noted, and older backups stay. Raises InvalidInput if the
        store is on a server, which makes its own.
        """
        if self._schedule is None:
            raise InvalidInput("--rotate", _ON_SERVER)
        with self._locks.hold(LOCK) as held:
            # Another process may have made it while this one waited for the lock.
            if held is None or (only_if_due and not self._is_due()):
                return None
            return self._run(self._schedule, caller)

    def _next(
        self, every: timedelta | None, last_at: datetime | None, failure: BackupFailure | None
    ) -> datetime | None:
        if every is None:
            return None
        due = self._clock() if last_at is None else last_at + every
        return due if failure is None else max(due, failure.at + min(RETRY, every))

    def _is_due(self) -> bool:
        due = self.state().next_at
        return due is not None and self._clock() >= due

    def _run(self, schedule: Schedule, caller: Caller) -> BackedUp:
        folder, now = schedule.folder, self._clock()
        path = folder / f"{_STEM}{now.astimezone(UTC):{_INSTANT}}{BACKUP}"
        unverified = path.with_name(f".{path.name}")
        try:
            make_home(folder)
            for abandoned in folder.glob(f".{_STEM}*{BACKUP}"):
                abandoned.unlink()
            made = self._backups.make(caller, unverified)
            try:
                self._verify(unverified)
            except MinutebookError:
                unverified.unlink()
                raise
            unverified.rename(path)
            sync_folder(folder)
            gone = _lost_backup(self._read_noted(), folder)
            for _, old in _existing_backups(folder, gone)[schedule.keep :]:
                old.unlink()
        except OSError as error:
            reason = os_error_reason(error.filename or folder, error)
            self._note_failure(now, reason)
            raise StoreError(reason) from error
        except MinutebookError as error:
            self._note_failure(now, str(error))
            raise
        self._note({"made": str(path.absolute()), "size": path.stat().st_size})
        return replace(made, path=path)

    def _note_failure(self, at: datetime, reason: str) -> None:
        made = {key: value for key, value in self._read_noted().items() if key in _MADE}
        self._note({**made, "at": at.isoformat(), "reason": reason})

    def _note(self, noted: dict[str, object]) -> None:
        # This may fail for the same reason as the backup, such as a full disk; the caller gets that error.
        with suppress(OSError):
            replace_file(self._note_file, json.dumps(noted).encode())

    def _read_noted(self) -> dict[str, object]:
        try:
            noted = json.loads(self._note_file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return noted if isinstance(noted, dict) else {}


def _failure_in(noted: dict[str, object]) -> BackupFailure | None:
    try:
        return BackupFailure(datetime.fromisoformat(str(noted["at"])), str(noted["reason"]))
    except (ValueError, KeyError):
        return None


def _lost_backup(noted: dict[str, object], folder: Path) -> Path | None:
    """Return the path of the last backup in a folder if it is missing or has another size than it was written with."""
    path = Path(str(noted.get("made", "")))
    if "made" not in noted or path.parent != folder.absolute():
        return None
    try:
        return None if path.stat().st_size == noted.get("size") else path
    except OSError:
        return path


def _existing_backups(folder: Path, gone: Path | None) -> list[tuple[datetime, Path]]:
    """Return the instant and path of each scheduled backup in a folder but `gone`, the latest first."""
    found = []
    with suppress(OSError):
        for path in folder.iterdir():
            if gone is not None and path.name == gone.name:
                continue
            if (name := _NAME.fullmatch(path.name)) and path.is_file():
                found.append((datetime.strptime(name[1], _INSTANT).replace(tzinfo=UTC), path))
    return sorted(found, reverse=True)


def scheduled_backups(app: App) -> ScheduledBackups:
    """Return the scheduled backups of an app, by its settings."""
    settings = app.settings.of(ArchiveSettings)
    every = timedelta(hours=settings.backup_every) if settings.backup_every else None
    schedule = Schedule(every, settings.scheduled_backups, KEPT)
    return ScheduledBackups(
        app.get(store_backups),
        lambda backup: check_restorable(backup, place_of(app.settings.key)),
        schedule if app.settings.store is None else None,
        app.settings.home,
        app.infrastructure.locks,
        app.clock,
    )


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that makes scheduled backups, if there is a schedule."""
    backups = app.get(scheduled_backups)

    def back_up(caller: Caller) -> None:
        if made := backups.run_if_due(caller):
            log.info("backed up %s", count_of(made.size, "byte"))

    if backups.state().next_at is not None:
        yield Job("backups", back_up, "the scheduled backup failed")
