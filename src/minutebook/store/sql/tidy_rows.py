"""Suggestions in a table of the database: a row each, and one for what is noted of an organization."""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any

from minutebook.domain.records import Kind
from minutebook.domain.tidying import Finding, State, Suggestion
from minutebook.store.sql.tables import instant, microseconds

_COLUMNS = (
    "id, number, finding, state, certainty, subjects, due, found_at, settled_at, settled_by, undo"
)

_MARKS = "marks"
"""The id of the row that holds what is noted of the organization; its number is 0."""

_BATCH = 500


class SqlTidyRows(ABC):
    """`TidyRows` in the table `suggestions` of a database.

    Statements mark their parameters by `?`; `mark` is what the engine's driver wants there.
    """

    mark = "?"

    @abstractmethod
    def _writing(self, organization: str) -> AbstractContextManager[tuple[Any, Any]]:
        """Yield a connection inside a transaction that writes, and what stands for the organization there."""

    @abstractmethod
    def _reading(self, organization: str) -> AbstractContextManager[tuple[Any, Any]]:
        """Yield a connection to read with (None: nothing was kept yet), and what stands for the organization."""

    def _given(self, text: str) -> Any:
        """Return a text as the driver takes it."""
        return text

    def _text(self, value: Any) -> str:
        """Return a text that the driver gave."""
        return str(value)

    def add(self, organization: str, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
        """Keep those whose ids are not there yet, each with the next number; return these."""
        if not suggestions:
            return []
        added = []
        with self._writing(organization) as (connection, key):
            ((last,),) = self._rows(
                connection, "SELECT max(number) FROM suggestions WHERE organization = ?", (key,)
            )
            number = int(last or 0)
            known = self._known(connection, key, [each.id for each in suggestions])
            for each in suggestions:
                if each.id in known:
                    continue
                known.add(each.id)
                number += 1
                added.append(replace(each, number=number))
                self._insert(connection, key, added[-1])
        return added

    def known(self, organization: str, ids: Collection[str]) -> set[str]:
        """Return those of the ids that suggestions have, in whatever state."""
        with self._reading(organization) as (connection, key):
            return set() if connection is None else self._known(connection, key, list(ids))

    def put(self, suggestion: Suggestion) -> None:
        """Keep a suggestion in place of the one with its id."""
        with self._writing(suggestion.organization) as (connection, key):
            self._delete(connection, key, suggestion.id)
            self._insert(connection, key, suggestion)

    def numbered(self, organization: str, number: int) -> Suggestion | None:
        """Return the suggestion with a number, or None."""
        condition = "number = ? AND number > 0"
        return next(iter(self._found(organization, condition, (number,), 1)), None)

    def find(self, organization: str, state: State, limit: int, after: int = 0) -> list[Suggestion]:
        """Return suggestions in a state by number, those beyond `after`."""
        values = (str(state), after)
        return self._found(organization, "state = ? AND number > ?", values, limit)

    def due(self, organization: str, at: datetime, limit: int) -> list[Suggestion]:
        """Return suggestions that wait for an instant which has come by then, the earliest first."""
        values = (str(State.WAITING), microseconds(at))
        return self._found(organization, "state = ? AND due <= ?", values, limit, "due, number")

    def remove(self, organization: str, id: str) -> None:
        """Remove a suggestion, so that it may be found again."""
        with self._writing(organization) as (connection, key):
            self._delete(connection, key, id)

    def marks(self, organization: str) -> Mapping[str, Any]:
        """Return what was noted last about an organization as a whole; nothing at first."""
        with self._reading(organization) as (connection, key):
            if connection is None:
                return {}
            rows = self._rows(
                connection,
                "SELECT undo FROM suggestions WHERE organization = ? AND id = ?",
                (key, _MARKS),
            )
        noted: dict[str, Any] = json.loads(self._text(rows[0][0])) if rows else {}
        return noted

    def put_marks(self, organization: str, marks: Mapping[str, Any]) -> None:
        """Note something about an organization as a whole, in place of what was noted."""
        with self._writing(organization) as (connection, key):
            self._delete(connection, key, _MARKS)
            values = (key, _MARKS, 0, _MARKS, _MARKS, 0.0, "[]", None, 0, None, "")
            self._insert_values(connection, (*values, json.dumps(dict(marks))))

    def everything(self, organization: str) -> Iterator[Suggestion]:
        """Yield every suggestion of an organization by number, some at a time."""
        last = 0
        while batch := self._found(organization, "number > ?", (last,), _BATCH):
            yield from batch
            last = batch[-1].number

    def _found(
        self,
        organization: str,
        condition: str,
        values: Sequence[Any],
        limit: int,
        order: str = "number",
    ) -> list[Suggestion]:
        with self._reading(organization) as (connection, key):
            if connection is None:
                return []
            rows = self._rows(
                connection,
                f"SELECT {_COLUMNS} FROM suggestions WHERE organization = ? AND {condition}"  # noqa: S608
                f" ORDER BY {order} LIMIT ?",
                (key, *values, limit),
            )
        return [self._suggestion(organization, row) for row in rows]

    def _known(self, connection: Any, key: Any, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for at in range(0, len(ids), _BATCH):
            some = ids[at : at + _BATCH]
            marks = ", ".join("?" * len(some))
            statement = f"SELECT id FROM suggestions WHERE organization = ? AND id IN ({marks})"  # noqa: S608
            found.update(
                self._text(id) for (id,) in self._rows(connection, statement, (key, *some))
            )
        return found

    def _suggestion(self, organization: str, row: Sequence[Any]) -> Suggestion:
        id, number, finding, state, certainty, subjects, due, found, settled, by, undo = row
        return Suggestion(
            organization=organization,
            id=self._text(id),
            number=number,
            finding=Finding(finding),
            state=State(state),
            certainty=certainty,
            subjects=tuple((Kind(kind), id) for kind, id in json.loads(self._text(subjects))),
            due=None if due is None else instant(due),
            found_at=instant(found),
            settled_at=None if settled is None else instant(settled),
            settled_by=self._text(by),
            undo=self._text(undo),
        )

    def _insert(self, connection: Any, key: Any, each: Suggestion) -> None:
        # In ASCII, so that lone surrogates survive as escapes.
        subjects = json.dumps([[str(kind), id] for kind, id in each.subjects])
        by = each.settled_by.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
        values = (
            *(key, each.id, each.number, str(each.finding), str(each.state), each.certainty),
            *(subjects, None if each.due is None else microseconds(each.due)),
            *(microseconds(each.found_at), _microseconds(each.settled_at), by, each.undo),
        )
        self._insert_values(connection, values)

    def _insert_values(self, connection: Any, values: Sequence[Any]) -> None:
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO suggestions (organization, {_COLUMNS}) VALUES ({marks})"  # noqa: S608
        self._do(connection, statement, values)

    def _delete(self, connection: Any, key: Any, id: str) -> None:
        statement = "DELETE FROM suggestions WHERE organization = ? AND id = ?"
        self._do(connection, statement, (key, id))

    def _do(self, connection: Any, statement: str, values: Sequence[Any]) -> None:
        connection.execute(statement.replace("?", self.mark), self._all_given(values))

    def _rows(self, connection: Any, statement: str, values: Sequence[Any]) -> list[Any]:
        cursor = connection.execute(statement.replace("?", self.mark), self._all_given(values))
        return list(cursor.fetchall())

    def _all_given(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self._given(each) if isinstance(each, str) else each for each in values)


def _microseconds(at: datetime | None) -> int | None:
    return None if at is None else microseconds(at)
