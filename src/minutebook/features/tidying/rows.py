"""Suggestions in a table of the database, one in each row."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from minutebook.features.tidying.findings import State, Suggestion, finding_of
from minutebook.record.records import Kind
from minutebook.store.sql.database import Connection, Database
from minutebook.store.sql.side_tables import SideTable, SideTables
from minutebook.store.sql.tables import instant, microseconds, value_text

_SUGGESTIONS = SideTable(
    "suggestions",
    "organization integer, id name, number integer, finding name, state name, certainty real, subjects name,"
    " due instant?, found_at instant, settled_at instant?, settled_by name, entry integer?, first_entry integer?",
    key="organization, id",
    indices={
        "by_number": "(organization, number)",
        "by_due": "(organization, state, due)",
        "by_state": "(organization, state, number)",
    },
    is_kept_without_words=True,
)

TABLES = SideTables(
    (_SUGGESTIONS,),
    (
        ("ALTER TABLE suggestions ADD COLUMN entry integer",),
        (
            "DELETE FROM suggestions WHERE finding IN"
            " ('ended', 'unused-rule', 'same-entity', 'no-summary', 'unverified')",
            "ALTER TABLE suggestions ADD COLUMN first_entry integer",
            "ALTER TABLE suggestions DROP COLUMN undo",
        ),
    ),
)


_COLUMNS = (
    "id, number, finding, state, certainty, subjects, due, found_at, settled_at, settled_by,"
    " first_entry, entry"
)

_BATCH = 500


class TidyRows:
    """The suggestions in a table of the database; each method may be called from any thread.

    Rows that are written inside a transaction of the store are part of it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, organization: str, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
        """Add the suggestions with ids that are not there yet, each with the next number; return these."""
        if not suggestions:
            return []
        added = []
        with self._database.writing(organization) as (connection, key):
            ((last,),) = connection.rows(
                "SELECT max(number) FROM suggestions WHERE organization = ?", (key,)
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
        """Return those of the ids that the table has, in any state."""
        key = self._database.number_of(organization)
        with self._database.reading() as connection:
            return self._known(connection, key, ids)

    def put(self, suggestion: Suggestion) -> None:
        """Keep a suggestion in place of the one with its id."""
        with self._database.writing(suggestion.organization) as (connection, key):
            self._delete(connection, key, suggestion.id)
            self._insert(connection, key, suggestion)

    def numbered(self, organization: str, number: int) -> Suggestion | None:
        """Return the suggestion with a number, or None."""
        return next(iter(self._found(organization, "number = ?", (number,), 1)), None)

    def settled(self, organization: str, entries: Sequence[int]) -> list[Suggestion]:
        """Return the suggestions that were settled, or opened again, by acts that ended with one of the entries."""
        marks = ", ".join("?" * len(entries))
        return self._found(organization, f"entry IN ({marks})", entries, len(entries))

    def due(self, organization: str, at: datetime, limit: int) -> list[Suggestion]:
        """Return the waiting suggestions that are due at an instant, the earliest first."""
        values = (str(State.WAITING), microseconds(at))
        return self._found(organization, "state = ? AND due <= ?", values, limit, "due, number")

    def remove(self, organization: str, id: str) -> None:
        """Remove a suggestion, so that it may be found again."""
        with self._database.writing(organization) as (connection, key):
            self._delete(connection, key, id)

    def everything(self, organization: str, state: State | None = None) -> Iterator[Suggestion]:
        """Yield the suggestions of an organization by number, only those in a state if one is given; reads _BATCH at once."""
        last, condition = 0, "number > ?" if state is None else "number > ? AND state = ?"
        values = () if state is None else (str(state),)
        while batch := self._found(organization, condition, (last, *values), _BATCH):
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
        key = self._database.number_of(organization)
        with self._database.reading() as connection:
            rows = connection.rows(
                f"SELECT {_COLUMNS} FROM suggestions WHERE organization = ? AND {condition}"  # noqa: S608
                f" ORDER BY {order} LIMIT ?",
                (key, *values, limit),
            )
        return [self._suggestion(organization, row) for row in rows]

    def _known(self, connection: Connection, key: int | None, ids: Collection[str]) -> set[str]:
        """Return those of some ids of suggestions that are in the table; `key` is the number of the organization."""
        condition, values = connection.among("id", sorted(ids))
        rows = connection.rows(
            f"SELECT id FROM suggestions WHERE organization = ? AND {condition}",  # noqa: S608
            (key, *values),
        )
        return {value_text(id) for (id,) in rows}

    def _suggestion(self, organization: str, row: Sequence[Any]) -> Suggestion:
        id, number, finding, state, certainty, subjects, due, found, settled, by, first, entry = row
        return Suggestion(
            organization=organization,
            id=value_text(id),
            number=number,
            finding=finding_of(finding),
            state=State(state),
            certainty=certainty,
            subjects=tuple((Kind(kind), id) for kind, id in json.loads(value_text(subjects))),
            due=None if due is None else instant(due),
            found_at=instant(found),
            settled_at=None if settled is None else instant(settled),
            settled_by=value_text(by),
            first_entry=first,
            entry=entry,
        )

    def _insert(self, connection: Connection, key: int, each: Suggestion) -> None:
        # In ASCII, so that lone surrogates survive as escapes.
        subjects = json.dumps([[str(kind), id] for kind, id in each.subjects])
        by = each.settled_by.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
        values = (
            *(key, each.id, each.number, str(each.finding), str(each.state), each.certainty),
            *(subjects, None if each.due is None else microseconds(each.due)),
            *(microseconds(each.found_at), _microseconds(each.settled_at), by),
            *(each.first_entry, each.entry),
        )
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO suggestions (organization, {_COLUMNS}) VALUES ({marks})"  # noqa: S608
        connection.run(statement, values)

    def _delete(self, connection: Connection, key: int, id: str) -> None:
        statement = "DELETE FROM suggestions WHERE organization = ? AND id = ?"
        connection.run(statement, (key, id))


def _microseconds(at: datetime | None) -> int | None:
    return None if at is None else microseconds(at)
