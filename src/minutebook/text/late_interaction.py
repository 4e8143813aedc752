"""Compare a question and a text token by token: each token of the question with its best match.

The score is the weighted mean, over the tokens of the question, of the greatest cosine with a token of the text, between
the last hidden states of the embedding model: Khattab and Zaharia (2020, "ColBERT") take the sum. The states of a stored
text are turned by a fixed random rotation and only the signs of their coordinates are kept, one bit a dimension; those of a
question keep their numbers. Measured in docs/decisions/0027-late-interaction-and-relevance.md.

A packed text has one or two sections: its tokens by the multilingual model and, if it is in English, its tokens by the
English model. The second section is compared with English questions alone.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutebook.text.binary_codes import rotated

Floats = NDArray[np.float32]
Signs = NDArray[np.uint8]
Pieces = NDArray[np.uint8]
Places = NDArray[np.int64]

FORM, EARLIER_FORM = "signs 2", "signs 1"
"""Names of the format of packed states, now and in earlier releases. The earlier one is read, too, and replaced in time."""

PRIOR = 200
"""The weight of the general frequency of word pieces, as a number of texts, beside that in the compared texts."""

WHOLE = 1024
"""The most tokens of two texts that `likeness` compares as wholes: 6 MB of floats at most."""

WINDOW = 256
"""Tokens of a window of a longer text that `likeness` compares."""

SAMPLES = 8
"""How many windows, evenly spread over a longer text, `likeness` compares."""

TOKENS_OF_A_TEXT = 30
"""The length, in tokens, that texts are taken to have when the general frequency of a piece is turned into texts with it."""

EXPONENT, EXPONENT_OF_ENGLISH = 1.5, 1.0
"""Exponents of a piece's rareness in its weight: for the multilingual model and for the English one."""

OTHER_SCORE = (-0.160, 0.913, 0.274)
"""Weights of the score of a text: of a constant, of late interaction, of the cosine of the vectors."""

ENGLISH_SCORE = (-0.103, 0.189, 0.379, 0.379)
"""The same if question and text are in English: a constant, late interaction by the multilingual and the English model, cosine."""

_HEADER = struct.Struct("<BHII")
HEAD = _HEADER.size
"""Bytes of the header of a packed text: version, bytes of signs a token, tokens of either section."""

_VERSION, _EARLIER_VERSION = 2, 1
_EARLIER_HEADER = struct.Struct("<BHI")
_PIECE_BYTES = 3
_PLACES = np.array([1, 1 << 8, 1 << 16], np.uint32)
_AT_ONCE = 128
"""How many tokens are unpacked at once: their floats stay in the cache of a core."""
_STEPS = 4
"""The length, in steps, of the run of tokens for which `best_part` looks."""
_STRETCH = 8192
"""How many tokens are compared with a question at once: 16 MB of floats for a long question."""
_STEP = WINDOW // 2
_LEAST_WEIGHT = 1e-6
_LEAST_SHARE = 0.05
"""The least weight, relative to the heaviest, of a token of a question that is compared with texts."""


