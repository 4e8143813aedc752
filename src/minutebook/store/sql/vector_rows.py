"""Vectors as they are kept, float16 rows, which are refused, and which are damaged."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minutebook.domain.errors import InvalidInput, StoreDamaged
from minutebook.domain.reason import Reason
from minutebook.search import late_interaction
from minutebook.store.values import Vectors, VectorSpace

_SQUARE_TOLERANCE = 0.02


def check_query(space: VectorSpace, vector: Vectors) -> None:
    """Raise InvalidInput if a vector has not the space's dimensions or length 1."""
    if vector.shape != (space.dimensions,):
        remedy = "must have shape ({wanted},) for {name}, not {given}"
        raise InvalidInput(
            "vector", remedy, wanted=space.dimensions, name=space.name, given=vector.shape
        )
    square = float(vector.astype(np.float32) @ vector.astype(np.float32))
    if not abs(square - 1.0) <= _SQUARE_TOLERANCE:
        raise InvalidInput(
            "vector", "must be finite and of length 1, not {given}", given=square**0.5
        )


def checked_rows(space: VectorSpace, vectors: Vectors, states: bytes | None) -> NDArray[np.float16]:
    """Return vectors as they are kept, shape (parts, dimensions).

    Raises InvalidInput if the space has no such vectors, or no form for token states.
    """
    if vectors.ndim != 2 or len(vectors) == 0 or vectors.shape[1] != space.dimensions:
        remedy = "must have shape (parts, {wanted}) for {name}, not {given}"
        raise InvalidInput(
            "vectors", remedy, wanted=space.dimensions, name=space.name, given=vectors.shape
        )
    rows = vectors.astype(np.float32)
    squares = (rows * rows).sum(axis=1).tolist()
    for square in squares:
        if not abs(square - 1.0) <= _SQUARE_TOLERANCE:
            raise InvalidInput(
                "vectors", "must be finite rows of length 1, not {given}", given=square**0.5
            )
    if states is not None and not space.states:
        raise InvalidInput(
            "states", "need a form, which the space of {name} does not name", name=space.name
        )
    return vectors.astype(np.float16)


def rows_of(stored: bytes, dimensions: int, table: str) -> NDArray[np.float16]:
    """Return vectors as they are kept, shape (parts, dimensions). Raises StoreDamaged if they are cut short."""
    check_rows([stored], dimensions, table)
    return np.frombuffer(stored, np.float16).reshape(-1, dimensions)


def check_rows(stored: Sequence[bytes], dimensions: int, table: str) -> None:
    """Raise StoreDamaged if the vectors of one of the records are cut short."""
    if any(not each or len(each) % (2 * dimensions) for each in stored):
        what = Reason("vectors of {table} are cut short", table=table)
        raise StoreDamaged(
            Reason("{what}; `minutebook doctor --repair` has them made anew", what=what), what
        )


def are_damaged(form: str, head: bytes, size: int) -> bool:
    """Tell whether token states of that form and size, with those first bytes, are not whole; none are."""
    is_known = form == late_interaction.FORM
    return is_known and size > 0 and not late_interaction.is_whole(head, size)
