"""Columns of some records that have vectors: what a filter asks, the vectors, and their codes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from minutebook.search import binary_codes
from minutebook.store.sidecar import sizes

Ids: TypeAlias = NDArray[np.bytes_]
Mask: TypeAlias = NDArray[np.bool_]

_COMPARED_ONE_BY_ONE = 4

ALWAYS, NEVER = -(1 << 62), 1 << 62
"""Instants before and after every other, in microseconds."""


@dataclass(frozen=True, slots=True)
class Facet:
    """A field that takes few values: for each record the place of its value among `values`."""

    values: tuple[str | None, ...]
    places: NDArray[np.unsignedinteger]

    @classmethod
    def of(cls, values: Iterable[str | None]) -> "Facet":
        """Collect the values of records, in order."""
        known: dict[str | None, int] = {}
        places = [known.setdefault(value, len(known)) for value in values]
        return cls(tuple(known), np.array(places, np.min_scalar_type(len(known))))

    def among(self, allowed: Iterable[str | None]) -> Mask:
        """Tell of each record whether its value is among these."""
        known = dict(zip(self.values, range(len(self.values)), strict=True))
        wanted = [known[value] for value in allowed if value in known]
        if len(wanted) > _COMPARED_ONE_BY_ONE:
            table = np.zeros(len(known), np.bool_)
            table[wanted] = True
            mask: Mask = table[self.places]
            return mask
        mask = np.zeros(len(self.places), np.bool_)
        for place in wanted:
            mask |= self.places == place
        return mask

    def taken(self, order: NDArray[np.intp]) -> "Facet":
        """Give the facet of some of the records."""
        return Facet(self.values, self.places[order])


@dataclass(frozen=True, slots=True)
class Extent:
    """What lets a condition be met by a whole block without a look at each record."""

    latest_from: int
    earliest_until: int
    any_hidden: bool

    @classmethod
    def of(cls, block: "Block") -> "Extent":
        """Sum up the records of a block."""
        if not len(block):
            return cls(ALWAYS, NEVER, any_hidden=False)
        earliest, latest = block.valid_until.min(), block.valid_from.max()
        return cls(int(latest), int(earliest), any_hidden=bool(block.hidden.any()))


_UNKNOWN = Extent(NEVER, ALWAYS, any_hidden=True)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Immutable columns of n records, sorted by id, and of their vectors, at least one a record.

    `valid_from` and `valid_until` are microseconds; `owner` (p,) is the place of the record that a
    vector belongs to; `vectors` has shape (p, d), `planes` (⌈d / 64⌉, p), `centre` (d,).
    """

    ids: Ids
    valid_from: NDArray[np.int64]
    valid_until: NDArray[np.int64]
    hidden: Mask
    facets: Mapping[str, Facet]
    owner: NDArray[np.uint32]
    vectors: NDArray[np.float16]
    centre: NDArray[np.float32]
    planes: NDArray[np.uint64] | None
    extent: "Extent"

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def one_each(self) -> bool:
        """Tell whether each record has exactly one vector."""
        return len(self.owner) == len(self.ids)

    def places_of(self, ids: Sequence[bytes]) -> NDArray[np.intp]:
        """Give the places of those of the ids that the block holds."""
        width = self.ids.dtype.itemsize
        sought = np.array([id for id in ids if len(id) <= width], self.ids.dtype)
        if not len(sought) or not len(self):
            return np.empty(0, np.intp)
        places = np.searchsorted(self.ids, sought)
        places[places == len(self)] = 0
        found: NDArray[np.intp] = places[self.ids[places] == sought]
        return found


