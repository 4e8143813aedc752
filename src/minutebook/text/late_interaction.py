"""Compare a question and a text token by token: each token of the question with its best match.

The score is the sum of maximal similarities of Khattab and Zaharia (2020, "ColBERT"), over the last
hidden states of the embedding model, as a weighted mean. A state of a stored text is turned by
a fixed random rotation and kept as the signs of its coordinates, one bit a dimension; a
question's stay as they are. Measured in docs/decisions/0027-late-interaction-and-relevance.md.

A text has one or two sections: its tokens by the model of every language, and, if it is in English,
by the model of English. The second is compared with English questions alone.
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
"""Names how states are packed, now and in earlier releases, whose states are read, too, and made again."""

PRIOR = 200
"""How many texts the general frequency of word pieces counts for, beside those that are compared."""

WHOLE = 1024
"""Tokens up to which two texts are compared as wholes: 6 MB of floats at most."""

WINDOW = 256
"""Tokens of a window of a longer text."""

SAMPLES = 8
"""How many windows of a longer text are compared, evenly spread over it."""

TOKENS_OF_A_TEXT = 30
"""The length of a text in which a word piece is expected as often as it is said in general."""

EXPONENT, EXPONENT_OF_ENGLISH = 1.5, 1.0
"""What a piece's rareness is raised to for its weight, by the model of every language and by that of English."""

OTHER_SCORE = (-0.160, 0.913, 0.274)
"""Weights of a score, unless question and text are in English: a constant, late interaction, cosine."""

ENGLISH_SCORE = (-0.103, 0.189, 0.379, 0.379)
"""The same if both are: a constant, late interaction by the model of every language, by that of English, cosine."""

_HEADER = struct.Struct("<BHII")
HEAD = _HEADER.size
"""Bytes at the beginning of a packed text that say how long it is."""

_VERSION, _EARLIER_VERSION = 2, 1
_EARLIER_HEADER = struct.Struct("<BHI")
_PIECE_BYTES = 3
_PLACES = np.array([1, 1 << 8, 1 << 16], np.uint32)
_AT_ONCE = 128
"""Tokens that are unpacked at once: their floats stay in the cache of a core."""
_STEPS = 4
"""How many steps the run that matches best is long, where it is looked for step by step."""
_STRETCH = 8192
"""Tokens that are compared with a question before the next are read: 16 MB of floats for a long one."""
_STEP = WINDOW // 2
_LEAST_WEIGHT = 1e-6
_LEAST_SHARE = 0.05
"""What a token of a question weighs at least, beside the heaviest, to be compared with texts."""


