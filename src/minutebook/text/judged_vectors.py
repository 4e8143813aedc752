"""Judge texts by their vectors: rules that hold in every case, questions for the present state, questions for past events.

Each judgement is a logistic regression on the vectors of the built-in multilingual model, so it works in any language
that the model knows. `benchmarks/fit_vectors.py` fits the weights.
"""

from functools import cache
from importlib import resources
from typing import Literal

import numpy as np
from numpy.typing import NDArray

MODEL = "multilingual-e5-small"
"""The model to whose vectors the weights are fitted; the vectors of the built-in model begin with its numbers."""

LIKELY = 0.5
"""The least chance at which a judgement counts as true."""

Floats = NDArray[np.float32]
Judgement = Literal["standing", "present", "happened"]
"""A statement that holds from case to case; a question for the present state; a question for what happened."""


def chances(judgement: Judgement, vectors: Floats, model: str) -> Floats:
    """Return the chance in [0, 1] that a judgement is true of each vector (texts, d), (texts,); 0 if `model` is not MODEL."""
    if not model.startswith(MODEL):
        return np.zeros(len(vectors), np.float32)
    return by_weights(vectors, _weights(judgement))


def by_weights(vectors: Floats, weights: Floats) -> Floats:
    """Return the logistic regression of vectors (texts, d), (texts,).

    `weights` has the bias, then one weight for each of the first numbers of a vector, which are scaled to length 1.
    """
    of_model = vectors[:, : len(weights) - 1]
    lengths = np.linalg.norm(of_model, axis=1, keepdims=True)
    odds = weights[0] + (of_model / np.maximum(lengths, 1e-9)) @ weights[1:]
    found: Floats = 1 / (1 + np.exp(-odds))
    return found


@cache
def _weights(judgement: Judgement) -> Floats:
    """Read the weights of a judgement from its file, (1 + dimensions,)."""
    with resources.files(__package__).joinpath(f"{judgement}.npy").open("rb") as file:
        weights: Floats = np.load(file)
    return weights
