"""The vectors of a block's records, and the search for the nearest."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.block import Arrays, Block, Places
from minutebook.store.sidecar.view import ColumnConditions, IndexView, Layer
from minutebook.store.values import Candidate
from minutebook.text import binary_codes

_GATHERED_SHARE = 8
_SAMPLED, _MORE = 64, 3
"""Of a sample of each 64th distance the bound is taken below which three times as many as wanted are expected."""

_ROUNDING = 2e-3
"""More than the difference of a cosine and the dot product, which float16 rows cause by being off unit length."""

Query: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class VectorRows:
    """The vectors of a block's records, at least one for each, in the order of the records.

    `owner` (p,) is the position of the record to which a vector belongs; `vectors` has shape (p, d),
    `planes` (binary codes around `centre`) (⌈d / 64⌉, p), `centre` (d,). A small block has no planes.
    """

    owner: NDArray[np.uint32]
    vectors: NDArray[np.float16]
    centre: NDArray[np.float32]
    planes: NDArray[np.uint64] | None = None

    @classmethod
    def of_bytes(cls, rows: Sequence[bytes], dimensions: int) -> "VectorRows":
        """Return the vectors of records, given as the bytes of each record's float16 rows."""
        width = dimensions * np.dtype(np.float16).itemsize
        parts = [len(blob) // width for blob in rows]
        return cls(
            owner=np.repeat(np.arange(len(rows), dtype=np.uint32), parts),
            vectors=np.frombuffer(b"".join(rows), np.float16).reshape(-1, dimensions),
            centre=np.zeros(dimensions, np.float32),
        )

    @classmethod
    def of_columns(cls, columns: Arrays) -> "VectorRows":
        """Read the result of `columns`."""
        return cls(**columns)

    def columns(self) -> Arrays:
        """Return the arrays to be written to a file."""
        columns: dict[str, NDArray[np.generic]] = {
            "owner": self.owner,
            "vectors": self.vectors,
            "centre": self.centre,
        }
        return columns if self.planes is None else columns | {"planes": self.planes}

    @classmethod
    def merged(cls, parts: Sequence["VectorRows"], places: Sequence[Places]) -> "VectorRows":
        """Return several parts as one, as `Payload.merged` says, with codes if it is large enough."""
        owners = [new_places[part.owner] for part, new_places in zip(parts, places, strict=True)]
        owner = np.concatenate(owners)
        vectors = np.concatenate([part.vectors for part in parts])
        order = np.argsort(owner, kind="stable")
        order = order[owner[order] >= 0]
        rows = cls(owner[order].astype(np.uint32), vectors[order], parts[0].centre)
        if len(rows.vectors) < sizes.CODED:
            return rows
        centre = binary_codes.centre_of(rows.vectors)
        return replace(rows, centre=centre, planes=binary_codes.encode(rows.vectors, centre))

    def floats(self, places: Places) -> Query:
        """Return the vectors at ascending positions in float32, shape (places, d); a small block caches all of them."""
        if len(self.vectors) > sizes.WIDE:
            return self.vectors[places].astype(np.float32)
        return self._wide if len(places) == len(self.vectors) else self._wide[places]

    @cached_property
    def _wide(self) -> Query:
        return self.vectors.astype(np.float32)

    @property
    def one_each(self) -> bool:
        """Tell whether each record has exactly one vector."""
        return not len(self.owner) or int(self.owner[-1]) + 1 == len(self.owner)

    def of_records(self, records: Places) -> Places:
        """Return the positions of the vectors of records, both ascending."""
        if self.one_each:
            return records
        starts = np.searchsorted(self.owner, records)
        counts = np.searchsorted(self.owner, records, side="right") - starts
        before = np.cumsum(counts) - counts
        places: Places = np.repeat(starts - before, counts) + np.arange(counts.sum())
        return places


VectorBlock: TypeAlias = Block[VectorRows]
VectorView: TypeAlias = IndexView[VectorRows]


def nearest(
    view: VectorView,
    conditions: ColumnConditions,
    vector: Query,
    limit: int,
    also: Collection[bytes] = (),
) -> list[Candidate]:
    """Rank the `limit` best records, and those with an id in `also`, by the cosine of their nearest vector; ties by id."""
    blocks = [layer.block for layer in view.layers]
    selected = [_places(layer, conditions) for layer in view.layers]
    counts = [
        len(block.payload.vectors) if places is None else len(places)
        for block, places in zip(blocks, selected, strict=True)
    ]
    if sum(counts) <= sizes.EXACT:
        chosen = [
            np.arange(count) if places is None else places
            for count, places in zip(counts, selected, strict=True)
        ]
    else:
        chosen = _near_by_code(blocks, selected, vector, max(sizes.RESCORED, 4 * limit))
    best = _best(blocks, chosen, vector, limit)
    missing = set(also) - {id for _, id in best}
    if missing:
        named = [
            _named(layer, places, missing)
            for layer, places in zip(view.layers, selected, strict=True)
        ]
        best = sorted([*best, *_best(blocks, named, vector, len(missing))])
    return [Candidate(id.decode("utf-8", "surrogatepass"), -negative) for negative, id in best]


def rows_of(view: VectorView) -> Iterator[tuple[bytes, bytes]]:
    """Yield each record's id with its float16 rows as bytes."""
    for layer in view.layers:
        block, rows, dead = layer.block, layer.block.payload, layer.dead
        ends = np.searchsorted(rows.owner, np.arange(len(block) + 1)).tolist()
        for row, id in enumerate(block.ids.tolist()):
            if dead is None or not dead[row]:
                yield id, rows.vectors[ends[row] : ends[row + 1]].tobytes()


def _places(layer: Layer[VectorRows], conditions: ColumnConditions) -> Places | None:
    """Return the positions of the vectors of records that meet the conditions; None if all do."""
    rows = layer.block.payload
    if conditions.ids is not None:
        return rows.of_records(layer.places_among(conditions.ids, conditions))
    mask = layer.mask(conditions)
    if mask is None:
        return None
    return np.flatnonzero(mask if rows.one_each else mask[rows.owner])


def _named(layer: Layer[VectorRows], selected: Places | None, ids: Collection[bytes]) -> Places:
    """Return the positions of the vectors of some records, of those selected (None: all)."""
    block, rows = layer.block, layer.block.payload
    places = rows.of_records(np.sort(block.places_of(list(ids))))
    return places if selected is None else np.intersect1d(places, selected, assume_unique=True)


def _near_by_code(
    blocks: Sequence[VectorBlock], selected: Sequence[Places | None], vector: Query, enough: int
) -> list[Places]:
    """Return for each block the positions of vectors to compare: all in a block without codes, else the nearest by code.

    At least `enough` of all blocks with codes are chosen.
    """
    distances = [
        _distances(block.payload, places, vector)
        for block, places in zip(blocks, selected, strict=True)
    ]
    threshold = _threshold([far for far in distances if far is not None], enough)
    chosen = []
    for block, places, far in zip(blocks, selected, distances, strict=True):
        if far is None:
            chosen.append(np.arange(len(block.payload.vectors)) if places is None else places)
        else:
            nearest = np.flatnonzero(far <= threshold)
            chosen.append(nearest if places is None else places[nearest])
    return chosen


def _threshold(distances: Sequence[NDArray[np.uint16]], enough: int) -> int:
    """Return the least distance within which there are `enough`, or the greatest if there are fewer.

    The caller takes all vectors at that distance, so that ties are broken by id. A sample gives an upper bound of it, so
    that only the near ones have to be sorted.
    """
    none = np.empty(0, np.uint16)
    sample = np.sort(np.concatenate([none, *(far[::_SAMPLED] for far in distances)]))
    at = _MORE * enough // _SAMPLED
    bound = sample[at] if at < len(sample) else np.iinfo(np.uint16).max
    near = np.concatenate([none, *(far[far <= bound] for far in distances)])
    if len(near) < enough:
        near = np.concatenate([none, *distances])
    if len(near) <= enough:
        return int(near.max(initial=0))
    return int(np.partition(near, enough - 1)[enough - 1])


def _distances(rows: VectorRows, places: Places | None, vector: Query) -> NDArray[np.uint16] | None:
    """Return the distances by code from a vector to those at some positions (None: all); None if there are no codes."""
    planes = rows.planes
    if planes is None:
        return None
    code = binary_codes.encode(vector[None, :], rows.centre)[:, 0]
    if places is None:
        return binary_codes.distances(planes, code)
    if _GATHERED_SHARE * len(places) < planes.shape[1]:
        return binary_codes.distances(planes[:, places], code)
    return binary_codes.distances(planes, code)[places]


def _best(
    blocks: Iterable[VectorBlock], chosen: Iterable[Places], vector: Query, limit: int
) -> list[tuple[float, bytes]]:
    """Compare the chosen vectors in full; return the negative score and id of the best records, sorted.

    Dot products in float32 exclude vectors that cannot be among the best; cosines in float64, row by
    row, then decide, so that equal vectors have equal scores in every block.
    """
    candidates = [
        (block, places, rows := block.payload.floats(places), rows @ vector)
        for block, places in zip(blocks, chosen, strict=True)
        if len(places)
    ]
    if not candidates or limit < 1:
        return []
    floor = (
        _limit_best(
            [_per_record(block.payload, places, dots) for block, places, _, dots in candidates],
            limit,
        )
        - _ROUNDING
    )
    scores: dict[bytes, float] = {}
    for block, places, rows, dots in candidates:
        above_floor = dots >= floor
        for id, score in zip(
            block.ids[block.payload.owner[places[above_floor]]].tolist(),
            _cosines(rows[above_floor], vector).tolist(),
            strict=True,
        ):
            scores[id] = max(score, scores.get(id, score))
    return sorted((-score, id) for id, score in scores.items())[:limit]


def _per_record(rows: VectorRows, places: Places, dots: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the best dot product of each record; the vectors of a record follow one another."""
    if rows.one_each:
        return dots
    owners = rows.owner[places]
    first = np.flatnonzero(np.diff(owners, prepend=np.uint32(owners[0] + 1)))
    best: NDArray[np.float32] = np.maximum.reduceat(dots, first)
    return best


def _limit_best(parts: Sequence[NDArray[np.float32]], limit: int) -> float:
    """Return the limit-th largest number, or the least if there are not as many."""
    everything = np.concatenate(parts)
    if len(everything) <= limit:
        return float(everything.min())
    return float(np.partition(everything, len(everything) - limit)[len(everything) - limit])


def _cosines(rows: NDArray[np.float32], vector: Query) -> NDArray[np.float64]:
    exact, query = rows.astype(np.float64), vector.astype(np.float64)
    # Unlike a product of matrices, einsum sums each row alone and so always in the same way.
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact) * np.einsum("i,i", query, query))
    cosines: NDArray[np.float64] = np.einsum("ij,j->i", exact, query) / lengths
    return cosines