@dataclass(frozen=True, slots=True)
class TokenStates:
    """The tokens of a text: word pieces, the weight of each, and their states from a model.

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


@dataclass(frozen=True, slots=True)
class SignedTokens:
    """The tokens of a text to be found, as `TokenStates` has them, with the signs of the states."""

    pieces: NDArray[np.int32]
    surprise: Floats
    signs: Signs
    """Shape (tokens, dimensions / 8)."""

    @property
    def kept(self) -> tuple[Pieces, Signs]:
        """The pieces (tokens, 3) and signs of the tokens that say something; of all, if none does."""
        telling = _telling(self.surprise)
        narrow = self.pieces[telling].astype("<u4").view(np.uint8).reshape(-1, 4)
        return narrow[:, :_PIECE_BYTES], self.signs[telling]


def signs_of(states: Floats) -> Signs:
    """Return the signs of states (tokens, dimensions) after the fixed rotation, shape (tokens, d / 8)."""
    signs: Signs = np.packbits(rotated(states) >= 0, axis=1)
    return signs


def pack(tokens: SignedTokens, english: SignedTokens | None = None) -> bytes:
    """Pack the tokens of a text to be found, and those of an English one by the model of English, too.

    Pieces of three bytes and signs, d / 8 bytes each. Tokens that say nothing are left out, unless
    there are no others.
    """
    sections = [each.kept for each in (tokens, english) if each is not None]
    counts = [len(signs) for _, signs in sections]
    header = _HEADER.pack(_VERSION, tokens.signs.shape[1], counts[0], sum(counts[1:]))
    return header + b"".join(array.tobytes() for section in sections for array in section)


def likeness(one: bytes, other: bytes) -> float:
    """Compare two packed texts both ways, in [0, 1]: the lesser mean of their tokens' best cosines.

    The lesser, so that a text that holds all of another and more is not like it. Of a text of more than
    WHOLE tokens SAMPLES windows are compared, each with where the other is nearest to it.
    """
    (_, ours), (_, theirs) = _unpack(one), _unpack(other)
    if not len(ours) or not len(theirs):
        return 0.0
    if max(len(ours), len(theirs)) <= WHOLE:
        cosines = _likenesses(ours, theirs)
        return float(min(cosines.max(axis=1).mean(), cosines.max(axis=0).mean()))
    return min(_share_found(ours, theirs), _share_found(theirs, ours))


def _share_found(wanted: Signs, among: Signs) -> float:
    """Return the mean of the best cosines of windows of a text with the places of another nearest to them."""
    digests = _digests(among)
    starts = {
        step * _STEP for step in np.linspace(0, _steps(wanted) - 1, SAMPLES).astype(int).tolist()
    }
    found = []
    for start in sorted(starts):
        window = wanted[start : start + WINDOW]
        (own, *_) = _digests(window)
        first = int(np.argmax(digests @ own)) * _STEP
        # A window may begin between two steps there.
        place = among[max(0, first - _STEP) : first + WINDOW + _STEP]
        found.append(_likenesses(window, place).max(axis=1).mean())
    return float(np.mean(found))


def _steps(signs: Signs) -> int:
    """Return how many windows a text has, each a step after the one before it."""
    return max(1, -(-(len(signs) - WINDOW) // _STEP) + 1)


def _digests(signs: Signs) -> Floats:
    """Return the direction of the sum of each window's signs, unit rows, shape (windows, dimensions)."""
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
    """Return the cosine of each token with each of another text, none below 0, shape (ours, theirs)."""
    left, right = (
        2 * np.unpackbits(signs, axis=1).astype(np.float32) - 1 for signs in (ours, theirs)
    )
    cosines: Floats = np.maximum(left @ right.T / np.float32(left.shape[1]), 0)
    return cosines


