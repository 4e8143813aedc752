"""Which columns of a record an index keeps for the conditions of a Filter, whatever it indexes."""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from minutebook.domain.errors import InvalidInput
from minutebook.domain.filters import Filter, folded
from minutebook.domain.records import Memory
from minutebook.store.sidecar.block import ALWAYS, NEVER, Block, P, block_of
from minutebook.store.sidecar.view import Conditions
from minutebook.store.sql.tables import Table, id_bytes, microseconds, value_text

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

CLIENT = "client"
"""The facet of the program that wrote a record first, which is no field of the record."""

LONGEST_ID = 200


def check_id(id: str) -> None:
    """Raise InvalidInput if the fixed-width columns of an index cannot hold an id."""
    if not 0 < len(id_bytes(id)) <= LONGEST_ID or "\0" in id:
        raise InvalidInput("id", "must have 1 to {most} bytes and no NUL", most=LONGEST_ID)


def facets(table: Table) -> dict[str, str]:
    """Return the facets that an index keeps, fields of few values and the client, and the column that each is read of."""
    known = {name: name for name in _FACETS if name in table.columns}
    return known | ({CLIENT: "origin"} if "origin" in table.columns else {})


def index_columns(table: Table) -> list[str]:
    """Write the columns an index reads of each record: from, until, kept since, hidden, then the facets."""
    times: Sequence[str] = (f"{ALWAYS}", f"{NEVER}", f"{ALWAYS}", "0")
    if Memory in table.records:
        until = f"coalesce(r.valid_until, {NEVER})"
        times = "r.valid_from", until, "r.ingestion_time", "r.deleted_at IS NOT NULL"
    return [*times, *(f"r.{column}" for column in facets(table).values())]


def block_of_rows(table: Table, found: Iterable[tuple[Any, Sequence[Any]]], payload: P) -> Block[P]:
    """Make a block of at least one record: its id, and the values of `index_columns`."""
    ids, rows = zip(*found, strict=True)
    valid_from, valid_until, kept, hidden, *columns = zip(*rows, strict=True)
    return block_of(
        ids=[id_bytes(id) for id in ids],
        valid_from=valid_from,
        valid_until=valid_until,
        kept=kept,
        hidden=hidden,
        facets={
            name: _clients(table, column) if name == CLIENT else _texts(column)
            for name, column in zip(facets(table), columns, strict=True)
        },
        payload=payload,
    )


def conditions(table: Table, where: Filter, selected: Callable[[], Collection[str]]) -> Conditions:
    """Write a Filter as conditions on those columns; `selected` gives the ids where they do not do."""
    known = facets(table)
    allowed: list[tuple[str, Collection[str | None]]] = [
        (name, {None, *values})
        for name, values in (("repository", where.repositories), ("user", where.users))
        if values is not None and name in known
    ]
    allowed += [
        (name, {None if value is None else str(value)})
        for name, value in where.equal.items()
        if name in known and name != CLIENT
    ]
    if where.client is not None and CLIENT in known:
        allowed.append((CLIENT, {folded(where.client)} - {""}))
    ids: Collection[str] | None = where.ids if suffices(table, where) else selected()
    times: dict[str, Any] = {}
    if Memory in table.records:
        times = {
            name: _microseconds(getattr(where, name)) for name in ("valid_at", "since", "until")
        }
        if where.differs_between is not None:
            one, other = where.differs_between
            times["differs_between"] = microseconds(one), microseconds(other)
    return Conditions(
        facets=allowed,
        with_hidden=where.with_deleted,
        ids=None if ids is None else {id_bytes(id) for id in ids},
        **times,
    )


def suffices(table: Table, where: Filter) -> bool:
    """Tell whether the columns say all that a Filter asks."""
    known = facets(table)
    return (
        not where.starts
        and (where.client is None or CLIENT in known)
        and all(name in known and name != CLIENT for name in where.equal)
    )


def are_quicker(table: Table, where: Filter) -> bool:
    """Tell whether the columns say all that a Filter asks of many records."""
    return where.ids is None and suffices(table, where)


def is_by_id(order: Sequence[str]) -> bool:
    """Tell whether an order is that of ids, either way."""
    return ",".join(order) in ("", "id", "-id")


def _texts(column: Sequence[Any]) -> list[str | None]:
    return [None if value is None else value_text(value) for value in column]


def _clients(table: Table, column: Sequence[Any]) -> list[str | None]:
    """Return the programs that origins name, A to Z like a to z; None where none is known."""
    origin = table.projection(["origin"])
    known: dict[Any, str | None] = {None: None}
    for value in column:
        if value not in known:
            (read,) = origin.values_of([value])
            known[value] = folded(read.client) or None
    return [known[value] for value in column]


def _microseconds(instant: datetime | None) -> int | None:
    return None if instant is None else microseconds(instant)