@dataclass(frozen=True, slots=True)
class TokenStates:
    """The tokens of a text by a model.

    `pieces` are the ids of the word pieces, (tokens,); `surprise` is −log of a piece's general frequency, (tokens,), 0 for
    a piece without a letter or digit, which says nothing; `states` are the states less the model's mean state,
    (tokens, dimensions).
    """

    pieces: NDArray[np.int32]
    surprise: Floats
    states: Floats

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The three arrays: pieces, surprise, states."""
        return self.pieces, self.surprise, self.states


@dataclass(frozen=True, slots=True)
class SignedTokens:
    """The tokens of a stored text, as in `TokenStates`, with the signs of their states, (tokens, dimensions / 8)."""

    pieces: NDArray[np.int32]
    surprise: Floats
    signs: Signs

    @property
    def kept(self) -> tuple[Pieces, Signs]:
        """The pieces, in three bytes each (tokens, 3), and the signs of the tokens that say something; of all, if none does."""
        telling = _telling(self.surprise)
        narrow = self.pieces[telling].astype("<u4").view(np.uint8).reshape(-1, 4)
        return narrow[:, :_PIECE_BYTES], self.signs[telling]


def signs_of(states: Floats) -> Signs:
    """Return the signs of states (tokens, d) after the fixed rotation, as bits: (tokens, d / 8)."""
    signs: Signs = np.packbits(rotated(states) >= 0, axis=1)
    return signs


def pack(tokens: SignedTokens, english: SignedTokens | None = None) -> bytes:
    """Pack the tokens of a stored text by the multilingual model, and for an English text those by the English model.

    After the header each section has its pieces, three bytes each, then its signs, d / 8 bytes each. Tokens that say
    nothing are left out, unless there are no others.
    """
    sections = [each.kept for each in (tokens, english) if each is not None]
    counts = [len(signs) for _, signs in sections]
    header = _HEADER.pack(_VERSION, tokens.signs.shape[1], counts[0], sum(counts[1:]))
    return header + b"".join(array.tobytes() for section in sections for array in section)


def likeness(one: bytes, other: bytes) -> float:
    """Return how much two packed texts say the same, in [0, 1]; 0 if either has no token.

    That is the mean of the greatest cosine of each token with a token of the other text, and the lesser of both
    directions, so that a text is not like one that has all of it and more. If either has more than WHOLE tokens, only
    SAMPLES windows of each are compared, each with the nearest place of the other.
    """
    (_, ours), (_, theirs) = _unpack(one), _unpack(other)
    if not len(ours) or not len(theirs):
        return 0.0
    if max(len(ours), len(theirs)) <= WHOLE:
        cosines = _likenesses(ours, theirs)
        return float(min(cosines.max(axis=1).mean(), cosines.max(axis=0).mean()))
    return min(_share_found(ours, theirs), _share_found(theirs, ours))


def _share_found(text: Signs, other: Signs) -> float:
    """Return the mean, over windows of a text, of the greatest cosines of their tokens with the nearest place of another."""
    digests = _digests(other)
    starts = {
        step * _STEP for step in np.linspace(0, _steps(text) - 1, SAMPLES).astype(int).tolist()
    }
    means = []
    for start in sorted(starts):
        window = text[start : start + WINDOW]
        digest = _digests(window)[0]
        first = int(np.argmax(digests @ digest)) * _STEP
        # The best match may begin between two steps of the other text.
        place = other[max(0, first - _STEP) : first + WINDOW + _STEP]
        means.append(_likenesses(window, place).max(axis=1).mean())
    return float(np.mean(means))


def _steps(signs: Signs) -> int:
    """Return how many windows a text has, if each begins _STEP tokens after the one before it."""
    return max(1, -(-(len(signs) - WINDOW) // _STEP) + 1)


def _digests(signs: Signs) -> Floats:
    """Return for each window of a text the sum of its signs as a unit vector, (windows, dimensions)."""
    sums = [
        2 * np.unpackbits(part, axis=1).sum(axis=0, dtype=np.float32) - len(part)
        for part in np.split(signs, range(_STEP, len(signs), _STEP))
    ]
    sums += [np.zeros_like(sums[0])] * (WINDOW // _STEP)
    windows = [sum(sums[at : at + WINDOW // _STEP]) for at in range(_steps(signs))]
    sums_of_windows = np.array(windows, np.float32)
    lengths = np.linalg.norm(sums_of_windows, axis=1, keepdims=True)
    digests: Floats = sums_of_windows / np.maximum(lengths, 1)
    return digests


def _likenesses(ours: Signs, theirs: Signs) -> Floats:
    """Return the cosine of each token of a text with each of another, at least 0, (ours, theirs)."""
    left, right = (
        2 * np.unpackbits(signs, axis=1).astype(np.float32) - 1 for signs in (ours, theirs)
    )
    cosines: Floats = np.maximum(left @ right.T / np.float32(left.shape[1]), 0)
    return cosines


def whole(packed: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return those packed texts, by id, that have tokens and are not damaged."""
    return {id: each for id, each in packed.items() if is_whole(each[:HEAD], len(each))}


