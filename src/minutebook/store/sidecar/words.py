"""The terms of a block's records, and the search by BM25."""

import hashlib
import math
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from minutebook.store.sidecar.block import Arrays, Places
from minutebook.store.sidecar.view import ColumnConditions, IndexView, Layer
from minutebook.store.values import Candidate
from minutebook.text.words import TextQuery

K1, B = 1.2, 0.75
"""BM25's saturation and weight of length, the same as in FTS5, so that scores do not depend on the index."""

_FEW = 1 << 14
"""The most scored records of a layer, beside an eighth of it, for which scores are kept by position, else for the whole layer."""

_FEW_SHARE = 8
_CHUNK = 64
_MANY_CELLS = 1 << 24
_ROUNDING = 1e-9
"""More than the difference of sums that add the same scores in another order."""

Scores: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The records that hold each term, as a sparse matrix of terms and records.

    `terms` (t,) are sorted digests. Term i stands in the records `owners[starts[i]:starts[i + 1]]`,
    ascending. A posting is a pair of term and record. `cells` has for each the index of its cell: the pair of
    `counts[cell]`, the occurrences of the term in the record, and `totals[cell]`, the number of terms in the record.
    Few such pairs occur, so BM25 is computed once for each. `lengths` (n,) is the number of terms in each record,
    `length` (1,) their sum.
    """

    terms: NDArray[np.uint64]
    starts: NDArray[np.int64]
    owners: NDArray[np.uint32]
    cells: NDArray[np.unsignedinteger]
    counts: NDArray[np.uint32]
    totals: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    length: NDArray[np.int64]

    @classmethod
    def of_texts(cls, texts: Iterable[Sequence[str]]) -> "Postings":
        """Return the postings of records, given the terms of each."""
        terms: list[int] = []
        counts: list[int] = []
        sizes: list[int] = []
        lengths: list[int] = []
        for text in texts:
            counted = Counter(text)
            terms += map(term_digest, counted)
            counts += counted.values()
            sizes.append(len(counted))
            lengths.append(len(text))
        return _sorted(
            np.array(terms, np.uint64),
            np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes),
            np.array(counts, np.uint32),
            np.array(lengths, np.uint32),
        )

    @classmethod
    def of_packed(cls, texts: Sequence[bytes]) -> "Postings":
        """Return the postings of records, given the result of `packed` for each."""
        sizes: list[int] = []
        lengths: list[int] = []
        digests: list[bytes] = []
        counts: list[NDArray[np.unsignedinteger]] = []
        for text in texts:
            size, length = _PACKED.unpack_from(text)
            start = _PACKED.size + 8 * size
            sizes.append(size)
            lengths.append(length)
            digests.append(text[_PACKED.size : start])
            is_wide = len(text) - start > size
            counts.append(np.frombuffer(text, np.uint32 if is_wide else np.uint8, size, start))
        return _sorted(
            np.frombuffer(b"".join(digests), np.uint64),
            np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes),
            np.concatenate(counts).astype(np.uint32),
            np.array(lengths, np.uint32),
        )

    @classmethod
    def of_columns(cls, columns: Arrays) -> "Postings":
        """Read the result of `columns`."""
        return cls(**columns)

    def columns(self) -> Arrays:
        """Return the arrays to be written to a file."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def merged(cls, parts: Sequence["Postings"], places: Sequence[Places]) -> "Postings":
        """Return several parts as one, as `Payload.merged` says."""
        terms, owners, counts = [], [], []
        lengths = np.zeros(sum(int((new_places >= 0).sum()) for new_places in places), np.uint32)
        for part, new_places in zip(parts, places, strict=True):
            owner = new_places[part.owners]
            alive = owner >= 0
            terms.append(np.repeat(part.terms, np.diff(part.starts))[alive])
            owners.append(owner[alive].astype(np.uint32))
            counts.append(part.counts[part.cells[alive]])
            lengths[new_places[new_places >= 0]] = part.lengths[new_places >= 0]
        return _sorted(
            np.concatenate(terms), np.concatenate(owners), np.concatenate(counts), lengths
        )

    def slice_of(self, digest: int) -> slice:
        """Return the slice of `owners` and `cells` with a term's postings."""
        index = int(np.searchsorted(self.terms, np.uint64(digest)))
        if index == len(self.terms) or int(self.terms[index]) != digest:
            return slice(0, 0)
        return slice(int(self.starts[index]), int(self.starts[index + 1]))


