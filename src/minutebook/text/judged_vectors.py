"""Judge texts by their vectors: statements that hold from case to case, questions for the present state, and for what happened.

Each is a logistic of the vectors of the built-in multilingual model, so it holds in any language that the model knows;
`benchmarks/fit_vectors.py` fits them.
"""

from functools import cache
from importlib import resources
from typing import Literal

import numpy as np
from numpy.typing import NDArray

MODEL = "multilingual-e5-small"
"""The model to whose vectors the weights are fitted; the built-in one begins each vector with one of it."""

LIKELY = 0.5
"""The chance from which on a text is judged to be so."""

Floats = NDArray[np.float32]
Judgement = Literal["standing", "present", "happened"]


def chances(judgement: Judgement, vectors: Floats, model: str) -> Floats:
    """Return the chance of each text, (texts,), that it is so, by vectors (texts, d) of a model; 0 by those of another than MODEL."""
    if not model.startswith(MODEL):
        return np.zeros(len(vectors), np.float32)
    return by_weights(vectors, _weights(judgement))


def by_weights(vectors: Floats, weights: Floats) -> Floats:
    """Return the logistic, (texts,), of the first numbers of vectors, as unit vectors; the first weight is the bias."""
    of_model = vectors[:, : len(weights) - 1]
    lengths = np.linalg.norm(of_model, axis=1, keepdims=True)
    odds = weights[0] + (of_model / np.maximum(lengths, 1e-9)) @ weights[1:]
    found: Floats = 1 / (1 + np.exp(-odds))
    return found


@cache
def _weights(judgement: Judgement) -> Floats:
    with resources.files(__package__).joinpath(f"{judgement}.npy").open("rb") as file:
        weights: Floats = np.load(file)
    return weights
