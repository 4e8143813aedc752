"""Marks of the program in an organization: how far it came in the changes, how its jobs went."""

import json
from collections.abc import Mapping
from typing import Any

from minutebook.store.sql.database import Database
from minutebook.store.sql.tables import value_text

_WAIT = 2.0
"""Seconds for which a mark waits for those who write to the same file."""


class ProgramMarks:
    """Named values of an organization in the table `marks`, each an object of JSON; any thread may call each member."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, organization: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the marks of an organization by name."""
        number = self._database.number_of(organization)
        with self._database.reading() as connection:
            rows = connection.rows(
                "SELECT name, noted FROM marks WHERE organization = ?", (number,)
            )
        return {value_text(name): json.loads(value_text(noted)) for name, noted in rows}

    def put(self, organization: str, name: str, noted: Mapping[str, Any]) -> None:
        """Keep a mark in place of the one of its name, an empty one not at all. Raises StoreError."""
        with self._database.beside(_WAIT) as connection:
            number = self._database.registered(organization)
            connection.run("DELETE FROM marks WHERE organization = ? AND name = ?", (number, name))
            if noted:
                connection.run(
                    "INSERT INTO marks (organization, name, noted) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (number, name, json.dumps(dict(noted))),
                )