WordView: TypeAlias = IndexView[Postings]

_PACKED = struct.Struct("<II")


def packed(terms: Sequence[str]) -> bytes:
    """Return the terms of one record as bytes for `Postings.of_packed`, 9 for each distinct term.

    They are the number of distinct terms and of all, the digests of the distinct ones, and the occurrences of each,
    a byte each unless one occurs more than 255 times.
    """
    counted = Counter(terms)
    digests = np.array([term_digest(term) for term in counted], np.uint64)
    counts = np.array(list(counted.values()), np.uint32)
    narrow = counts if counts.size and counts.max() > 255 else counts.astype(np.uint8)
    return _PACKED.pack(len(counted), len(terms)) + digests.tobytes() + narrow.tobytes()


def match(
    view: WordView, conditions: ColumnConditions, terms: Sequence[str], limit: int
) -> list[Candidate]:
    """Rank the records that hold any of the terms by BM25 (Robertson and Zaragoza 2009); ties by id.

    A term that is named twice counts twice. The rarest terms are added first. Once the remaining terms alone
    cannot reach the scores of enough records, other records are dropped, which changes no
    result (Turtle and Flood 1995, "Query evaluation: strategies and optimizations").
    """
    parts = [_Part(layer, conditions) for layer in view.layers]
    records = sum(part.records for part in parts)
    length = sum(part.length for part in parts)
    if limit < 1 or not records or not length:
        return []
    for part in parts:
        part.prepare(length / records)
    weighted = _weighted(parts, terms, records)
    rest = [*accumulate((idf * (K1 + 1) for idf, _ in reversed(weighted)), initial=0.0)][::-1]
    least = 0.0
    for index, (idf, digest) in enumerate(weighted):
        if least <= rest[index]:
            least = _least_of_best(parts, limit)
        for part in parts:
            if least > rest[index]:
                part.narrow(least - rest[index] - _ROUNDING)
            part.add(digest, idf)
    return _best(parts, limit)


def holding_words(
    view: WordView, conditions: ColumnConditions, words: Sequence[Sequence[str]]
) -> list[set[str]]:
    """Return for each word the ids of the records that meet the conditions and have any of its terms."""
    held: list[set[str]] = [set() for _ in words]
    for layer in view.layers:
        postings, places = layer.block.payload, layer.places(conditions)
        if places is None:
            places = np.arange(len(layer.block))
        for found, terms in zip(held, words, strict=True):
            for term in terms:
                owners = postings.owners[postings.slice_of(term_digest(term))]
                ids = layer.block.ids[places[_common(owners, places)[1]]].tolist()
                found.update(id.decode("utf-8", "surrogatepass") for id in ids)
    return held


def idf(records: int, holding: int) -> float:
    """Return the inverse document frequency of a term that `holding` of the `records` hold; it is above 0.

    The formula is that of Lucene's BM25: ln(1 + (N − n + 0.5) / (n + 0.5)).
    """
    return math.log1p((records - holding + 0.5) / (holding + 0.5))


def per_word(found: list[Candidate], query: TextQuery) -> list[Candidate]:
    """Return candidates with their scores divided by the number of terms for each word of the query."""
    if query.forms == 1:
        return found
    return [Candidate(each.id, each.score / query.forms) for each in found]


def term_checksums(view: WordView) -> Iterator[tuple[bytes, int]]:
    """Yield each live record's id with a checksum of its terms, their counts and its length."""
    for layer in view.layers:
        block, postings, dead = layer.block, layer.block.payload, layer.dead
        sums = postings.lengths.astype(np.uint64)
        counts = postings.counts.astype(np.uint64)[postings.cells]
        np.add.at(
            sums, postings.owners, np.repeat(postings.terms, np.diff(postings.starts)) * counts
        )
        for row, (id, digest) in enumerate(zip(block.ids.tolist(), sums.tolist(), strict=True)):
            if dead is None or not dead[row]:
                yield id, digest


