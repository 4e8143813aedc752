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
"""The size of a file in bytes, and the time of its last change in nanoseconds."""

RecordName = tuple[Kind, str]
"""The kind and id of a record of an organization."""

_COLUMNS = "kind, id, tree, said, base, head, stamps, judged"

_WAIT = 2.0
"""Seconds to wait for other writers to the database."""


@dataclass(frozen=True, slots=True)
class JudgedRecord:
    """The verdicts on a record's citations in a work tree.

    `digest` is that of its text, `base` the commit with the cited code, `head` the last commit when it was judged.
    `stamps` are those of the files that the verdicts are about, None for one that did not exist.
    """

    name: RecordName
    tree: str
    digest: str
    base: str
    head: str
    stamps: Mapping[str, Stamp | None]
    judged: tuple[Judged, ...]

    @property
    def holds(self) -> bool:
        """Whether all its citations hold."""
        return all(each.holds for each in self.judged)


class CitationRows:
    """The judged citations and the confirmations in their tables; each method may be called from any thread.

    Verdicts are derived: they are in no change feed, and writing them waits only a short time for other writers.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows_of(
        self, organization: str, names: Collection[RecordName]
    ) -> Mapping[RecordName, Mapping[str, JudgedRecord]]:
        """Return the verdicts on some records, by record and work tree."""
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

    def all(self, organization: str, tree: str | None = None) -> list[JudgedRecord]:
        """Return the verdicts on all records of an organization, only those in a work tree if one is given."""
        number = self._database.number_of(organization)
        condition, values = ("", ()) if tree is None else (" AND tree = ?", (tree,))
        with self._database.reading() as connection:
            rows = connection.rows(
                f"SELECT {_COLUMNS} FROM citations WHERE organization = ?{condition}",  # noqa: S608
                (number, *values),
            )
        return [_read(row) for row in rows]

    def put(self, organization: str, records: Iterable[JudgedRecord], wait: float = _WAIT) -> None:
        """Put the verdicts on records in place of those in the same work trees. Raises StoreBusy after `wait` seconds."""
        with self._database.writing_outside_feed(wait) as connection:
            number = self._database.number_for_writing(organization)
            for each in records:
                stamps = json.dumps(dict(each.stamps))
                judged = json.dumps(plain(each.judged))
                row = (*each.name, each.tree, each.digest, each.base, each.head, stamps, judged)
                _put(connection, number, row)

    def remove(self, organization: str, names: Collection[RecordName]) -> None:
        """Remove the verdicts on some records. Raises StoreBusy after two seconds."""
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
        """Remove all verdicts of an organization, so that all records are judged anew."""
        number = self._database.number_of(organization)
        with self._database.writing_outside_feed(_WAIT) as connection:
            connection.run("DELETE FROM citations WHERE organization = ?", (number,))

    def confirmed(
        self, organization: str, names: Collection[RecordName]
    ) -> Mapping[RecordName, datetime]:
        """Return the instants at which records were last confirmed; those that never were are left out."""
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
        """Put the instant at which a record was last confirmed, None: never; part of the store's transaction if there is one."""
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
    kind, id, tree, digest, base, head, stamps, judged = map(value_text, row)
    known = _judged(judged)
    return JudgedRecord(
        (Kind(kind), id),
        tree,
        # Without its digest a record is judged anew: its verdicts have an old form.
        "" if known is None else digest,
        base,
        head,
        {path: stamp and (stamp[0], stamp[1]) for path, stamp in json.loads(stamps).items()},
        known or (),
    )


@lru_cache(maxsize=1024)
def _judged(text: str) -> tuple[Judged, ...] | None:
    """Return the verdicts in a JSON text, None if it has another form; cached, as each answer with a record reads them."""
    try:
        read: tuple[Judged, ...] = value_of(tuple[Judged, ...], json.loads(text))
    except (TypeError, ValueError, KeyError):
        return None
    return read
