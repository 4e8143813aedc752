"""The interface of an embedder, and how long texts become parts."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from minutebook.search.late_interaction import TokenStates

Vector = NDArray[np.float32]
"""One unit-length vector, shape (dimensions,)."""
Rows = NDArray[np.float32]
"""Unit-length vectors, shape (rows, dimensions)."""

SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedding of one text."""

    rows: Rows
    """One for each part of a passage, in order; one for a question."""
    tokens: TokenStates | None = None
    """Those of a question; None where the embedder gives no states."""
    packed: bytes | None = None
    """The token states of a passage as they are kept; None where the embedder gives none."""
    mean_question: Vector | None = None
    """The mean vector of this embedder's questions about code; None where it is not known."""

    @property
    def vector(self) -> Vector:
        """The vector of the first part."""
        vector: Vector = self.rows[0]
        return vector

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays that the model made of the text."""
        tokens = self.tokens
        return (self.rows,) if tokens is None else (self.rows, *tokens.arrays)


@dataclass(frozen=True, slots=True)
class Model:
    """Which model made a vector; vectors of different digests are never compared."""

    name: str
    digest: str
    dimensions: int
    states: str = ""
    """Names how it makes token states; those of different names are never compared. Empty: none."""
    unrelated: float = 0.0
    """The cosine of a question and a text about something else, which relevance counts from."""

    @classmethod
    def unknown(cls, name: str) -> "Model":
        """Return a model of which nothing but its name is known yet."""
        return cls(name, digest="", dimensions=0)


class Embedder(Protocol):
    """Turns texts into unit-length float32 vectors; safe to call from several threads.

    Blank text gives a finite unit vector as any other does. Lone surrogates are read as U+FFFD.
    A failure to answer raises ModelUnavailable.
    """

    @property
    def model(self) -> Model:
        """The model that makes the vectors."""
        ...

    def embed_query(self, text: str) -> Embedded:
        """Embed a question as one row; text beyond the model's window is cut off."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in order, each with its parts as rows (at least one)."""
        ...


@runtime_checkable
class Speller(Protocol):
    """An embedder that gives token states and knows how their pieces are written."""

    def spell(self, pieces: Sequence[int]) -> Sequence[str]:
        """Return word pieces, by id, as they are written; `▁` stands before one that begins a word."""
        ...


def without_surrogates(text: str) -> str:
    """Put U+FFFD for every lone surrogate, which no encoding of text can carry."""
    return SURROGATES.sub("\ufffd", text)


def spans(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Cover `length` items by the fewest windows of at most `size` that overlap by `overlap`.

    One window where everything fits (an empty one for length 0). Where several are needed all are
    of the full size and spread evenly, so that neighbours share `overlap` items or more.
    """
    if length <= size:
        return [(0, length)]
    count = math.ceil((length - overlap) / (size - overlap))
    last = length - size
    starts = [round(last * index / (count - 1)) for index in range(count)]
    return [(start, start + size) for start in starts]


def unit(rows: Rows) -> Rows:
    """Scale each row to length 1."""
    scaled: Rows = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return scaled