def whole(packed: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the packed texts, by id, that have tokens and are as `pack` makes them."""
    return {id: each for id, each in packed.items() if is_whole(each[:HEAD], len(each))}


def is_whole(head: bytes, size: int) -> bool:
    """Tell whether a packed text of so many bytes, the first HEAD of which are given, has tokens and all of each."""
    if len(head) < HEAD or head[0] not in (_VERSION, _EARLIER_VERSION):
        return False
    start, width, count, english = _read_header(head)
    return bool(count and size == start + (count + english) * (_PIECE_BYTES + width))


def unpacked(packed: bytes, most: int) -> tuple[NDArray[np.int32], Floats]:
    """Return the ids of a packed text's first pieces (tokens,) and their states as unit rows of signs (tokens, d).

    At most `most` tokens: the floats of a text of 100 KB would take 40 MB, and as much again twice while they are made.
    """
    pieces, signs = (each[:most] for each in _unpack(packed))
    ids: NDArray[np.int32] = pieces.astype(np.int32) @ np.array([1, 1 << 8, 1 << 16], np.int32)
    rows = 2 * np.unpackbits(signs, axis=1).astype(np.float32) - 1
    return ids, rows / np.float32(np.sqrt(max(1, rows.shape[1])))


def mean_state(packed: bytes, most: int) -> Floats | None:
    """Return the mean of a packed text's first states as a unit vector (d,); None for a text without a token."""
    _, signs = _unpack(packed)
    if not len(signs):
        return None
    mean = 2 * np.unpackbits(signs[:most], axis=1).mean(axis=0, dtype=np.float32) - 1
    unit: Floats = mean / max(float(np.linalg.norm(mean)), np.finfo(np.float32).tiny)
    return unit


class Question:
    """A question, made ready to be compared with any number of texts; `english` has its tokens if it is in English."""

    def __init__(self, tokens: TokenStates, english: TokenStates | None = None) -> None:
        self._asked = _AskedTokens(tokens, EXPONENT)
        self._english = None if english is None else _AskedTokens(english, EXPONENT_OF_ENGLISH)

    @property
    def tokens(self) -> tuple[NDArray[np.int32], Floats]:
        """The ids of its pieces (tokens,), and their states as unit rows of signs (tokens, d), as `unpacked` gives a text's."""
        return self._asked.tokens

    def scores(self, packed: Sequence[bytes], cosines: Floats) -> Floats:
        """Score packed texts that have these cosines with the question, shape (texts,), on the scale of `late`.

        0 for a text without a token.
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
        """Compare packed texts token by token, shape (texts,), in about [0, 1]; 0 for one without a token."""
        return self._asked.late(_joined(packed)[0])

    def best_part(self, packed: bytes, tokens: int) -> tuple[float, float]:
        """Return where the run of about `tokens` tokens that matches best begins and ends, as shares of a packed text.

        That is the whole of a text without a token, or of one that is no longer.
        """
        return self._asked.best_part(_unpack(packed), tokens)


class _AskedTokens:
    """The tokens of a question by one model."""

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
        """The ids of the pieces (tokens,), and their states as unit rows of signs (tokens, d)."""
        signs: Floats = np.where(self._rows >= 0, np.float32(1), np.float32(-1))
        return self._pieces, signs / np.float32(np.sqrt(max(1, signs.shape[1])))

    def late(self, texts: "_JoinedTexts") -> Floats:
        """Compare texts token by token, shape (texts,).

        A token's weight falls with how many of these texts hold its piece, and with how frequent
        the piece is in general where these are few.
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
        """Return where the run of about `tokens` tokens that matches best begins and ends, as shares of a text."""
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
        """Return the weights of the question's tokens, shape (tokens,), sum 1."""
        holds = np.zeros((len(texts.counts), len(self._pieces)), np.bool_)
        for some, owners, starts in texts.stretches():
            own = texts.pieces[some].astype("<u4") @ _PLACES
            holds[owners] |= np.logical_or.reduceat(own[:, None] == self._pieces, starts, axis=0)
        held = holds.sum(axis=0)
        expected = np.minimum(1, TOKENS_OF_A_TEXT * np.exp(-self._surprise))
        rareness = np.log((len(texts.counts) + PRIOR + 1) / (held + PRIOR * expected + 0.5))
        weights = np.maximum(rareness, 0) ** self._exponent + _LEAST_WEIGHT
        scaled: Floats = (weights / weights.sum()).astype(np.float32)
        return scaled


@dataclass(frozen=True, slots=True)
class _JoinedTexts:
    """The tokens of texts by one model, one text behind another; `counts` (texts,) has how many each has."""

    counts: Places
    pieces: Pieces
    signs: Signs

    def stretches(self) -> Iterator[tuple[slice, Places, Places]]:
        """Yield runs of tokens, at most _STRETCH each: the places, the texts that have some of them, and where each begins there.

        A longer text is in several runs, once in each.
        """
        owners = np.flatnonzero(self.counts)
        ends = np.cumsum(self.counts[owners])
        starts = ends - self.counts[owners]
        for at in range(0, len(self.signs), _STRETCH):
            some = slice(np.searchsorted(ends, at, "right"), np.searchsorted(starts, at + _STRETCH))
            yield slice(at, at + _STRETCH), owners[some], np.maximum(starts[some] - at, 0)


def _joined(packed: Sequence[bytes]) -> tuple[_JoinedTexts, _JoinedTexts]:
    """Return the tokens of texts by the model of every language, and those of the texts in English by that of English."""
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


def _telling(surprise: Floats) -> NDArray[np.bool_]:
    """Select the tokens that say something; all, if none does."""
    telling = surprise > 0
    return telling if telling.any() else np.ones_like(telling)


def _unpack(packed: bytes) -> tuple[Pieces, Signs]:
    """Return the pieces (tokens, 3) and signs (tokens, d / 8) of a text as they are kept; no bytes, no tokens."""
    own, _ = _joined([packed])
    return own.pieces, own.signs


def _read_header(packed: bytes) -> tuple[int, int, int, int]:
    """Return where the tokens begin, the bytes of the signs of each, and how many there are by each model."""
    if not packed:
        return 0, 0, 0, 0
    if packed[0] == _EARLIER_VERSION:
        _, width, count = _EARLIER_HEADER.unpack_from(packed)
        return _EARLIER_HEADER.size, width, count, 0
    _, width, count, english = _HEADER.unpack_from(packed)
    return HEAD, width, count, english
