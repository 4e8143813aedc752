"""Judged citations, and the confirmations of records, in tables of the database."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from minutebook.features.citations.cited import Judged
from minutebook.record.plain import plain, value_of
from minutebook.record.records import Kind
from minutebook.store.sql.database import Connection, Database
from minutebook.store.sql.side_tables import SideTable, SideTables
from minutebook.store.sql.tables import instant, microseconds, value_text

_CITATIONS = SideTable(
    "citations",
    "organization integer, kind name, id name, tree name, said name, base name, head name, stamps words, judged words",
    key="organization, kind, id, tree",
    indices={"by_tree": "(organization, tree)"},
    goes_with=(Kind.MEMORY, Kind.DECISION, Kind.SUMMARY),
)

_CONFIRMED = SideTable(
    "citations_confirmed",
    "organization integer, kind name, id name, at instant",
    key="organization, kind, id",
    indices={},
    goes_with=(Kind.DECISION, Kind.SUMMARY),
)

TABLES = SideTables((_CITATIONS, _CONFIRMED))


Stamp = tuple[int, int]
"""The size of a file and when it was changed, in nanoseconds."""

RecordName = tuple[Kind, str]
"""The kind and id of a record of an organization."""

_COLUMNS = "kind, id, tree, said, base, head, stamps, judged"

_WAIT = 2.0
"""Seconds for which rows wait for those who write to the same file."""


@dataclass(frozen=True, slots=True)
class JudgedRecord:
    """The citations of a record in a work tree, judged.

    `said` is the digest of its text, `base` the commit at which it cites, `head` the last commit when it was judged. `stamps` are of
    the files that the verdicts are about, None for one that was not there.
    """

    name: RecordName
    tree: str
    said: str
    base: str
    head: str
    stamps: Mapping[str, Stamp | None]
    judged: tuple[Judged, ...]

    @property
    def holds(self) -> bool:
        """Whether all that it cites stands as it did."""
        return all(each.holds for each in self.judged)


class CitationRows:
    """The judged citations and the confirmations in their tables; each member may be called from any thread.

    What was judged is derived: nobody is told that it changed, and no organization's writers are waited for long.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows_of(
        self, organization: str, names: Collection[RecordName]
    ) -> Mapping[RecordName, Mapping[str, JudgedRecord]]:
        """Return the rows of some records, by record and work tree."""
        number = self._database.number_of(organization)
        found = defaultdict[RecordName, dict[str, JudgedRecord]](dict)
        with self._database.reading() as connection:
            condition, values = connection.among("id", sorted({id for _, id in names}))
            rows = connection.rows(
                f"SELECT {_COLUMNS} FROM citations WHERE organization = ? AND {condition}",  # noqa: S608
                (number, *values),
            )
        for row in rows:
            if (Kind(row[0]), value_text(row[1])) in names:
                each = _read(row)
                found[each.name][each.tree] = each
        return found

    def in_tree(self, organization: str, tree: str) -> list[JudgedRecord]:
        """Return the rows of a work tree."""
        number = self._database.number_of(organization)
        with self._database.reading() as connection:
            rows = connection.rows(
                f"SELECT {_COLUMNS} FROM citations WHERE organization = ? AND tree = ?",  # noqa: S608
                (number, tree),
            )
        return [_read(row) for row in rows]

    def all(self, organization: str) -> list[JudgedRecord]:
        """Return the rows of an organization."""
        number = self._database.number_of(organization)
        with self._database.reading() as connection:
            rows = connection.rows(
                f"SELECT {_COLUMNS} FROM citations WHERE organization = ?",  # noqa: S608
                (number,),
            )
        return [_read(row) for row in rows]

    def put(self, organization: str, records: Iterable[JudgedRecord], wait: float = _WAIT) -> None:
        """Keep rows in place of those of the same records and work trees. Raises StoreBusy after so many seconds."""
        with self._database.writing_outside_feed(wait) as connection:
            number = self._database.number_for_writing(organization)
            for each in records:
                stamps = json.dumps(dict(each.stamps))
                judged = json.dumps(plain(each.judged))
                row = (*each.name, each.tree, each.said, each.base, each.head, stamps, judged)
                _put(connection, number, row)

    def remove(self, organization: str, names: Collection[RecordName]) -> None:
        """Remove the rows of some records. Raises StoreBusy after two seconds."""
        if not names:
            return
        number = self._database.number_of(organization)
        with self._database.writing_outside_feed(_WAIT) as connection:
            for kind, id in names:
                connection.run(
                    "DELETE FROM citations WHERE organization = ? AND kind = ? AND id = ?",
                    (number, kind, id),
                )

    def clear(self, organization: str) -> None:
        """Remove all rows of an organization, so that all is judged anew."""
        number = self._database.number_of(organization)
        with self._database.writing_outside_feed(_WAIT) as connection:
            connection.run("DELETE FROM citations WHERE organization = ?", (number,))

    def confirmed(
        self, organization: str, names: Collection[RecordName]
    ) -> Mapping[RecordName, datetime]:
        """Return when some records were last confirmed, of those that were."""
        if not names:
            return {}
        number = self._database.number_of(organization)
        with self._database.reading() as connection:
            condition, values = connection.among("id", sorted({id for _, id in names}))
            rows = connection.rows(
                f"SELECT kind, id, at FROM citations_confirmed WHERE organization = ? AND {condition}",  # noqa: S608
                (number, *values),
            )
        found = {(Kind(kind), value_text(id)): instant(at) for kind, id, at in rows}
        return {name: at for name, at in found.items() if name in names}

    def put_confirmed(self, organization: str, name: RecordName, at: datetime | None) -> None:
        """Keep when a record was last confirmed, None: never. Inside a transaction of the store it is part of it."""
        with self._database.writing(organization) as (connection, number):
            connection.run(
                "DELETE FROM citations_confirmed WHERE organization = ? AND kind = ? AND id = ?",
                (number, *name),
            )
            if at is not None:
                connection.run(
                    "INSERT INTO citations_confirmed (organization, kind, id, at) VALUES (?, ?, ?, ?)",
                    (number, *name, microseconds(at)),
                )


def _put(connection: Connection, number: int, row: tuple[str, ...]) -> None:
    connection.run(
        "DELETE FROM citations WHERE organization = ? AND kind = ? AND id = ? AND tree = ?",
        (number, *row[:3]),
    )
    connection.run(
        f"INSERT INTO citations (organization, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
        " ON CONFLICT DO NOTHING",
        (number, *row),
    )


def _read(row: tuple[Any, ...]) -> JudgedRecord:
    kind, id, tree, said, base, head, stamps, judged = map(value_text, row)
    known = _judged(judged)
    return JudgedRecord(
        (Kind(kind), id),
        tree,
        # Verdicts of another form are judged anew.
        "" if known is None else said,
        base,
        head,
        {path: stamp and (stamp[0], stamp[1]) for path, stamp in json.loads(stamps).items()},
        known or (),
    )


@lru_cache(maxsize=1024)
def _judged(text: str) -> tuple[Judged, ...] | None:
    """Read verdicts, None if they are of another form; those of a record are read again with each answer that has it."""
    try:
        read: tuple[Judged, ...] = value_of(tuple[Judged, ...], json.loads(text))
    except (TypeError, ValueError, KeyError):
        return None
    return read
