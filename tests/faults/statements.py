"""Statements sent to a PostgreSQL server, made to fail for real: the server itself raises the error, or ends the connection.

Before the statement of a number is sent, the same connection raises an error of a code, so that its transaction is undone
as by any other; or another connection ends it. No code of the project is replaced but the driver's sending of a statement.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from minutebook.features.postgres.store import PostgresStore
from tests.faults.use_cases import Ground, Records, prepared
from tests.features.postgres.server import server
from tests.world import StoreReader, wait_until

_WORK, _TEMPLATE = "steps_work", "steps_template"


@dataclass(frozen=True)
class StatementFault:
    """How a statement fails: by an error of a code, in turn, or, without any, by the end of the connection before or after it."""

    name: str
    codes: tuple[str, ...] = ()
    is_after: bool = False

    def __str__(self) -> str:
        return self.name


FAULTS = (
    StatementFault("connection cut"),
    StatementFault("connection cut after a commit", is_after=True),
    StatementFault(
        "an error: serialization failure, disk full, statement cancelled, I/O error, by turns",
        ("40001", "53100", "57014", "58030"),
    ),
)


@dataclass
class StatementPlan:
    """What fails: the statement of a number, of one thread."""

    fault: StatementFault
    number: int
    thread: int
    reached: list[str] = field(default_factory=list)
    failed: int = 0

    def failing(self, statement: str) -> bool:
        """Tell whether a statement is to fail, and count it."""
        if self.fault.is_after and statement != "COMMIT":
            return False
        number = len(self.reached)
        self.reached.append(statement)
        self.failed += number == self.number
        return number == self.number


class Statements:
    """The statements of this process, as long as `hooked`."""

    def __init__(self) -> None:
        self._plan: StatementPlan | None = None

    @contextmanager
    def hooked(self) -> Iterator[None]:
        """Have the driver ask us before each statement, meanwhile."""
        kept: list[tuple[Any, str, Any]] = []
        for owner in (psycopg.Cursor, psycopg.ServerCursor):
            for name in ("execute", "executemany"):
                kept.append((owner, name, getattr(owner, name)))
                setattr(owner, name, self._hook(kept[-1][2]))
        try:
            yield
        finally:
            for each in kept:
                setattr(*each)

    @contextmanager
    def failing(self, root: Path, fault: StatementFault, number: int) -> Iterator[StatementPlan]:
        """Make the statement of a number fail, of those that this thread sends."""
        self._plan = plan = StatementPlan(fault, number, threading.get_ident())
        try:
            yield plan
        finally:
            self._plan = None

    def _hook(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(real)
        def sent(cursor: psycopg.Cursor[Any], query: Any, *arguments: Any, **named: Any) -> Any:
            plan = self._plan
            if plan is None or plan.thread != threading.get_ident():
                return real(cursor, query, *arguments, **named)
            if not plan.failing(_text_of(query, cursor)):
                return real(cursor, query, *arguments, **named)
            self._plan = None
            try:
                if codes := plan.fault.codes:
                    return _raise(cursor.connection, codes[plan.number % len(codes)])
                if plan.fault.is_after:
                    real(cursor, query, *arguments, **named)
                _cut(cursor.connection.info.backend_pid)
                # Nobody is there any more to answer it.
                return cursor.connection.execute("SELECT 1")
            finally:
                self._plan = plan

        return sent


def _text_of(query: Any, cursor: psycopg.Cursor[Any]) -> str:
    if isinstance(query, sql.Composable):
        return query.as_string(cursor)
    return query.decode() if isinstance(query, bytes) else str(query)


def _raise(connection: psycopg.Connection[Any], code: str) -> Any:
    raised = f"DO $$ BEGIN RAISE EXCEPTION 'provoked' USING ERRCODE = '{code}'; END $$"
    return connection.execute(raised.encode())


def _cut(pid: int) -> None:
    with psycopg.connect(server().url("postgres"), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (pid,))

        def is_gone() -> bool:
            alive = other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,))
            return alive.fetchone() is None

        wait_until(is_gone)


class ServerGround(Ground):
    """A data directory whose records are on a server; of its copies only the last is there."""

    def copied(self, folder: Path) -> "ServerGround":
        """Copy it into a folder, and the database in place of the last copy's."""
        server().drop(_WORK)
        server().execute(f"CREATE DATABASE {_WORK} TEMPLATE {_TEMPLATE} STRATEGY FILE_COPY")
        return super().copied(folder)

    def records(self) -> Records:
        """Return every record but the trail's and tokens."""
        assert self.store is not None
        store = PostgresStore(self.store, self.folder / "looked")
        try:
            return StoreReader(store).records()
        finally:
            store.close()


@contextmanager
def prepared_on_server(folder: Path) -> Iterator[ServerGround]:
    """Do as `prepared` does, with the records in a database that is dropped at the end."""
    server().drop(_TEMPLATE)
    server().make_store(_WORK)
    try:
        with prepared(folder, server().url(_WORK)) as ground:
            server().execute(f"ALTER DATABASE {_WORK} RENAME TO {_TEMPLATE}")
            yield ServerGround(ground.folder, ground.given, ground.embedding, ground.store)
    finally:
        for name in (_WORK, _TEMPLATE):
            server().drop(name)
