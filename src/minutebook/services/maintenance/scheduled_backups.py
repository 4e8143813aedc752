"""Make backups by a schedule, check that each can be restored, keep the latest."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from minutebook.disk.atomic_file import replace_file, sync_folder
from minutebook.domain.caller import Caller
from minutebook.domain.errors import InvalidInput, MinutebookError, StoreError
from minutebook.services.access.visibility import Clock
from minutebook.services.maintenance.backups import SUFFIX, BackedUp, Backups
from minutebook.services.maintenance.data_directory import make_home
from minutebook.store.named_locks import NamedLocks

LOCK = "scheduled backup"
"""The named lock of the process that makes one."""

RETRY = timedelta(hours=1)
"""How long after a failure it is tried again, if not sooner by the schedule."""

_STEM = "minutebook-"
_INSTANT = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(rf"{_STEM}(\d{{8}}T\d{{6}}Z){re.escape(SUFFIX)}")
_FAILURE = ".scheduled-backup.json"
"""Where in the data directory the last failure is noted, until a backup succeeds."""

_ON_SERVER = (
    "is for a store in a file: a database on a server is backed up by its own tools, pg_basebackup "
    "with its log for any moment, or pg_dump"
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """How often a backup is made (None: when somebody asks), into which folder, how many are kept."""

    every: timedelta | None
    folder: Path
    keep: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A scheduled backup that could not be made, or not be restored."""

    at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class BackupState:
    """How the backups of a schedule are: the last, when the next is due, and a failure since.

    Each is None if there is none.
    """

    last: Path | None
    last_at: datetime | None
    next_at: datetime | None
    failure: Failure | None


class ScheduledBackups:
    """Makes the backups of a schedule; `verify` raises if one cannot be restored.

    `schedule` is None where a database on a server makes its own. A backup gets its name once it was verified, and only then are older ones removed.
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
        self._failure = home / _FAILURE
        self._locks = locks
        self._clock = clock

    @property
    def is_possible(self) -> bool:
        """Whether the store is one that this makes backups of."""
        return self._schedule is not None

    def state(self) -> BackupState:
        """Tell how the backups of the schedule are."""
        schedule = self._schedule
        if schedule is None:
            return BackupState(None, None, None, None)
        made = _made(schedule.folder)
        last_at, last = made[0] if made else (None, None)
        failure = self._noted_failure()
        return BackupState(last, last_at, self._next(schedule.every, last_at, failure), failure)

    def run_if_due(self, caller: Caller) -> BackedUp | None:
        """Make the backup that is due, as `run` does; None if none is due. Raises the same."""
        return self.run(caller, only_if_due=True) if self._is_due() else None

    def run(self, caller: Caller, *, only_if_due: bool = False) -> BackedUp | None:
        """Make a backup, verify it and remove those beyond what is kept.

        None if another process is making one. Raises StoreError or InvalidArchive if it cannot be
        made or restored: the failure is noted, and older backups stay. Raises InvalidInput if the
        store is on a server, which makes its own.
        """
        if self._schedule is None:
            raise InvalidInput("--rotate", _ON_SERVER)
        with self._locks.hold(LOCK) as held:
            # Another may have made it while this one came for the lock.
            if held is None or (only_if_due and not self._is_due()):
                return None
            return self._run(self._schedule, caller)

    def _next(
        self, every: timedelta | None, last_at: datetime | None, failure: Failure | None
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
        path = folder / f"{_STEM}{now.astimezone(UTC):{_INSTANT}}{SUFFIX}"
        unverified = path.with_name(f".{path.name}")
        try:
            make_home(folder)
            for left in folder.glob(f".{_STEM}*{SUFFIX}"):
                left.unlink()
            made = self._backups.make(caller, unverified)
            try:
                self._verify(unverified)
            except MinutebookError:
                unverified.unlink()
                raise
            unverified.rename(path)
            sync_folder(folder)
            for _, old in _made(folder)[schedule.keep :]:
                old.unlink()
        except OSError as error:
            reason = f"{error.filename or folder}: {error.strerror}"
            self._note_failure(now, reason)
            raise StoreError(reason) from error
        except MinutebookError as error:
            self._note_failure(now, str(error))
            raise
        self._failure.unlink(missing_ok=True)
        return replace(made, path=path)

    def _note_failure(self, at: datetime, reason: str) -> None:
        content = json.dumps({"at": at.isoformat(), "reason": reason}).encode()
        # A full disk may be what failed; the error itself is told nevertheless.
        with suppress(OSError):
            replace_file(self._failure, content)

    def _noted_failure(self) -> Failure | None:
        try:
            noted = json.loads(self._failure.read_text(encoding="utf-8"))
            return Failure(datetime.fromisoformat(noted["at"]), str(noted["reason"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None


def _made(folder: Path) -> list[tuple[datetime, Path]]:
    """Return the backups of the schedule in a folder with when each was begun, the latest first."""
    found = []
    with suppress(OSError):
        for path in folder.iterdir():
            if (name := _NAME.fullmatch(path.name)) and path.is_file():
                found.append((datetime.strptime(name[1], _INSTANT).replace(tzinfo=UTC), path))
    return sorted(found, reverse=True)
