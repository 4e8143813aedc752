"""Run a built-in model over texts of any length, in windows that share tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from minutebook.features.models import runtime
from minutebook.features.models.built_in.model_files import (
    WIDTH,
    Floats,
    WordTable,
    body_of,
    words_of,
)
from minutebook.model.protocol import spans


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a text that the model reads. A token of two windows belongs to the one in which it is farther from the edge."""

    text: int
    """The index of its text."""
    number: int
    """The index of the window among those of its text."""
    own: slice
    """The tokens of the text that belong to this window."""
    begin: int
    """The index of the first of these in `read`."""
    read: list[int]
    """The ids that the model reads: those of the stretch, after a start and before an end."""


@dataclass(frozen=True, slots=True)
class ReadWindow:
    """A window with its vector and states."""

    window: Window
    vector: Floats
    """Shape (WIDTH,), of unit length."""
    states: Floats
    """The states of the tokens that belong to it, shape (tokens, WIDTH)."""


class WindowedModel:
    """A built-in model, open; safe to call from several threads.

    A text gives the same output alone and in any batch, to within 1e-6.
    """

    def __init__(self, language: str, positions: int, overlap: int, end: int) -> None:
        self._session = runtime.ModelSession(body_of(language))
        self._words = WordTable(words_of(language))
        self._positions = positions
        self._overlap = overlap
        self._end = end

    def room(self, start: Sequence[int]) -> int:
        """Return the number of tokens of a text that a window has room for after a start."""
        return self._positions - len(start) - 1

    def spans(self, start: Sequence[int], tokens: int) -> list[tuple[int, int]]:
        """Return the begin and end of each window of a text with a number of tokens."""
        return spans(tokens, self.room(start), self._overlap)

    def read(self, start: Sequence[int], texts: Sequence[list[int]]) -> Iterator[ReadWindow]:
        """Yield each window of texts, which are lists of ids, with its vector and states, in any order.

        `start` stands before each window.
        """
        windows = [
            window for text, ids in enumerate(texts) for window in self._cut(start, text, ids)
        ]
        for group in runtime.batches([len(window.read) for window in windows]):
            yield from self._run([windows[index] for index in group])

    def _cut(self, start: Sequence[int], text: int, ids: list[int]) -> Iterator[Window]:
        cuts = self.spans(start, len(ids))
        seams = [(stop + first) // 2 for (_, stop), (first, _) in pairwise(cuts)]
        owned = pairwise([0, *seams, len(ids)])
        for number, ((first, stop), own) in enumerate(zip(cuts, owned, strict=True)):
            read = [*start, *ids[first:stop], self._end]
            yield Window(text, number, slice(*own), len(start) + own[0] - first, read)

    def _run(self, windows: Sequence[Window]) -> Iterator[ReadWindow]:
        longest = max(len(window.read) for window in windows)
        words = np.zeros((len(windows), longest, WIDTH), np.float32)
        mask = np.zeros((len(windows), longest), np.int32)
        for row, window in enumerate(windows):
            words[row, : len(window.read)] = self._words.rows(window.read)
            mask[row, : len(window.read)] = 1
        outputs = self._session.run({runtime.WORDS: words, runtime.MASK: mask})
        both = zip(outputs[runtime.VECTORS], outputs[runtime.STATES], strict=True)
        for window, (vector, states) in zip(windows, both, strict=True):
            tokens = window.own.stop - window.own.start
            yield ReadWindow(window, vector, states[window.begin : window.begin + tokens])
