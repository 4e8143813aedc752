"""Tell statements that hold from case to case (a habit, a rule, a preference) from facts and events, by their vectors."""

from collections.abc import Iterable
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from minutebook.domain.records import Memory
from minutebook.services.access.visibility import Records

MODEL = "multilingual-e5-small"
"""The model to whose vectors the weights are fitted; the built-in one begins each vector with one of it."""

LIKELY = 0.5
"""The chance from which on a text is taken for a standing statement."""

Floats = NDArray[np.float32]


def chances(vectors: Floats, weights: Floats) -> Floats:
    """Return the chances, (texts,), that texts are standing statements, by a logistic of unit vectors.

    `vectors` (texts, d) begin with those of MODEL, of as many numbers as there are `weights` behind the first, the bias.
    """
    of_model = vectors[:, : len(weights) - 1]
    lengths = np.linalg.norm(of_model, axis=1, keepdims=True)
    odds = weights[0] + (of_model / np.maximum(lengths, 1e-9)) @ weights[1:]
    found: Floats = 1 / (1 + np.exp(-odds))
    return found


def standing(records: Records, memories: Iterable[Memory]) -> set[str]:
    """Return the ids of the memories that are standing statements; of none that has no vector of MODEL."""
    ids, vectors = [], []
    for memory in memories:
        kept = records.vectors(memory)
        if kept is not None and kept[0].name.startswith(MODEL):
            ids.append(memory.id)
            vectors.append(kept[1][0])
    if not ids:
        return set()
    likely = chances(np.stack(vectors), _weights()) >= LIKELY
    return {id for id, is_likely in zip(ids, likely, strict=True) if is_likely}


@cache
def _weights() -> Floats:
    with resources.files(__package__).joinpath("standing.npy").open("rb") as file:
        weights: Floats = np.load(file)
    return weights