def is_whole(head: bytes, size: int) -> bool:
    """Tell whether a packed text has tokens and is complete, by its first HEAD bytes and its `size` in bytes."""
    if len(head) < HEAD or head[0] not in (_VERSION, _EARLIER_VERSION):
        return False
    start, width, count, english = _read_header(head)
    return bool(count and size == start + (count + english) * (_PIECE_BYTES + width))


def unpacked(packed: bytes, most: int) -> tuple[NDArray[np.int32], Floats]:
    """Return the ids of the first `most` pieces of a packed text, (tokens,), and their states as unit rows of signs, (tokens, d).

    The floats of a text of 100 KB would take 40 MB, and three times as much while they are made.
    """
    pieces, signs = (each[:most] for each in _unpack(packed))
    ids: NDArray[np.int32] = pieces.astype(np.int32) @ np.array([1, 1 << 8, 1 << 16], np.int32)
    rows = 2 * np.unpackbits(signs, axis=1).astype(np.float32) - 1
    return ids, rows / np.float32(np.sqrt(max(1, rows.shape[1])))


def mean_state(packed: bytes, most: int) -> Floats | None:
    """Return the mean of the first `most` states of a packed text as a unit vector, (d,); None if the text has no token."""
    _, signs = _unpack(packed)
    if not len(signs):
        return None
    mean = 2 * np.unpackbits(signs[:most], axis=1).mean(axis=0, dtype=np.float32) - 1
    unit: Floats = mean / max(float(np.linalg.norm(mean)), np.finfo(np.float32).tiny)
    return unit


class Question:
    """A question, ready to be compared with packed texts; `english` has its tokens by the English model, if it is in English."""

    def __init__(self, tokens: TokenStates, english: TokenStates | None = None) -> None:
        self._asked = _AskedTokens(tokens, EXPONENT)
        self._english = None if english is None else _AskedTokens(english, EXPONENT_OF_ENGLISH)

    @property
    def tokens(self) -> tuple[NDArray[np.int32], Floats]:
        """The ids of its pieces, (tokens,), and their states as unit rows of signs, (tokens, d), as `unpacked` returns those of a text."""
        return self._asked.tokens

    def scores(self, packed: Sequence[bytes], cosines: Floats) -> Floats:
        """Return the score of each packed text, (texts,), on the scale of `late`; 0 for a text without a token.

        `cosines` are those of the vectors of the texts with the question's, (texts,).
        """
        own, english = _joined(packed)
        ones, late = np.ones(len(packed), np.float32), self._asked.late(own)
        scores = np.dot(OTHER_SCORE, [ones, late, cosines])
        if self._english is not None:
            of_english = self._english.late(english)
            scored_both = np.dot(ENGLISH_SCORE, [ones, late, of_english, cosines])
            scores = np.where(english.counts > 0, scored_both, scores)
        scored: Floats = np.where(own.counts > 0, scores, 0).astype(np.float32)
        return scored

    def late(self, packed: Sequence[bytes]) -> Floats:
        """Return the late interaction with each packed text, (texts,), in about [0, 1]; 0 for a text without a token."""
        return self._asked.late(_joined(packed)[0])

    def best_part(self, packed: bytes, tokens: int) -> tuple[float, float]:
        """Return where the best run of about `tokens` tokens begins and ends, as shares of a packed text in [0, 1].

        (0, 1), the whole text, if it has no token, or no more than `tokens`.
        """
        return self._asked.best_part(_unpack(packed), tokens)


