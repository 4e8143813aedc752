"""What the index of vectors reads from the tables, and a Filter as conditions on its columns."""

from collections.abc import Collection
from typing import Any, NamedTuple

import apsw

from minutebook.domain.filters import Filter
from minutebook.domain.records import CLASSES, Kind, Memory, TextRecord
from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.block import ALWAYS, NEVER, Block, block_of
from minutebook.store.sidecar.index import Page
from minutebook.store.sidecar.view import Conditions, Witness
from minutebook.store.sqlite import rows
from minutebook.store.sqlite.tables import (
    Table,
    id_bytes,
    microseconds,
    table_of,
    text_value,
    value_text,
)

_FACETS = (
    "repository",
    "user",
    "scope",
    "type",
    "status",
    "author",
    "project",
    "language",
    "session",
    "category",
)


class Key(NamedTuple):
    """Whose vectors of which records: organization and space by their numbers."""

    organization: int
    kind: Kind
    space: int


class Source:
    """One snapshot of the vectors that belong together."""

    def __init__(self, connection: apsw.Connection, key: Key, dimensions: int) -> None:
        self._connection = connection
        self._organization, self._kind, self._space = key
        self._dimensions = dimensions

    def sequence(self) -> int:
        """Give the sequence of the organization's latest change."""
        latest: int | None = self._connection.execute(
            "SELECT sequence FROM organizations WHERE number = ?", (self._organization,)
        ).get
        return latest or 0

    def knows(self, witness: Witness) -> bool:
        """Tell whether a record changed at that sequence or later."""
        id, sequence = witness
        latest = self._connection.execute(
            f"SELECT sequence FROM {table_of(CLASSES[self._kind]).name}"  # noqa: S608
            " WHERE organization = ?1 AND id = ?3 UNION ALL SELECT sequence FROM deletions"
            " WHERE organization = ?1 AND kind = ?2 AND id = ?3",
            (self._organization, self._kind, text_value(id)),
        ).get
        return latest is not None and latest >= sequence

    def page(self, since: int) -> Page:
        """Give what changed after a sequence, up to a bounded number of changes."""
        table = table_of(CLASSES[self._kind])
        facets = _facets(table)
        found: list[tuple[Any, ...]] = self._connection.execute(
            f"SELECT r.sequence AS sequence, r.id, v.vectors, {_times(table)}"  # noqa: S608
            f"{''.join(f', r.{name}' for name in facets)} FROM {table.name} AS r"
            f" LEFT JOIN {table.name}_vectors AS v ON v.row = r.row AND r.space = ?4"
            " WHERE r.organization = ?1 AND r.sequence > ?3"
            f" UNION ALL SELECT sequence, id, NULL, 0, 0, 0{', NULL' * len(facets)}"
            " FROM deletions WHERE organization = ?1 AND kind = ?2 AND sequence > ?3"
            " ORDER BY 1 LIMIT ?5",
            (self._organization, self._kind, since, self._space, sizes.PAGE),
        ).fetchall()
        is_last = len(found) < sizes.PAGE
        last = found[-1] if found else None
        return Page(
            sequence=last[0] if last and not is_last else self.sequence(),
            ids=[id_bytes(row[1]) for row in found],
            block=self._block(facets, [row for row in found if row[2] is not None]),
            witness=(value_text(last[1]), last[0]) if last else None,
            is_last=is_last,
        )

    def _block(self, facets: list[str], found: list[tuple[Any, ...]]) -> Block | None:
        if not found:
            return None
        _, ids, vectors, valid_from, valid_until, hidden, *columns = zip(*found, strict=True)
        return block_of(
            ids=[id_bytes(id) for id in ids],
            valid_from=valid_from,
            valid_until=valid_until,
            hidden=hidden,
            facets={
                name: [None if value is None else value_text(value) for value in column]
                for name, column in zip(facets, columns, strict=True)
            },
            vectors=vectors,
            dimensions=self._dimensions,
        )


def conditions(connection: apsw.Connection, of: type[TextRecord], where: Filter) -> Conditions:
    """Write a Filter as conditions on columns of the index; what it lacks is asked by SQL."""
    known = _facets(table_of(of))
    allowed: list[tuple[str, Collection[str | None]]] = [
        (name, {None, *values})
        for name, values in (("repository", where.repositories), ("user", where.users))
        if values is not None and name in known
    ]
    allowed += [
        (name, {None if value is None else str(value)})
        for name, value in where.equal.items()
        if name in known
    ]
    ids = where.ids
    others = (where.client, where.since, where.until)
    has_others = where.starts or any(each is not None for each in others)
    if has_others or any(name not in known for name in where.equal):
        ids = frozenset(rows.ids(connection, of, where, ()))
    return Conditions(
        facets=allowed,
        valid_at=None if where.valid_at is None else microseconds(where.valid_at),
        with_hidden=where.with_deleted,
        ids=None if ids is None else {id_bytes(id) for id in ids},
    )


def _facets(table: Table) -> list[str]:
    return [name for name in _FACETS if name in table.columns]


def _times(table: Table) -> str:
    if Memory in table.records:
        return f"r.valid_from, coalesce(r.valid_until, {NEVER}), r.deleted_at IS NOT NULL"
    return f"{ALWAYS}, {NEVER}, 0"
