"""Blocks: columns of some records, those for filters and those for one kind of search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Ids: TypeAlias = NDArray[np.bytes_]
Mask: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.intp]
Arrays: TypeAlias = Mapping[str, NDArray[Any]]

_COMPARED_ONE_BY_ONE = 4

ALWAYS, NEVER = -(1 << 62), 1 << 62
"""Instants before and after every other, in microseconds."""


@dataclass(frozen=True, slots=True)
class Facet:
    """A field with few distinct values: for each record the position of its value in `values`."""

    values: tuple[str | None, ...]
    places: NDArray[np.unsignedinteger]

    @classmethod
    def from_values(cls, values: Iterable[str | None]) -> "Facet":
        """Return the facet of records with these values, in order."""
        known: dict[str | None, int] = {}
        places = [known.setdefault(value, len(known)) for value in values]
        return cls(tuple(known), np.array(places, np.min_scalar_type(len(known))))

    def among(self, allowed: Iterable[str | None], at: Places | slice) -> Mask:
        """Return the mask of the records at positions `at` that have one of the allowed values."""
        known = dict(zip(self.values, range(len(self.values)), strict=True))
        codes = [known[value] for value in allowed if value in known]
        places = self.places[at]
        if len(codes) > _COMPARED_ONE_BY_ONE:
            table = np.zeros(len(known), np.bool_)
            table[codes] = True
            mask: Mask = table[places]
            return mask
        mask = np.zeros(len(places), np.bool_)
        for number in codes:
            mask |= places == number
        return mask

    @classmethod
    def joined(cls, facets: Sequence["Facet"]) -> "Facet":
        """Return the facets of several blocks joined one after the other."""
        known: dict[str | None, int] = {}
        tables = [
            np.array([known.setdefault(value, len(known)) for value in facet.values], np.uint32)
            for facet in facets
        ]
        places = [table[facet.places] for table, facet in zip(tables, facets, strict=True)]
        kind = np.min_scalar_type(len(known))
        return cls(tuple(known), np.concatenate(places).astype(kind))

    def at(self, places: Places) -> "Facet":
        """Return the facet of the records at these positions."""
        return Facet(self.values, self.places[places])


@dataclass(frozen=True, slots=True)
class Extent:
    """Bounds of a block's columns, which can tell that all its records meet a condition."""

    latest_from: int
    earliest_until: int
    any_hidden: bool
    first_kept: int
    last_kept: int

    def holds_at(self, instant: int) -> bool:
        """Tell whether every record holds at an instant."""
        return self.latest_from <= instant < self.earliest_until


class Payload(Protocol):
    """The columns of a block's records for one kind of search: vectors, or words."""

    @classmethod
    def merged(cls, parts: Sequence[Self], places: Sequence[Places]) -> Self:
        """Return several parts as one: record i of part k becomes record `places[k][i]`; −1 leaves it out."""

    @classmethod
    def of_columns(cls, columns: Arrays) -> Self:
        """Return the payload from the arrays that `columns` returned."""

    def columns(self) -> Arrays:
        """Return the arrays to be written to a file."""


P = TypeVar("P", bound=Payload)


@dataclass(frozen=True, slots=True, eq=False)
class Block(Generic[P]):
    """Immutable columns of n records, sorted by id. `valid_from`, `valid_until` and `kept` are instants in microseconds since 1970.

    `kept` is the instant since which a record is kept; `hidden` marks soft-deleted ones.
    """

    ids: Ids
    valid_from: NDArray[np.int64]
    valid_until: NDArray[np.int64]
    kept: NDArray[np.int64]
    hidden: Mask
    facets: Mapping[str, Facet]
    extent: Extent
    payload: P

    def __len__(self) -> int:
        return len(self.ids)

    def holds_at(self, instant: int, at: Places | slice) -> Mask:
        """Return the mask of the records at positions `at` that hold at an instant."""
        holds: Mask = (self.valid_from[at] <= instant) & (self.valid_until[at] > instant)
        return holds

    def places_of(self, ids: Sequence[bytes]) -> Places:
        """Return the positions of those of the ids that the block holds."""
        width = self.ids.dtype.itemsize
        searched = np.array([id for id in ids if len(id) <= width], self.ids.dtype)
        if not len(searched) or not len(self):
            return np.empty(0, np.intp)
        places = np.searchsorted(self.ids, searched)
        places[places == len(self)] = 0
        found: Places = places[self.ids[places] == searched]
        return found


