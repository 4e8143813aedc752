"""What a search reads: immutable blocks, which of their records are dead, and up to what change."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from minutebook.search import binary_codes
from minutebook.store.protocol import Candidate
from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.block import Block, Mask, merged

_GATHERED_SHARE = 8
_ROUNDING = 2e-3
"""More than float16 rows are off unit length, twice: what no cosine is off its dot product by."""

Query: TypeAlias = NDArray[np.float32]
Places: TypeAlias = NDArray[np.intp]
Witness: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """A filter over the columns of a block: allowed values, an instant, or the very ids."""

    facets: Sequence[tuple[str, Collection[str | None]]] = ()
    valid_at: int | None = None
    with_hidden: bool = False
    ids: Collection[bytes] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A block, its dead records (None: none), and the file it came from (None: in memory only)."""

    block: Block
    dead: Mask | None = None
    file: str | None = None

    @property
    def alive(self) -> int:
        """How many records are not dead."""
        return len(self.block) - (0 if self.dead is None else int(np.count_nonzero(self.dead)))

    def without(self, ids: Sequence[bytes]) -> "Layer":
        """Give the layer with these records dead too."""
        places = self.block.places_of(ids)
        if not len(places):
            return self
        dead = np.zeros(len(self.block), np.bool_) if self.dead is None else self.dead.copy()
        dead[places] = True
        return replace(self, dead=dead)

    def passing(self, conditions: Conditions) -> Mask | None:
        """Tell of each record whether it is alive and meets the conditions; None if all do."""
        masks = list(self._masks(conditions))
        return np.logical_and.reduce(masks) if masks else None

    def _masks(self, conditions: Conditions) -> Iterator[Mask]:
        block, extent, instant = self.block, self.block.extent, conditions.valid_at
        if self.dead is not None:
            yield ~self.dead
        if not conditions.with_hidden and extent.any_hidden:
            yield ~block.hidden
        if instant is not None and instant < extent.latest_from:
            yield block.valid_from <= instant
        if instant is not None and instant >= extent.earliest_until:
            yield block.valid_until > instant
        for name, allowed in conditions.facets:
            yield block.facets[name].among(allowed)
        if conditions.ids is not None:
            named = np.zeros(len(block), np.bool_)
            named[block.places_of(list(conditions.ids))] = True
            yield named


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The layers, oldest first, that hold every vector of one space as of `sequence`.

    `witness` is the id and sequence of the latest change that the layers took in: a store that
    does not know it is not the one these layers were made from. `pending` counts the changes that
    the files do not hold yet.
    """

    sequence: int = 0
    witness: Witness | None = None
    layers: tuple[Layer, ...] = ()
    pending: int = 0

    @property
    def files(self) -> list[str]:
        """The files that the layers came from."""
        return [layer.file for layer in self.layers if layer.file is not None]

    @property
    def unsaved(self) -> int:
        """How many records are in memory only."""
        return sum(layer.alive for layer in self.layers if layer.file is None)

    @property
    def saved(self) -> int:
        """How many records are in files."""
        return sum(layer.alive for layer in self.layers if layer.file is not None)

    def changed(self, ids: Sequence[bytes], block: Block | None) -> tuple[Layer, ...]:
        """Give the layers after these records changed to what the block holds, if any, of them."""
        layers = [layer.without(ids) for layer in self.layers] if ids else list(self.layers)
        layers = [layer for layer in layers if layer.file is not None or layer.alive]
        if block is None:
            return tuple(layers)
        last = Layer(block)
        while (
            layers
            and layers[-1].file is None
            and len(layers[-1].block) < sizes.GROWTH * len(last.block)
            and len(layers[-1].block) + len(last.block) <= sizes.LARGEST_IN_MEMORY
        ):
            before = layers.pop()
            last = Layer(merged([(before.block, before.dead), (last.block, last.dead)]))
        return (*layers, last)

    def vectors(self) -> Iterator[tuple[bytes, bytes]]:
        """Give each record's id with its float16 rows as bytes."""
        for layer in self.layers:
            block, dead = layer.block, layer.dead
            ends = np.searchsorted(block.owner, np.arange(len(block) + 1)).tolist()
            for place, id in enumerate(block.ids.tolist()):
                if dead is None or not dead[place]:
                    yield id, block.vectors[ends[place] : ends[place + 1]].tobytes()

    def nearest(self, conditions: Conditions, vector: Query, limit: int) -> list[Candidate]:
        """Rank the records by the cosine of their nearest vector; ties by id."""
        blocks = [layer.block for layer in self.layers]
        asked = [_places(layer, conditions) for layer in self.layers]
        counts = [
            len(block.vectors) if places is None else len(places)
            for block, places in zip(blocks, asked, strict=True)
        ]
        if sum(counts) <= sizes.EXACT:
            chosen = [
                np.arange(count) if places is None else places
                for count, places in zip(counts, asked, strict=True)
            ]
        else:
            chosen = _near_by_code(blocks, asked, vector, max(sizes.RESCORED, 4 * limit))
        return _best(blocks, chosen, vector, limit)


