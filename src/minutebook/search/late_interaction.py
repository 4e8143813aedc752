"""Compare a question and a text token by token: each token of the question with its best match.

The score is the sum of maximal similarities of Khattab and Zaharia (2020, "ColBERT"), over the last
hidden states of the embedding model, as a weighted mean. A state of a stored text is turned by
a fixed random rotation and kept as the signs of its coordinates, one bit a dimension; a
question's stay as they are. Measured in docs/decisions/0027-late-interaction-and-relevance.md.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutebook.search.binary_codes import rotated

Floats = NDArray[np.float32]

FORM = "signs 1"
"""Names how states are packed; states of another form are made again."""

PRIOR = 200
"""How many texts the general frequency of word pieces counts for, beside those that are compared."""

TOKENS_OF_A_TEXT = 30
"""The length of a text in which a word piece is expected as often as it is said in general."""

EXPONENT = 1.5
"""What a piece's rareness is raised to for its weight."""

_HEADER = struct.Struct("<BHI")
HEAD = _HEADER.size
"""Bytes at the beginning of a packed text that say how long it is."""

_VERSION = 1
_PIECE_BYTES = 3
_AT_ONCE = 128
"""Tokens that are unpacked at once: their floats stay in the cache of a core."""
_STEPS = 4
"""How many steps the run that matches best is long, where it is looked for step by step."""
_LEAST_WEIGHT = 1e-6
_LEAST_SHARE = 0.05
"""What a token of a question weighs at least, beside the heaviest, to be compared with texts."""


@dataclass(frozen=True, slots=True)
class TokenStates:
    """The tokens of a text: word pieces, how much each says, and what a model makes of them.

    `surprise` is −log of a piece's general frequency; 0 for a piece without a letter or digit,
    which says nothing.
    """

    pieces: NDArray[np.int32]
    """Ids, shape (tokens,)."""
    surprise: Floats
    """Shape (tokens,)."""
    states: Floats
    """States less the model's mean state, shape (tokens, dimensions)."""

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All that it consists of."""
        return self.pieces, self.surprise, self.states


def pack(tokens: TokenStates) -> bytes:
    """Pack the tokens of a text to be found: pieces of three bytes and signs, d / 8 bytes each.

    Tokens that say nothing are left out, unless there are no others.
    """
    weighty = _telling(tokens)
    signs = np.packbits(rotated(weighty.states) >= 0, axis=1)
    pieces = weighty.pieces.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :_PIECE_BYTES]
    header = _HEADER.pack(_VERSION, signs.shape[1], len(signs))
    return header + pieces.tobytes() + signs.tobytes()


def likeness(one: bytes, other: bytes) -> float:
    """Compare two packed texts both ways, in [0, 1]: the lesser mean of their tokens' best cosines.

    The lesser, so that a text that holds all of another and more is not like it.
    """
    (_, ours), (_, theirs) = _unpack(one), _unpack(other)
    if not len(ours) or not len(theirs):
        return 0.0
    left, right = (
        2 * np.unpackbits(signs, axis=1).astype(np.float32) - 1 for signs in (ours, theirs)
    )
    cosines = np.maximum(left @ right.T / np.float32(left.shape[1]), 0)
    return float(min(cosines.max(axis=1).mean(), cosines.max(axis=0).mean()))


def whole(packed: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the packed texts, by id, that have tokens and are as `pack` makes them."""
    return {id: each for id, each in packed.items() if is_whole(each[:HEAD], len(each))}


def is_whole(head: bytes, size: int) -> bool:
    """Tell whether a packed text of so many bytes, the first HEAD of which are given, has tokens and all of each."""
    if len(head) < HEAD:
        return False
    version, width, count = _HEADER.unpack(head)
    return bool(version == _VERSION and count and size == HEAD + count * (_PIECE_BYTES + width))


