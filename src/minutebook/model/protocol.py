"""The interface of an embedder, and the division of long texts into parts."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from minutebook.text.late_interaction import TokenStates

Vector = NDArray[np.float32]
"""One unit-length vector, shape (dimensions,)."""
Rows = NDArray[np.float32]
"""Unit-length vectors, shape (rows, dimensions)."""

SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedding of one text.

    `rows` has a vector for each part of a passage, in order; one for a question. `packed` has the token states
    of a passage in the form that the store keeps, `tokens` those of a question, `english` those of an English question by a
    model of English; None if the embedder makes none. `others` has the vectors of a question in other
    spaces, that of code and earlier ones, by the digest of their model; `mean_question` is the mean vector of
    questions about code by this embedder, None if unknown.
    """

    rows: Rows
    tokens: TokenStates | None = None
    packed: bytes | None = None
    mean_question: Vector | None = None
    english: TokenStates | None = None
    others: Mapping[str, Vector] = field(default_factory=dict)

    @property
    def vector(self) -> Vector:
        """The vector of the first part."""
        vector: Vector = self.rows[0]
        return vector

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arrays that the model made of the text."""
        states = [each for each in (self.tokens, self.english) if each is not None]
        return (
            self.rows,
            *self.others.values(),
            *(array for tokens in states for array in tokens.arrays),
        )


@dataclass(frozen=True, slots=True)
class Model:
    """A model that makes vectors; vectors of models with different digests are never compared.

    `states` names the form of its token states, empty if it makes none; those of different names are never compared.
    `unrelated` is the cosine of a question and a text about something else, from which relevance is counted.
    `code` is the model that embeds code, if that is another. `earlier` are models of earlier
    releases in whose spaces questions are embedded too. The vectors of `code` and `earlier` are in `Embedded.others`.
    """

    name: str
    digest: str
    dimensions: int
    states: str = ""
    unrelated: float = 0.0
    code: "Model | None" = None
    earlier: tuple["Model", ...] = ()

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
    """An embedder with token states that can write the word pieces to which they belong."""

    def spell(self, pieces: Sequence[int]) -> Sequence[str]:
        """Return word pieces, by id, as they are written; `▁` stands before one that begins a word."""
        ...


@runtime_checkable
class CodeEmbedder(Protocol):
    """An embedder that embeds code by another model, `Model.code`, than texts."""

    def embed_code(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed code to be found, in order, each with its parts as rows (at least one)."""
        ...


def without_surrogates(text: str) -> str:
    """Replace every lone surrogate, which no encoding of text can write, by U+FFFD."""
    return SURROGATES.sub("\ufffd", text)


def spans(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Return (start, end) of the fewest windows of at most `size` that cover `length` items and overlap by `overlap`.

    If everything fits, there is one window (an empty one for length 0). Otherwise all
    have the full size and are spread evenly, so that neighbours share `overlap` items or more.
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
