"""SQLite's errors as StoreErrors, in plain words."""

import errno
import os
from pathlib import Path

import apsw

from minutebook.record.errors import StoreBusy, StoreClosed, StoreDamaged, StoreError
from minutebook.record.reason import Reason
from minutebook.store.disk.room import OBSTACLES, write_error_in
from minutebook.store.sql.database import Translation

RESCUE = Reason(
    "`minutebook doctor` tells what is lost and which backups there are; "
    "`minutebook restore BACKUP --replace` brings one back"
)

_REASONS: dict[type[apsw.Error], str] = {
    apsw.FullError: Reason("the disk is full"),
    apsw.NotADBError: Reason("the file is not a database"),
    apsw.CorruptError: Reason("the file is damaged"),
    apsw.ReadOnlyError: Reason("the file cannot be written: it or its folder is read-only"),
    apsw.PermissionsError: Reason("the file may not be opened: permission denied"),
    apsw.CantOpenError: Reason(
        "the file cannot be opened: a folder is missing or permission is denied"
    ),
    apsw.IOError: Reason("the disk failed to read or write"),
    apsw.NoMemError: Reason("out of memory"),
    apsw.ProtocolError: Reason("its lock files cannot be used; is it on a network file system?"),
}
_TOO_MANY = {
    errno.EMFILE: Reason(
        "this process has as many files open as it may; raise that limit (`ulimit -n`) and start it again"
    ),
    errno.ENFILE: Reason("this machine has as many files open as it may; end what keeps them open"),
}
_FULL = frozenset({apsw.SQLITE_IOERR_WRITE})


class translate_errors(Translation[Path]):  # noqa: N801 - reads as a word: `with translate_errors(path):`
    """Turns errors of the driver inside a `with` block into StoreErrors that name the file."""

    shows_cause = True

    def fault(self, error: BaseException | None) -> StoreError | None:
        """Return the StoreError for an error of the driver; None for any other error."""
        return fault_of(error, self._place) if isinstance(error, apsw.Error) else None

    def damage(self, what: Reason) -> StoreDamaged:
        """Return the error that names the damage and the remedy."""
        return damaged(what)


def damaged(reason: str, **values: object) -> StoreDamaged:
    """Return the error that names the damage and the remedy."""
    what = Reason(reason, **values)
    return StoreDamaged(Reason("{what}. {rescue}", what=what, rescue=RESCUE), what)


def fault_of(error: apsw.Error, path: Path) -> StoreError | None:
    """Return the StoreError for an error of SQLite; None if it is a mistake in our code."""
    if isinstance(error, apsw.ConnectionClosedError):
        return StoreClosed("{path}: the store was closed", path=path)
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreBusy("{path}: another process keeps the file locked", path=path)
    if getattr(error, "extendedresult", 0) in _FULL:
        return StoreError(
            "{path}: {cause}, or the file may not grow", path=path, cause=_REASONS[apsw.FullError]
        )
    reason = _REASONS.get(type(error))
    if reason is None:
        return None
    if isinstance(error, apsw.CantOpenError) and (number := _why_none_opens()) in _TOO_MANY:
        return StoreError(
            "{path}: the file cannot be opened: {cause}", path=path, cause=_TOO_MANY[number]
        )
    if (
        isinstance(error, apsw.CantOpenError | apsw.IOError)
        and (number := write_error_in(path.parent)) in OBSTACLES
    ):
        return StoreError(
            "{path}: {cause}; make room, then try again", path=path, cause=OBSTACLES[number]
        )
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return damaged("{path}: {cause} ({error})", path=path, cause=reason, error=error)
    return StoreError("{path}: {cause} ({error})", path=path, cause=reason, error=error)


def _why_none_opens() -> int:
    """Return the number of the error if no file at all can be opened, else 0; SQLite does not tell it."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno or 0
    return 0
