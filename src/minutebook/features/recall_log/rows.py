"""The two tables of the recall log: a row for each question, and a row for each of its hits."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from minutebook.record.caller import Caller
from minutebook.record.day import DaySpan
from minutebook.record.records import Key, Kind, Record
from minutebook.store.protocol import Tended
from minutebook.store.sql.database import Connection, Database
from minutebook.store.sql.side_tables import SideTable, SideTables
from minutebook.store.sql.tables import instant, microseconds, value_text


@dataclass(frozen=True, slots=True)
class Got:
    """A hit of a question, with the score of its tool: a relevance in [0, 1], except for code."""

    kind: Kind
    id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRecall:
    """A question and its hits of one organization, the best first.

    `asker` is the key of the caller with its scopes (`asker_of`), `actor` the caller's name. `act` is the tool, of
    a `contract`, called by a `client` in the `session` of a connection. `question` is None if its text is not kept.
    """

    id: str
    organization: str
    at: datetime
    asker: str
    actor: str
    client: str
    contract: str
    act: str
    session: str
    question: str | None
    got: tuple[Got, ...]


@dataclass(frozen=True, slots=True)
class ShownRecall:
    """An entry with the hits that the reader may see and their scores, the best first."""

    entry: LoggedRecall
    got: list[tuple[Record, float]]


@dataclass(frozen=True, slots=True)
class RecallCount:
    """The number of questions of a name through a client, and the time of the last."""

    actor: str
    client: str
    count: int
    last: datetime


def asker_of(caller: Caller) -> str:
    """Return the key of a caller with the scopes that bind it."""
    repositories = "*" if caller.repositories is None else repr(sorted(caller.repositories))
    parts = (caller.principal, caller.name, caller.organization, repositories, caller.user)
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


_RECALLS = SideTable(
    "recalls",
    "organization integer, id name, at instant, asker name, actor name, client name, contract name, act name,"
    " session name, question words?",
    key="organization, id",
    indices={"by_time": "(organization, at, id)", "by_session": "(organization, session, at, id)"},
    is_kept_without_words=True,
)

# Rows go with removed memories only: other records are removed by thousands, and their rows go with the entry.
_RECALLED = SideTable(
    "recalled",
    "organization integer, recall name, place integer, kind name, id name, score real",
    key="organization, recall, place",
    indices={"by_record": "(organization, id, recall)"},
    goes_with=(Kind.MEMORY,),
)

TABLES = SideTables((_RECALLS, _RECALLED))


_COLUMNS = "id, at, asker, actor, client, contract, act, session, question"

_BATCH = 500

_WAIT = 2.0
"""Seconds for which writing waits for other writers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """Conditions on the entries of an organization's recall log; None is no condition.

    `sessions` are names of connections' sessions, `client` is a program, in any case of letters, `record` is the
    kind and id of a hit.
    """

    organization: str
    asker: str | None = None
    sessions: Collection[str] | None = None
    client: str | None = None
    record: tuple[Kind, str] | None = None
    span: DaySpan | None = None