def _places(layer: Layer, conditions: Conditions) -> Places | None:
    """Give the places of the vectors whose records meet the conditions; None for all."""
    mask = layer.passing(conditions)
    if mask is None:
        return None
    return np.flatnonzero(mask if layer.block.one_each else mask[layer.block.owner])


def _near_by_code(
    blocks: Sequence[Block], asked: Sequence[Places | None], vector: Query, enough: int
) -> list[Places]:
    """Choose from each block what is uncoded and, over all blocks, the nearest by code."""
    longest = binary_codes.WORD * -(-len(vector) // binary_codes.WORD)
    counts = np.zeros(longest + 1, np.intp)
    distances = []
    for block, places in zip(blocks, asked, strict=True):
        far = None if block.planes is None else _distances(block, block.planes, places, vector)
        if far is not None:
            counts += np.bincount(far, minlength=longest + 1)
        distances.append(far)
    # All at the threshold are taken, so that the ties among them are the ids' to break.
    threshold = np.searchsorted(np.cumsum(counts), enough)
    chosen = []
    for block, places, far in zip(blocks, asked, distances, strict=True):
        if far is None:
            chosen.append(np.arange(len(block.vectors)) if places is None else places)
        else:
            near = np.flatnonzero(far <= threshold)
            chosen.append(near if places is None else places[near])
    return chosen


def _distances(
    block: Block, planes: NDArray[np.uint64], places: Places | None, vector: Query
) -> NDArray[np.uint16]:
    """Count in how many signs each of the vectors in question differs."""
    code = binary_codes.encode(vector[None, :], block.centre)[:, 0]
    if places is None:
        return binary_codes.distances(planes, code)
    if _GATHERED_SHARE * len(places) < planes.shape[1]:
        return binary_codes.distances(planes[:, places], code)
    return binary_codes.distances(planes, code)[places]


def _best(
    blocks: Iterable[Block], chosen: Iterable[Places], vector: Query, limit: int
) -> list[Candidate]:
    """Compare the chosen vectors as they are and rank their records.

    Dot products in float32 leave out what cannot be among the best; cosines in float64, row by
    row, then decide, so that equal vectors have equal scores wherever they stand.
    """
    candidates = [
        (block, places, block.vectors[places].astype(np.float32) @ vector)
        for block, places in zip(blocks, chosen, strict=True)
        if len(places)
    ]
    if not candidates or limit < 1:
        return []
    floor = _limit_best([_per_record(*candidate) for candidate in candidates], limit) - _ROUNDING
    scores: dict[bytes, float] = {}
    for block, places, dots in candidates:
        kept = places[dots >= floor]
        for id, score in zip(
            block.ids[block.owner[kept]].tolist(),
            _cosines(block.vectors[kept], vector).tolist(),
            strict=True,
        ):
            scores[id] = max(score, scores.get(id, score))
    ranked = sorted((-score, id) for id, score in scores.items())[:limit]
    return [Candidate(id.decode("utf-8", "surrogatepass"), -negative) for negative, id in ranked]


def _per_record(block: Block, places: Places, dots: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give the best dot product of each record; a record's vectors stand side by side."""
    if block.one_each:
        return dots
    owners = block.owner[places]
    first = np.flatnonzero(np.diff(owners, prepend=np.uint32(owners[0] + 1)))
    best: NDArray[np.float32] = np.maximum.reduceat(dots, first)
    return best


def _limit_best(parts: Sequence[NDArray[np.float32]], limit: int) -> float:
    """Give the limit-th largest number, or the least where there are no more."""
    everything = np.concatenate(parts)
    if len(everything) <= limit:
        return float(everything.min())
    return float(np.partition(everything, len(everything) - limit)[len(everything) - limit])


def _cosines(rows: NDArray[np.float16], vector: Query) -> NDArray[np.float64]:
    exact, query = rows.astype(np.float64), vector.astype(np.float64)
    lengths = np.sqrt((exact * exact).sum(axis=1) * (query * query).sum())
    cosines: NDArray[np.float64] = (exact * query).sum(axis=1) / lengths
    return cosines