class Question:
    """The tokens of a question, made ready to be compared with any number of texts."""

    def __init__(self, tokens: TokenStates) -> None:
        weighty = _telling(tokens)
        self._pieces = weighty.pieces
        self._surprise = weighty.surprise
        turned = rotated(weighty.states)
        lengths = np.linalg.norm(turned, axis=1, keepdims=True)
        self._rows: Floats = turned / np.maximum(lengths, np.finfo(np.float32).tiny)

    def scores(self, packed: Sequence[bytes]) -> Floats:
        """Score packed texts, shape (texts,), in about [0, 1]; 0 for one without a token.

        A token's weight falls with how many of these texts hold its piece, and with how frequent
        the piece is in general where these are few.
        """
        scores = np.zeros(len(packed), np.float32)
        lengths, pieces, signs = _unpack_all(packed)
        filled = np.flatnonzero(lengths)
        if not len(filled) or not len(self._pieces):
            return scores
        starts = np.concatenate([[0], np.cumsum(lengths[filled])[:-1]])
        weights = self._weights(pieces, starts, len(packed))
        heavy = weights >= _LEAST_SHARE * weights.max()
        weights = weights[heavy] / weights[heavy].sum()
        best = np.maximum.reduceat(_cosines(self._rows[heavy], signs), starts, axis=0)
        scores[filled] = np.maximum(best, 0) @ weights
        return scores

    def best_part(self, packed: bytes, tokens: int) -> tuple[float, float]:
        """Return where the run of about `tokens` tokens that matches best begins and ends, as shares of a packed text.

        That is the whole of a text without a token, or of one that is no longer.
        """
        pieces, signs = _unpack(packed)
        if len(signs) <= tokens or not len(self._pieces):
            return 0.0, 1.0
        step = max(1, tokens // _STEPS)
        starts = np.arange(0, len(signs), step)
        best = np.maximum.reduceat(_cosines(self._rows, signs), starts, axis=0)
        padded = np.vstack([best, np.full((_STEPS - 1, best.shape[1]), -1, np.float32)])
        runs = np.max([padded[at : at + len(best)] for at in range(_STEPS)], axis=0)
        weights = self._weights(pieces, np.zeros(1, np.int64), 1)
        first = int((np.maximum(runs, 0) @ weights).argmax()) * step
        return first / len(signs), min(1.0, (first + tokens) / len(signs))

    def _weights(self, pieces: NDArray[np.uint32], starts: NDArray[np.int64], texts: int) -> Floats:
        """Return the weights of the question's tokens, shape (tokens,), sum 1."""
        held = np.logical_or.reduceat(pieces[:, None] == self._pieces, starts, axis=0).sum(axis=0)
        expected = np.minimum(1, TOKENS_OF_A_TEXT * np.exp(-self._surprise))
        rareness = np.log((texts + PRIOR + 1) / (held + PRIOR * expected + 0.5))
        weights = np.maximum(rareness, 0) ** EXPONENT + _LEAST_WEIGHT
        scaled: Floats = (weights / weights.sum()).astype(np.float32)
        return scaled


def _cosines(rows: Floats, signs: NDArray[np.uint8]) -> Floats:
    """Return the cosine of each text token with each unit row of a question, (n, rows)."""
    found = np.empty((len(signs), len(rows)), np.float32)
    # Σ ±q = 2 Σ (bits · q) − Σ q, and a row of d signs is √d long.
    scale = np.float32(1 / np.sqrt(rows.shape[1]))
    doubled = np.ascontiguousarray(2 * scale * rows.T)
    # One place for all: floats that are allocated anew each time cost more than the product.
    floats = np.empty((_AT_ONCE, rows.shape[1]), np.float32)
    for start in range(0, len(signs), _AT_ONCE):
        some = signs[start : start + _AT_ONCE]
        bits = floats[: len(some)]
        bits[:] = np.unpackbits(some, axis=1)
        np.dot(bits, doubled, found[start : start + len(some)])
    found -= scale * rows.sum(axis=1)
    return found


def _telling(tokens: TokenStates) -> TokenStates:
    telling = tokens.surprise > 0
    if telling.all() or not telling.any():
        return tokens
    return TokenStates(tokens.pieces[telling], tokens.surprise[telling], tokens.states[telling])


def _unpack(packed: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return the pieces (tokens,) and the packed signs (tokens, d / 8) of a text; no bytes, no tokens."""
    _, pieces, signs = _unpack_all([packed])
    return pieces, signs


def _unpack_all(
    packed: Sequence[bytes],
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint8]]:
    """Return how many tokens each text has, and all their pieces and packed signs, text by text."""
    headers = [_HEADER.unpack_from(each) if each else (_VERSION, 0, 0) for each in packed]
    lengths = np.array([count for _, _, count in headers], np.int64)
    first = HEAD
    middles = (first + _PIECE_BYTES * lengths).tolist()
    narrow = b"".join(each[first:middle] for each, middle in zip(packed, middles, strict=True))
    signs = b"".join(each[middle:] for each, middle in zip(packed, middles, strict=True))
    pieces = np.zeros((int(lengths.sum()), 4), np.uint8)
    pieces[:, :_PIECE_BYTES] = np.frombuffer(narrow, np.uint8).reshape(-1, _PIECE_BYTES)
    width = max((width for _, width, _ in headers), default=0)
    return (
        lengths,
        pieces.view("<u4").ravel(),
        np.frombuffer(signs, np.uint8).reshape(len(pieces), width),
    )