class _Part:
    """The scores of the records of one layer that meet the conditions, while the terms are added."""

    def __init__(self, layer: Layer[Postings], conditions: ColumnConditions) -> None:
        self._ids = layer.block.ids
        self._postings = layer.block.payload
        self._passing = None if conditions.ids is not None else layer.mask(conditions)
        dead = None if layer.dead is None else np.flatnonzero(layer.dead)
        self._dead = dead
        # `_places` are the positions of the records of `_scores`; None if all records of the layer have a score.
        self._places: Places | None = np.empty(0, np.intp)
        self._scores: Scores = np.empty(0)
        self._is_closed = False
        self._weights: Scores = np.empty(0)
        self.records = layer.alive
        self.length = int(self._postings.length[0])
        if dead is not None:
            self.length -= int(self._postings.lengths[dead].sum(dtype=np.int64))
        if conditions.ids is not None:
            self._keep_to(layer.places_among(conditions.ids, conditions))
        elif self._passing is not None and np.count_nonzero(self._passing) <= _FEW:
            self._keep_to(np.flatnonzero(self._passing))

    def holding(self, digest: int) -> int:
        """Return the number of live records that hold a term."""
        owners = self._postings.owners[self._postings.slice_of(digest)]
        return len(owners) - (0 if self._dead is None else len(_common(owners, self._dead)[0]))

    def prepare(self, mean: float) -> None:
        """Compute BM25's weight of a term in each cell: tf · (k₁ + 1) / (tf + k₁ · (1 − b + b · length / mean))."""
        frequency, lengths = self._postings.counts.astype(np.float64), self._postings.totals
        self._weights = frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * lengths / mean))

    def add(self, digest: int, idf: float) -> None:
        """Add a term to the scores: its idf times its weight in the cells of its postings."""
        postings, of_cell = self._postings.slice_of(digest), idf * self._weights
        owners, cells = self._postings.owners[postings], self._postings.cells[postings]
        if self._places is not None and not self._is_closed:
            self._make_room(owners)
        if self._places is None:
            self._scores[owners] += of_cell[cells]
        else:
            held, places = _common(owners, self._places)
            self._scores[places] += of_cell[cells[held]]

    def narrow(self, least: float) -> None:
        """Drop the records that score less than this."""
        places, scores = self.scored(least)
        self._places, self._scores, self._passing = places, scores, None
        self._is_closed = True

    def scored(self, least: float = 0.0) -> tuple[Places, Scores]:
        """Return positions and scores of the records that meet the conditions and score > 0 and ≥ `least`."""
        enough = self._scores > 0
        if least > 0:
            enough &= self._scores >= least
        if self._passing is not None:
            enough &= self._passing if self._places is None else self._passing[self._places]
        rows = np.flatnonzero(enough)
        return rows if self._places is None else self._places[rows], self._scores[rows]

    def bound(self) -> Scores:
        """Return scores of which the n-th best, for any n, is a lower bound of the n-th best of all: the best of each chunk."""
        if self._places is not None or self._passing is not None:
            return self.scored()[1]
        chunked = len(self._scores) // _CHUNK * _CHUNK
        best: Scores = self._scores[:chunked].reshape(-1, _CHUNK).max(axis=1)
        return best

    def ids(self, places: Places) -> NDArray[np.bytes_]:
        """Return the ids of the records at these positions."""
        return self._ids[places]

    def _keep_to(self, places: Places) -> None:
        """Score these records and no others."""
        self._places, self._scores = places, np.zeros(len(places))
        self._passing, self._is_closed = None, True

    def _make_room(self, owners: NDArray[np.uint32]) -> None:
        """Add a score of 0 for each of these records that has none."""
        assert self._places is not None
        before, scores = self._places, self._scores
        if not len(owners):
            return
        if len(before) + len(owners) <= min(_FEW, len(self._ids) // _FEW_SHARE):
            # Sorting is much quicker here than NumPy's union, which hashes.
            both = np.sort(np.concatenate([before, owners.astype(np.intp)]))
            self._places = both[np.flatnonzero(np.diff(both, prepend=-1))]
            self._scores = np.zeros(len(self._places))
            self._scores[np.searchsorted(self._places, before)] = scores
        else:
            self._places, self._scores = None, np.zeros(len(self._ids))
            self._scores[before] = scores


def _common(owners: NDArray[np.uint32], places: Places) -> tuple[Places, Places]:
    """Return the positions in `owners` and those in `places`, both ascending, of the numbers that both hold."""
    if len(owners) > len(places):
        second, first = _common(places, owners)  # type: ignore[arg-type]
        return first, second
    found = np.searchsorted(places, owners)
    found[found == len(places)] = 0
    held = np.flatnonzero(places[found] == owners) if len(places) else np.empty(0, np.intp)
    return held, found[held]


def _weighted(
    parts: Sequence[_Part], terms: Sequence[str], records: int
) -> list[tuple[float, int]]:
    """Return the weight and digest of each term that any record holds, the rarest first."""
    weighted = []
    for term, times in Counter(terms).items():
        digest = term_digest(term)
        held = sum(part.holding(digest) for part in parts)
        if held:
            weighted.append((held, times * idf(records, held), digest))
    return [(weight, digest) for _, weight, digest in sorted(weighted)]


def _least_of_best(parts: Sequence[_Part], limit: int) -> float:
    """Return a lower bound of the limit-th best score, 0 if fewer records score."""
    return _limit_best([part.bound() for part in parts], limit)


def _limit_best(scores: Sequence[Scores], limit: int) -> float:
    everything = np.concatenate(scores)
    if len(everything) < limit:
        return 0.0
    return float(np.partition(everything, len(everything) - limit)[len(everything) - limit])


def _best(parts: Sequence[_Part], limit: int) -> list[Candidate]:
    likely = [part.scored(_least_of_best(parts, limit)) for part in parts]
    least = _limit_best([scores for _, scores in likely], limit)
    found: list[tuple[float, bytes]] = []
    for part, (places, scores) in zip(parts, likely, strict=True):
        candidates = np.flatnonzero(scores >= least)
        # Positions are in the order of ids, so a stable sort keeps the first by id of equal scores.
        order = candidates[np.argsort(-scores[candidates], kind="stable")[:limit]]
        found += zip((-scores[order]).tolist(), part.ids(places[order]).tolist(), strict=True)
    return [
        Candidate(id.decode("utf-8", "surrogatepass"), -negative)
        for negative, id in sorted(found)[:limit]
    ]


def _sorted(
    terms: NDArray[np.uint64],
    owners: NDArray[np.uint32],
    counts: NDArray[np.uint32],
    lengths: NDArray[np.uint32],
) -> Postings:
    order = np.lexsort((owners, terms))
    terms, owners, counts = terms[order], owners[order], counts[order]
    firsts = np.flatnonzero(np.diff(terms, prepend=~terms[:1]))
    width = int(lengths.max(initial=0)) + 1
    pairs, cells = _numbered(counts.astype(np.int64) * width + lengths[owners])
    return Postings(
        terms=terms[firsts],
        starts=np.append(firsts, len(terms)).astype(np.int64),
        owners=owners,
        cells=cells,
        counts=(pairs // width).astype(np.uint32),
        totals=(pairs % width).astype(np.uint32),
        lengths=lengths,
        length=lengths.sum(dtype=np.int64, keepdims=True),
    )


def _numbered(
    keys: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]]:
    """Return the distinct keys, ascending, and for each key its number among them."""
    most = int(keys.max(initial=0)) + 1
    if most > _MANY_CELLS:
        different, numbers = np.unique(keys, return_inverse=True)
    else:
        occurs = np.zeros(most, np.bool_)
        occurs[keys] = True
        different = np.flatnonzero(occurs)
        numbers = (np.cumsum(occurs) - 1)[keys]
    return different, numbers.astype(np.min_scalar_type(len(different)))


@lru_cache(maxsize=1 << 16)
def term_digest(term: str) -> int:
    """Return a 64-bit hash of a term: two of ten million terms collide with a chance of 1 in 400,000."""
    text = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
