"""The SQL that finds what stands beside records in the order of their ids."""

from collections.abc import Iterable, Sequence
from typing import Any


def beside_columns(table: str, number: str, reach: int) -> str:
    """Return the columns with the ids beside `given.id` in a table, nearest first; `number` stands for the organization."""
    return ", ".join(
        f"(SELECT b.id FROM {table} AS b WHERE b.organization = {number} AND b.id {sign} given.id"  # noqa: S608
        f" ORDER BY b.id{order} LIMIT 1 OFFSET {place})"
        for place in range(reach)
        for sign, order in (("<", " DESC"), (">", ""))
    )


def ids_beside(rows: Iterable[Sequence[Any]]) -> dict[Any, list[Any]]:
    """Return what stands beside each id, from rows of an id and its `beside_columns`."""
    return {id: [each for each in others if each is not None] for id, *others in rows}
