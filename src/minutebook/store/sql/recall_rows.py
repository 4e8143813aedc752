"""The recall log in two tables: a row a question, and a row each record that it got."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from minutebook.domain.recalls import Got, LoggedRecall, RecallCount
from minutebook.domain.records import Kind, Memory, Record
from minutebook.store.recall_rows import RecallQuery
from minutebook.store.sql.tables import instant, microseconds

_COLUMNS = "id, at, asker, actor, client, contract, act, session, question"

_BATCH = 500


class SqlRecallRows(ABC):
    """`RecallRows` in the tables `recalls` and `recalled` of a database.

    Each statement says whose rows it means. It marks its parameters by `?`; `mark` is what the
    engine's driver wants there.
    """

    mark = "?"

    @abstractmethod
    def _writing(self, organization: str) -> AbstractContextManager[tuple[Any, Any]]:
        """Yield a connection inside a transaction, and what stands for the organization there.

        Raises StoreBusy if others write for too long.
        """

    @abstractmethod
    def _reading(self, organization: str) -> AbstractContextManager[tuple[Any, Any]]:
        """Yield a connection to read with, and what stands for the organization there."""

    def _given(self, text: str) -> Any:
        """Return a text as the driver takes it."""
        return text

    def _text(self, value: Any) -> str:
        """Return a text that the driver gave."""
        return str(value)

    def write(self, organization: str, entries: Sequence[LoggedRecall]) -> None:
        """Keep entries of an organization, all or none; one whose id is there stays as it is.

        Raises StoreBusy after two seconds.
        """
        with self._writing(organization) as (connection, number):
            for each in entries:
                values = (
                    *(number, each.id, microseconds(each.at), each.asker, each.actor),
                    *(each.client, each.contract, each.act, each.session, each.question),
                )
                self._do(
                    connection,
                    f"INSERT INTO recalls (organization, {_COLUMNS}) VALUES ({_marks(10)})"  # noqa: S608
                    " ON CONFLICT DO NOTHING",
                    values,
                )
            self._do_all(
                connection,
                "INSERT INTO recalled (organization, recall, place, kind, id, score)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [
                    (number, each.id, place, str(got.kind), got.id, got.score)
                    for each in entries
                    for place, got in enumerate(each.got)
                ],
            )

    def find(self, query: RecallQuery, limit: int, offset: int = 0) -> list[LoggedRecall]:
        """Return a page of the entries that are meant, newest first, ties by id."""
        with self._reading(query.organization) as (connection, number):
            where, values = _condition(query, number)
            rows = self._rows(
                connection,
                f"SELECT {_COLUMNS} FROM recalls AS r WHERE {where}"  # noqa: S608
                " ORDER BY at DESC, id DESC LIMIT ? OFFSET ?",
                (*values, limit, offset),
            )
            return self._complete(connection, number, query.organization, rows)

    def sessions(self, query: RecallQuery, among: int, limit: int) -> list[RecallCount]:
        """Count the last `among` entries that are meant by name, client and session, latest first."""
        with self._reading(query.organization) as (connection, number):
            where, values = _condition(query, number)
            rows = self._rows(
                connection,
                "SELECT actor, client, session, count(*), min(at), max(at) FROM"  # noqa: S608
                f" (SELECT actor, client, session, at FROM recalls AS r WHERE {where}"
                " ORDER BY at DESC, id DESC LIMIT ?) AS latest"
                " GROUP BY actor, client, session ORDER BY max(at) DESC, session, actor LIMIT ?",
                (*values, among, limit),
            )
        return [self._counted(row) for row in rows]

    def counts(self, query: RecallQuery) -> list[RecallCount]:
        """Count the entries that are meant by name and client, the most first; sessions are empty."""
        with self._reading(query.organization) as (connection, number):
            where, values = _condition(query, number)
            rows = self._rows(
                connection,
                "SELECT actor, client, '', count(*), min(at), max(at) FROM recalls AS r"  # noqa: S608
                f" WHERE {where} GROUP BY actor, client ORDER BY 4 DESC, actor, client",
                values,
            )
        return [self._counted(row) for row in rows]

    def times(self, query: RecallQuery, kind: Kind, ids: Collection[str]) -> dict[str, int]:
        """Count the entries that are meant by which of these records they got; of none, no count."""
        found: dict[str, int] = {}
        wanted = sorted(ids)
        with self._reading(query.organization) as (connection, number):
            where, values = _condition(query, number)
            for at in range(0, len(wanted), _BATCH):
                some = wanted[at : at + _BATCH]
                rows = self._rows(
                    connection,
                    "SELECT d.id, count(*) FROM recalled AS d JOIN recalls AS r"  # noqa: S608
                    " ON r.organization = d.organization AND r.id = d.recall"
                    f" WHERE d.organization = ? AND d.kind = ? AND d.id IN ({_marks(len(some))})"
                    f" AND {where} GROUP BY d.id",
                    (number, str(kind), *some, *values),
                )
                found |= {self._text(id): count for id, count in rows}
        return found

    def first(self, query: RecallQuery) -> datetime | None:
        """Return the instant of the oldest entry that is meant, None if there is none."""
        with self._reading(query.organization) as (connection, number):
            where, values = _condition(query, number)
            ((at,),) = self._rows(
                connection,
                f"SELECT min(at) FROM recalls AS r WHERE {where}",  # noqa: S608
                values,
            )
        return None if at is None else instant(at)

    def prune(self, organization: str, before: datetime, most: int) -> None:
        """Remove an organization's entries of before an instant, and the oldest beyond so many."""
        with self._writing(organization) as (connection, number):
            self._remove(connection, number, "AND at < ?", microseconds(before))
            beyond = self._rows(
                connection,
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
        """Remove the entries of questions that got a record."""
        with self._writing(organization) as (connection, number):
            got = self._rows(
                connection,
                "SELECT DISTINCT recall FROM recalled WHERE organization = ? AND id = ? AND kind = ?",
                (number, id, str(kind)),
            )
            for (recall,) in got:
                self._remove(connection, number, "AND id = ?", self._text(recall))

    def everything(self, organization: str) -> Iterator[LoggedRecall]:
        """Yield every entry of an organization, by id, some at a time."""
        last = ""
        while True:
            with self._reading(organization) as (connection, number):
                rows = self._rows(
                    connection,
                    f"SELECT {_COLUMNS} FROM recalls WHERE organization = ? AND id > ?"  # noqa: S608
                    " ORDER BY id LIMIT ?",
                    (number, last, _BATCH),
                )
                entries = self._complete(connection, number, organization, rows)
            if not entries:
                return
            last = entries[-1].id
            yield from entries

    def forget(self, connection: Any, number: Any, of: type[Record], id: str) -> None:
        """Remove a memory from the log, in the transaction that removes it from the store.

        Of other records, which are removed by thousands, the ids stay until their entries leave.
        """
        if of is Memory:
            self._do(
                connection,
                "DELETE FROM recalled WHERE organization = ? AND id = ? AND kind = ?",
                (number, id, str(of.kind)),
            )

    def _complete(
        self, connection: Any, number: Any, organization: str, rows: Sequence[Sequence[Any]]
    ) -> list[LoggedRecall]:
        got: dict[str, list[Got]] = {self._text(row[0]): [] for row in rows}
        ids = list(got)
        for at in range(0, len(ids), _BATCH):
            some = ids[at : at + _BATCH]
            found = self._rows(
                connection,
                "SELECT recall, kind, id, score FROM recalled"  # noqa: S608
                f" WHERE organization = ? AND recall IN ({_marks(len(some))}) ORDER BY recall, place",
                (number, *some),
            )
            for recall, kind, id, score in found:
                got[self._text(recall)].append(Got(Kind(kind), self._text(id), score))
        return [self._entry(organization, row, got) for row in rows]

    def _entry(
        self, organization: str, row: Sequence[Any], got: dict[str, list[Got]]
    ) -> LoggedRecall:
        id, at, asker, actor, client, contract, act, session, question = row
        return LoggedRecall(
            id=self._text(id),
            organization=organization,
            at=instant(at),
            asker=self._text(asker),
            actor=self._text(actor),
            client=self._text(client),
            contract=self._text(contract),
            act=self._text(act),
            session=self._text(session),
            question=None if question is None else self._text(question),
            got=tuple(got[self._text(id)]),
        )

    def _counted(self, row: Sequence[Any]) -> RecallCount:
        *who, count, first, last = row
        actor, client, session = map(self._text, who)
        return RecallCount(actor, client, session, count, instant(first), instant(last))

    def _remove(self, connection: Any, number: Any, condition: str, *values: Any) -> None:
        """Remove entries of an organization that meet a further condition, with what they got."""
        where = f"organization = ? {condition}".strip()
        self._do(
            connection,
            "DELETE FROM recalled WHERE organization = ?"  # noqa: S608
            f" AND recall IN (SELECT id FROM recalls WHERE {where})",
            (number, number, *values),
        )
        self._do(connection, f"DELETE FROM recalls WHERE {where}", (number, *values))  # noqa: S608

    def _do(self, connection: Any, statement: str, values: Sequence[Any]) -> None:
        connection.execute(statement.replace("?", self.mark), self._all_given(values))

    def _do_all(self, connection: Any, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        given = [self._all_given(values) for values in rows]
        connection.cursor().executemany(statement.replace("?", self.mark), given)

    def _rows(self, connection: Any, statement: str, values: Sequence[Any]) -> list[Any]:
        cursor = connection.execute(statement.replace("?", self.mark), self._all_given(values))
        return list(cursor.fetchall())

    def _all_given(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self._given(each) if isinstance(each, str) else each for each in values)


def _condition(query: RecallQuery, number: Any) -> tuple[str, list[Any]]:
    parts, values = ["r.organization = ?"], [number]
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
    if query.record is not None:
        kind, id = query.record
        parts.append(
            "r.id IN (SELECT recall FROM recalled WHERE organization = ? AND id = ? AND kind = ?)"
        )
        values += [number, id, str(kind)]
    return " AND ".join(parts), values


def _marks(count: int) -> str:
    return ", ".join("?" * count)