class RecallRows:
    """Reads and writes the tables of the recall log; safe to call from several threads.

    The rows are not records: changes of them are not in the change feed. Texts must be free of NUL and lone surrogates.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, organization: str, entries: Sequence[LoggedRecall]) -> None:
        """Write entries of an organization, all or none, without those whose ids exist.

        Raises StoreBusy after _WAIT seconds.
        """
        with self._writing(organization) as (connection, number):
            for each in entries:
                values = (
                    *(number, each.id, microseconds(each.at), each.asker, each.actor),
                    *(each.client, each.contract, each.act, each.session, each.question),
                )
                connection.run(
                    f"INSERT INTO recalls (organization, {_COLUMNS}) VALUES ({_marks(10)})"  # noqa: S608
                    " ON CONFLICT DO NOTHING",
                    values,
                )
            connection.run_many(
                "INSERT INTO recalled (organization, recall, place, kind, id, score)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [
                    (number, each.id, place, str(got.kind), got.id, got.score)
                    for each in entries
                    for place, got in enumerate(each.got)
                ],
            )

    def can_write(self) -> bool:
        """Tell whether entries could be written now."""
        return self._database.why_unwritable() is None

    def find(self, query: RecallQuery, limit: int, offset: int = 0) -> list[LoggedRecall]:
        """Return a page of the entries of a query, the newest first, then by id."""
        with self._reading(query.organization) as (connection, number):
            where, values = _condition(query, number)
            rows = connection.rows(
                f"SELECT {_COLUMNS} FROM recalls AS r WHERE {where}"  # noqa: S608
                " ORDER BY at DESC, id DESC LIMIT ? OFFSET ?",
                (*values, limit, offset),
            )
            return self._complete(connection, number, query.organization, rows)

    def counts(self, query: RecallQuery) -> list[RecallCount]:
        """Return the counts of a query's entries by name and client, the largest first."""
        with self._reading(query.organization) as (connection, number):
            where, values = _condition(query, number)
            rows = connection.rows(
                "SELECT actor, client, count(*), max(at) FROM recalls AS r"  # noqa: S608
                f" WHERE {where} GROUP BY actor, client ORDER BY 3 DESC, actor, client",
                values,
            )
        return [
            RecallCount(value_text(actor), value_text(client), count, instant(last))
            for actor, client, count, last in rows
        ]

    def times(self, query: RecallQuery, kind: Kind, ids: Collection[str]) -> dict[str, int]:
        """Return, by id, the number of a query's entries with each of some records among their hits, without zeros."""
        found: dict[str, int] = {}
        wanted = sorted(ids)
        with self._reading(query.organization) as (connection, number):
            where, values = _condition(query, number)
            for at in range(0, len(wanted), _BATCH):
                some = wanted[at : at + _BATCH]
                rows = connection.rows(
                    "SELECT d.id, count(*) FROM recalled AS d JOIN recalls AS r"  # noqa: S608
                    " ON r.organization = d.organization AND r.id = d.recall"
                    f" WHERE d.organization = ? AND d.kind = ? AND d.id IN ({_marks(len(some))})"
                    f" AND {where} GROUP BY d.id",
                    (number, str(kind), *some, *values),
                )
                found |= {value_text(id): count for id, count in rows}
        return found

    def first(self, query: RecallQuery) -> datetime | None:
        """Return the instant of the oldest entry of a query, None if there is none."""
        with self._reading(query.organization) as (connection, number):
            where, values = _condition(query, number)
            ((at,),) = connection.rows(
                f"SELECT min(at) FROM recalls AS r WHERE {where}",  # noqa: S608
                values,
            )
        return None if at is None else instant(at)

    def prune(self, organization: str, before: datetime, most: int) -> None:
        """Remove an organization's entries from before an instant, and the oldest beyond `most`."""
        with self._writing(organization) as (connection, number):
            self._remove(connection, number, "AND at < ?", microseconds(before))
            beyond = connection.rows(
                "SELECT at, id FROM recalls WHERE organization = ? ORDER BY at DESC, id DESC"
                " LIMIT 1 OFFSET ?",
                (number, most),
            )
            for at, id in beyond:
                self._remove(connection, number, "AND (at < ? OR (at = ? AND id <= ?))", at, at, id)

    def clear(self, organization: str, asker: str | None = None) -> None:
        """Remove an organization's entries, or those of one asker."""
        with self._writing(organization) as (connection, number):
            if asker is None:
                self._remove(connection, number, "")
            else:
                self._remove(connection, number, "AND asker = ?", asker)

    def erase(self, organization: str, kind: Kind, id: str) -> None:
        """Remove the entries with a record among their hits, since a question tells much about these."""
        with self._writing(organization) as (connection, number):
            got = connection.rows(
                "SELECT DISTINCT recall FROM recalled WHERE organization = ? AND id = ? AND kind = ?",
                (number, id, str(kind)),
            )
            for (recall,) in got:
                self._remove(connection, number, "AND id = ?", value_text(recall))

    def everything(self, organization: str) -> Iterator[LoggedRecall]:
        """Yield every entry of an organization in the order of ids, read in batches."""
        last = ""
        while True:
            with self._reading(organization) as (connection, number):
                rows = connection.rows(
                    f"SELECT {_COLUMNS} FROM recalls WHERE organization = ? AND id > ?"  # noqa: S608
                    " ORDER BY id LIMIT ?",
                    (number, last, _BATCH),
                )
                entries = self._complete(connection, number, organization, rows)
            if not entries:
                return
            last = entries[-1].id
            yield from entries

    def _complete(
        self,
        connection: Connection,
        number: int | None,
        organization: str,
        rows: Sequence[Sequence[Any]],
    ) -> list[LoggedRecall]:
        got: dict[str, list[Got]] = {value_text(row[0]): [] for row in rows}
        ids = list(got)
        for at in range(0, len(ids), _BATCH):
            some = ids[at : at + _BATCH]
            found = connection.rows(
                "SELECT recall, kind, id, score FROM recalled"  # noqa: S608
                f" WHERE organization = ? AND recall IN ({_marks(len(some))}) ORDER BY recall, place",
                (number, *some),
            )
            for recall, kind, id, score in found:
                got[value_text(recall)].append(Got(Kind(kind), value_text(id), score))
        return [self._entry(organization, row, got) for row in rows]

    def _entry(
        self, organization: str, row: Sequence[Any], got: dict[str, list[Got]]
    ) -> LoggedRecall:
        id, at, asker, actor, client, contract, act, session, question = row
        return LoggedRecall(
            id=value_text(id),
            organization=organization,
            at=instant(at),
            asker=value_text(asker),
            actor=value_text(actor),
            client=value_text(client),
            contract=value_text(contract),
            act=value_text(act),
            session=value_text(session),
            question=None if question is None else value_text(question),
            got=tuple(got[value_text(id)]),
        )

    def _remove(self, connection: Connection, number: int, condition: str, *values: Any) -> None:
        """Remove entries of an organization that meet a further condition, with their hits."""
        where = f"organization = ? {condition}".strip()
        connection.run(
            "DELETE FROM recalled WHERE organization = ?"  # noqa: S608
            f" AND recall IN (SELECT id FROM recalls WHERE {where})",
            (number, number, *values),
        )
        connection.run(f"DELETE FROM recalls WHERE {where}", (number, *values))  # noqa: S608

    @contextmanager
    def _writing(self, organization: str) -> Iterator[tuple[Connection, int]]:
        with self._database.writing_outside_feed(_WAIT) as connection:
            yield connection, self._database.number_for_writing(organization)

    @contextmanager
    def _reading(self, organization: str) -> Iterator[tuple[Connection, int | None]]:
        # None, of one that has no number yet, equals nothing.
        number = self._database.number_of(organization)
        with self._database.reading() as connection:
            yield connection, number