class _AskedTokens:
    """The tokens of a question by one model; a token's weight is its rareness raised to `exponent`."""

    def __init__(self, tokens: TokenStates, exponent: float) -> None:
        self._exponent = exponent
        telling = _telling(tokens.surprise)
        self._pieces = tokens.pieces[telling]
        self._surprise = tokens.surprise[telling]
        turned = rotated(tokens.states[telling])
        lengths = np.linalg.norm(turned, axis=1, keepdims=True)
        self._rows: Floats = turned / np.maximum(lengths, np.finfo(np.float32).tiny)

    @property
    def tokens(self) -> tuple[NDArray[np.int32], Floats]:
        """The ids of the pieces, (tokens,), and their states as unit rows of signs, (tokens, d)."""
        signs: Floats = np.where(self._rows >= 0, np.float32(1), np.float32(-1))
        return self._pieces, signs / np.float32(np.sqrt(max(1, signs.shape[1])))

    def late(self, texts: "_JoinedTexts") -> Floats:
        """Return the late interaction with each text, (texts,): the weighted mean of each token's greatest cosine.

        A token weighs less the more of these texts have its piece and, if the texts are few, the more frequent the piece
        is in general.
        """
        if not len(self._pieces) or not len(texts.signs):
            return np.zeros(len(texts.counts), np.float32)
        weights = self._weights(texts)
        heavy = weights >= _LEAST_SHARE * weights.max()
        weights = weights[heavy] / weights[heavy].sum()
        best = np.zeros((len(texts.counts), len(weights)), np.float32)
        for some, owners, starts in texts.stretches():
            cosines = _cosines(self._rows[heavy], texts.signs[some])
            best[owners] = np.maximum(best[owners], np.maximum.reduceat(cosines, starts, axis=0))
        # `@` would report what a kernel computes in lanes that it does not use.
        scores: Floats = np.dot(best, weights)
        return scores

    def best_part(self, text: tuple[Pieces, Signs], tokens: int) -> tuple[float, float]:
        """Return where the best run of about `tokens` tokens begins and ends, as shares of a text in [0, 1]."""
        pieces, signs = text
        if len(signs) <= tokens or not len(self._pieces):
            return 0.0, 1.0
        step = max(1, tokens // _STEPS)
        stretch = step * max(1, _STRETCH // step)
        best = np.vstack(
            [
                np.maximum.reduceat(_cosines(self._rows, some), range(0, len(some), step), axis=0)
                for some in np.split(signs, range(stretch, len(signs), stretch))
            ]
        )
        padded = np.vstack([best, np.full((_STEPS - 1, best.shape[1]), -1, np.float32)])
        runs = np.max([padded[at : at + len(best)] for at in range(_STEPS)], axis=0)
        weights = self._weights(_JoinedTexts(np.array([len(pieces)]), pieces, signs))
        first = int((np.maximum(runs, 0) @ weights).argmax()) * step
        return first / len(signs), min(1.0, (first + tokens) / len(signs))

    def _weights(self, texts: "_JoinedTexts") -> Floats:
        """Return the weights of the question's tokens, (tokens,), of sum 1, by how many of these texts have each piece."""
        has_piece = np.zeros((len(texts.counts), len(self._pieces)), np.bool_)
        for some, owners, starts in texts.stretches():
            own = texts.pieces[some].astype("<u4") @ _PLACES
            is_same = own[:, None] == self._pieces
            has_piece[owners] |= np.logical_or.reduceat(is_same, starts, axis=0)
        texts_with_piece = has_piece.sum(axis=0)
        expected = np.minimum(1, TOKENS_OF_A_TEXT * np.exp(-self._surprise))
        rareness = np.log(
            (len(texts.counts) + PRIOR + 1) / (texts_with_piece + PRIOR * expected + 0.5)
        )
        weights = np.maximum(rareness, 0) ** self._exponent + _LEAST_WEIGHT
        scaled: Floats = (weights / weights.sum()).astype(np.float32)
        return scaled


@dataclass(frozen=True, slots=True)
class _JoinedTexts:
    """The tokens of texts by one model in one array each, text after text; `counts`, (texts,), has the tokens of each."""

    counts: Places
    pieces: Pieces
    signs: Signs

    def stretches(self) -> Iterator[tuple[slice, Places, Places]]:
        """Yield runs of at most _STRETCH tokens, each as three parts.

        These are the slice of the tokens, the numbers of the texts with tokens in it, and for each of these where in the
        slice it begins. A text that is longer than a run is in several.
        """
        owners = np.flatnonzero(self.counts)
        ends = np.cumsum(self.counts[owners])
        starts = ends - self.counts[owners]
        for at in range(0, len(self.signs), _STRETCH):
            some = slice(np.searchsorted(ends, at, "right"), np.searchsorted(starts, at + _STRETCH))
            yield slice(at, at + _STRETCH), owners[some], np.maximum(starts[some] - at, 0)


def _joined(packed: Sequence[bytes]) -> tuple[_JoinedTexts, _JoinedTexts]:
    """Return the tokens of packed texts by the multilingual model, and those by the English model, which few or none may have."""
    headers = [_read_header(each) for each in packed]
    width = max((width for _, width, _, _ in headers), default=0)
    counts = np.array([each[2:] for each in headers], np.int64).reshape(-1, 2)
    parts: tuple[list[bytes], ...] = ([], [], [], [])
    for each, (start, _, own, english) in zip(packed, headers, strict=True):
        for place, size in enumerate((own * _PIECE_BYTES, own * width, english * _PIECE_BYTES)):
            parts[place].append(each[start : start + size])
            start += size
        parts[3].append(each[start : start + english * width])

    def texts(model: int) -> _JoinedTexts:
        total = int(counts[:, model].sum())
        pieces, signs = (np.frombuffer(b"".join(each), np.uint8) for each in parts[2 * model :][:2])
        shaped = pieces.reshape(total, _PIECE_BYTES), signs.reshape(total, width)
        return _JoinedTexts(counts[:, model], *shaped)

    return texts(0), texts(1)


def _cosines(rows: Floats, signs: NDArray[np.uint8]) -> Floats:
    """Return the cosine of each token of a text, (n, d / 8) signs, with each unit row of a question, (rows, d): (n, rows)."""
    found = np.empty((len(signs), len(rows)), np.float32)
    # Σ ±q = 2 Σ (bits · q) − Σ q, and a row of d signs is √d long.
    scale = np.float32(1 / np.sqrt(rows.shape[1]))
    doubled = np.ascontiguousarray(2 * scale * rows.T)
    # One array for all rounds: to allocate floats anew each time costs more than the product.
    floats = np.empty((_AT_ONCE, rows.shape[1]), np.float32)
    for start in range(0, len(signs), _AT_ONCE):
        some = signs[start : start + _AT_ONCE]
        bits = floats[: len(some)]
        bits[:] = np.unpackbits(some, axis=1)
        np.dot(bits, doubled, found[start : start + len(some)])
    found -= scale * rows.sum(axis=1)
    return found


def _telling(surprise: Floats) -> NDArray[np.bool_]:
    """Return for each token whether it says something, (tokens,); True for all, if none does."""
    telling = surprise > 0
    return telling if telling.any() else np.ones_like(telling)


def _unpack(packed: bytes) -> tuple[Pieces, Signs]:
    """Return the pieces, (tokens, 3), and signs, (tokens, d / 8), of a packed text; no tokens for no bytes."""
    own, _ = _joined([packed])
    return own.pieces, own.signs


def _read_header(packed: bytes) -> tuple[int, int, int, int]:
    """Return where the tokens begin, the bytes of the signs of a token, and the number of tokens by either model."""
    if not packed:
        return 0, 0, 0, 0
    if packed[0] == _EARLIER_VERSION:
        _, width, count = _EARLIER_HEADER.unpack_from(packed)
        return _EARLIER_HEADER.size, width, count, 0
    _, width, count, english = _HEADER.unpack_from(packed)
    return HEAD, width, count, english
