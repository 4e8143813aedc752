"""Translate PostgreSQL's errors, without quoting the statements sent to it."""

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed

from minutebook.record.errors import StoreBusy, StoreClosed, StoreDamaged, StoreError
from minutebook.record.reason import Reason
from minutebook.store.sql.database import Translation

RESCUE = Reason("restore the database to a point in time before, or ask whoever keeps the server")

_BUSY: dict[type[psycopg.Error], str] = {
    errors.LockNotAvailable: "another process is writing for the same organization for too long",
    errors.DeadlockDetected: "two writers waited for each other, so this write was undone; try again",
    errors.SerializationFailure: "another writer came first, so this write was undone; try again",
    errors.TooManyConnections: ("the server takes no more connections; raise its max_connections"),
    errors.CannotConnectNow: "the server is starting or stopping; try again",
}
_REASONS: dict[type[psycopg.Error], str] = {
    errors.DiskFull: Reason("the server's disk is full"),
    errors.OutOfMemory: Reason("the server is out of memory"),
    errors.ReadOnlySqlTransaction: (
        Reason(
            "the server takes no writes: it is a standby, or became one in a failover; name the primary, "
            "or both with target_session_attrs=read-write in the URL"
        )
    ),
    errors.InsufficientPrivilege: Reason("the user of `store` lacks a privilege in the database"),
    errors.InvalidPassword: (
        Reason("the server refused the password; give it by PGPASSFILE, PGPASSWORD or in the URL")
    ),
    errors.InvalidAuthorizationSpecification: Reason("the server refused the user of `store`"),
    errors.InvalidCatalogName: Reason("the database does not exist; make it with createdb"),
    errors.IdleInTransactionSessionTimeout: Reason("a transaction was left open for too long"),
    errors.QueryCanceled: Reason("the server cancelled the statement"),
}

_ENDS = ("FATAL", "PANIC")
"""The severities of errors with which a server ends the connection."""


class driver_errors(Translation[str]):  # noqa: N801 - reads as a word: `with driver_errors(place):`
    """Turn errors of the driver into StoreErrors that name the database."""

    shows_cause = False

    def fault(self, error: BaseException | None) -> StoreError | None:
        """Return the StoreError for an error of the driver; None for any other error."""
        return fault_of(error, self._place) if isinstance(error, psycopg.Error) else None

    def damage(self, what: Reason) -> StoreDamaged:
        """Return the error that names the damage and the remedy."""
        return damaged(what)


def damaged(reason: str, **values: object) -> StoreDamaged:
    """Return the error that names the damage and the remedy."""
    what = Reason(reason, **values)
    return StoreDamaged(Reason("{what}. {rescue}", what=what, rescue=RESCUE), what)


def fault_of(error: psycopg.Error, place: str) -> StoreError | None:
    """Return the StoreError for an error of the driver; None for a mistake in our code."""
    if isinstance(error, PoolClosed):
        return StoreClosed("{place}: the store was closed", place=place)
    for kind, reason in _BUSY.items():
        if isinstance(error, kind):
            return StoreBusy("{place}: {cause}", place=place, cause=reason)
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return StoreError("{place}: {cause}", place=place, cause=reason)
    if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
        return damaged(
            "{place}: the database is damaged ({error})", place=place, error=_first_line(error)
        )
    if isinstance(error, errors.InFailedSqlTransaction):
        return StoreError("{place}: the transaction was undone by an error before", place=place)
    # A lost connection has no code of its own, and no OperationalError comes from our code.
    if isinstance(error, psycopg.OperationalError) or error.diag.severity_nonlocalized in _ENDS:
        return StoreError(
            "{place}: the server cannot be reached, or ended the connection ({error}); see that it runs, and "
            "that the setting `store` names it",
            place=place,
            error=_first_line(error),
        )
    if isinstance(error, errors.InternalError_):
        return StoreError(
            "{place}: the server failed ({error}); its log has more",
            place=place,
            error=_first_line(error),
        )
    return None


def _first_line(error: psycopg.Error) -> str:
    """Return the first line of the server's or the driver's message, without its details."""
    text = error.diag.message_primary or str(error)
    return (text.strip().splitlines() or [type(error).__name__])[0].rstrip(".")