def forget(store: Tended, records: Sequence[Key]) -> None:
    """Remove the questions with erased records among their hits."""
    rows = RecallRows(store.database)
    for organization, kind, id in records:
        rows.erase(organization, kind, id)


def _condition(query: RecallQuery, number: int | None) -> tuple[str, list[Any]]:
    parts, values = ["r.organization = ?"], list[Any]([number])
    if query.asker is not None:
        parts.append("r.asker = ?")
        values.append(query.asker)
    if query.sessions is not None:
        names = sorted(query.sessions)
        parts.append(f"r.session IN ({_marks(len(names))})" if names else "1 = 0")
        values += names
    if query.client is not None:
        # The engines' own `lower` makes small letters of A to Z alone.
        parts.append("lower(r.client) = ?")
        values.append("".join(c.lower() if c.isascii() else c for c in query.client))
    if query.span is not None:
        parts.append("r.at >= ? AND r.at < ?")
        values += [microseconds(query.span.since), microseconds(query.span.until)]
    if query.record is not None:
        kind, id = query.record
        parts.append(
            "r.id IN (SELECT recall FROM recalled WHERE organization = ? AND id = ? AND kind = ?)"
        )
        values += [number, id, str(kind)]
    return " AND ".join(parts), values


def _marks(count: int) -> str:
    return ", ".join("?" * count)