def block_of(
    ids: Sequence[bytes],
    valid_from: Sequence[int],
    valid_until: Sequence[int],
    kept: Sequence[int],
    hidden: Sequence[bool],
    facets: Mapping[str, Sequence[str | None]],
    payload: P,
) -> Block[P]:
    """Return the block of records that are given in any order."""
    unsorted = Block(
        ids=np.array(ids, np.bytes_),
        valid_from=np.array(valid_from, np.int64),
        valid_until=np.array(valid_until, np.int64),
        kept=np.array(kept, np.int64),
        hidden=np.array(hidden, np.bool_),
        facets={name: Facet.from_values(values) for name, values in facets.items()},
        extent=Extent(NEVER, ALWAYS, any_hidden=True, first_kept=ALWAYS, last_kept=NEVER),
        payload=payload,
    )
    return merged([(unsorted, None)])


def merged(blocks: Sequence[tuple[Block[P], Mask | None]]) -> Block[P]:
    """Return several blocks as one, each without the records in its mask of dead ones."""
    alive = [
        np.arange(len(block)) if dead is None else np.flatnonzero(~dead) for block, dead in blocks
    ]
    ids = np.concatenate([block.ids[kept] for (block, _), kept in zip(blocks, alive, strict=True)])
    order = np.argsort(ids, kind="stable")
    becomes = np.empty(len(order), np.intp)
    becomes[order] = np.arange(len(order))
    places, start = [], 0
    for (block, _), kept in zip(blocks, alive, strict=True):
        new_places = np.full(len(block), -1, np.intp)
        new_places[kept] = becomes[start : start + len(kept)]
        places.append(new_places)
        start += len(kept)
    return _arranged([block for block, _ in blocks], alive, order, places)


def cut(block: Block[P], size: int) -> list[Block[P]]:
    """Cut a block into parts of at most `size` records."""
    if len(block) <= size:
        return [block]
    parts = []
    for start in range(0, len(block), size):
        rows = np.arange(start, min(start + size, len(block)))
        new_places = np.full(len(block), -1, np.intp)
        new_places[rows] = rows - start
        parts.append(_arranged([block], [rows], rows - start, [new_places]))
    return parts


def _arranged(
    blocks: Sequence[Block[P]],
    alive: Sequence[Places],
    order: Places,
    places: Sequence[Places],
) -> Block[P]:
    """Return one block of records from several blocks.

    `alive` has for each block the positions of its records to take; `order` sorts all of these, joined.
    `places` has for each block the new position of each record, −1 if it is left out.
    """

    def column(parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([part[at] for part, at in zip(parts, alive, strict=True)])[order]

    valid_from = column(block.valid_from for block in blocks)
    valid_until = column(block.valid_until for block in blocks)
    kept = column(block.kept for block in blocks)
    hidden = column(block.hidden for block in blocks)
    return Block(
        ids=column(block.ids for block in blocks),
        valid_from=valid_from,
        valid_until=valid_until,
        kept=kept,
        hidden=hidden,
        facets={
            name: Facet.joined(
                [block.facets[name].at(at) for block, at in zip(blocks, alive, strict=True)]
            ).at(order)
            for name in blocks[0].facets
        },
        extent=Extent(
            int(valid_from.max(initial=ALWAYS)),
            int(valid_until.min(initial=NEVER)),
            any_hidden=bool(hidden.any()),
            first_kept=int(kept.min(initial=NEVER)),
            last_kept=int(kept.max(initial=ALWAYS)),
        ),
        payload=type(blocks[0].payload).merged([block.payload for block in blocks], places),
    )