def block_of(
    ids: Sequence[bytes],
    valid_from: Sequence[int],
    valid_until: Sequence[int],
    hidden: Sequence[bool],
    facets: Mapping[str, Sequence[str | None]],
    vectors: Sequence[bytes],
    dimensions: int,
) -> Block:
    """Make a block of columns in any order; `vectors` holds each record's float16 rows as bytes."""
    row = dimensions * np.dtype(np.float16).itemsize
    parts = [len(blob) // row for blob in vectors]
    return _sorted(
        Block(
            ids=np.array(ids, np.bytes_),
            valid_from=np.array(valid_from, np.int64),
            valid_until=np.array(valid_until, np.int64),
            hidden=np.array(hidden, np.bool_),
            facets={name: Facet.of(values) for name, values in facets.items()},
            owner=np.repeat(np.arange(len(ids), dtype=np.uint32), parts),
            vectors=np.frombuffer(b"".join(vectors), np.float16).reshape(-1, dimensions),
            centre=np.zeros(dimensions, np.float32),
            planes=None,
            extent=_UNKNOWN,
        )
    )


def merged(blocks: Sequence[tuple[Block, Mask | None]]) -> Block:
    """Put blocks, each without its dead records, into one."""
    alive = [block if dead is None else _taken(block, ~dead) for block, dead in blocks]
    starts = np.cumsum([0, *map(len, alive)])
    owners = [block.owner + np.uint32(start) for block, start in zip(alive, starts, strict=False)]
    return _sorted(
        Block(
            ids=np.concatenate([block.ids for block in alive]),
            valid_from=np.concatenate([block.valid_from for block in alive]),
            valid_until=np.concatenate([block.valid_until for block in alive]),
            hidden=np.concatenate([block.hidden for block in alive]),
            facets={
                name: _joined([block.facets[name] for block in alive]) for name in alive[0].facets
            },
            owner=np.concatenate(owners),
            vectors=np.concatenate([block.vectors for block in alive]),
            centre=alive[0].centre,
            planes=None,
            extent=_UNKNOWN,
        )
    )


def cut(block: Block, size: int) -> list[Block]:
    """Cut a block into parts of at most `size` records."""
    if len(block) <= size:
        return [block]
    place = np.arange(len(block))
    return [
        _finished(_taken(block, (place >= start) & (place < start + size)))
        for start in range(0, len(block), size)
    ]


def _joined(facets: Sequence[Facet]) -> Facet:
    known: dict[str | None, int] = {}
    tables = [
        np.array([known.setdefault(value, len(known)) for value in facet.values], np.uint32)
        for facet in facets
    ]
    places = [table[facet.places] for table, facet in zip(tables, facets, strict=True)]
    kind = np.min_scalar_type(len(known))
    return Facet(tuple(known), np.concatenate(places).astype(kind))


def _taken(block: Block, kept: Mask) -> Block:
    """Give the records that are kept, uncoded."""
    order = np.flatnonzero(kept)
    parts = kept[block.owner]
    renumbered = np.cumsum(kept, dtype=np.uint32) - np.uint32(1)
    return Block(
        ids=block.ids[order],
        valid_from=block.valid_from[order],
        valid_until=block.valid_until[order],
        hidden=block.hidden[order],
        facets={name: facet.taken(order) for name, facet in block.facets.items()},
        owner=renumbered[block.owner[parts]],
        vectors=block.vectors[parts],
        centre=block.centre,
        planes=None,
        extent=_UNKNOWN,
    )


def _sorted(block: Block) -> Block:
    """Sort by id, which vectors follow, then sum up and code."""
    order = np.argsort(block.ids, kind="stable")
    place = np.empty(len(order), np.uint32)
    place[order] = np.arange(len(order), dtype=np.uint32)
    owner = place[block.owner]
    parts = np.argsort(owner, kind="stable")
    return _finished(
        Block(
            ids=block.ids[order],
            valid_from=block.valid_from[order],
            valid_until=block.valid_until[order],
            hidden=block.hidden[order],
            facets={name: facet.taken(order) for name, facet in block.facets.items()},
            owner=owner[parts],
            vectors=block.vectors[parts],
            centre=block.centre,
            planes=None,
            extent=_UNKNOWN,
        )
    )


def _finished(block: Block) -> Block:
    """Sum the block up, and code it if it is large enough."""
    extent = Extent.of(block)
    if len(block.vectors) < sizes.CODED:
        return replace(block, extent=extent)
    centre = binary_codes.centre_of(block.vectors)
    planes = binary_codes.encode(block.vectors, centre)
    return replace(block, centre=centre, planes=planes, extent=extent)
