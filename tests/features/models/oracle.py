"""The full computation in float32, written from the model's description: slow and plain."""

import math
from collections.abc import Sequence

import numpy as np

from minutebook.features.models.built_in.model_files import Floats, dequantise
from tools.models.graph import Weights


def erf(value: Floats) -> Floats:
    """Return the error function within 6e-7: Abramowitz and Stegun 1964, 7.1.26, in float32."""
    size = np.abs(value)
    t = 1 / (1 + 0.3275911 * size)
    sum_ = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    result: Floats = np.copysign(1 - sum_ * np.exp(-size * size), value)
    return result


class Oracle:
    """BERT as Devlin et al. 2018 describe it, mean pooling, unit length."""

    def __init__(self, weights: Weights) -> None:
        self.shape = weights.shape
        self.words = weights.words()
        self.weights = weights
        self._kept: dict[str, Floats] = {}

    def embed(self, ids: Sequence[int]) -> Floats:
        """Embed token ids, special tokens included, shape (width,)."""
        mean: Floats = self.states(ids).mean(axis=0)
        return mean / np.linalg.norm(mean)

    def states(self, ids: Sequence[int]) -> Floats:
        """Return the last state of each token, shape (tokens, width)."""
        width = self.shape.width
        places = self._vector("emb.pos").reshape(-1, width)[: len(ids)]
        state = dequantise(self.words[list(ids)]) + places + self._vector("emb.type")[:width]
        state = self._norm(state, "emb.ln")
        for layer in range(self.shape.layers):
            attended = self._attention(state, f"l{layer}")
            state = self._norm(state + self._linear(attended, f"l{layer}.ao"), f"l{layer}.aln")
            middle = self._linear(state, f"l{layer}.fi")
            middle = middle * 0.5 * (1 + erf(middle / math.sqrt(2)))
            state = self._norm(state + self._linear(middle, f"l{layer}.fo"), f"l{layer}.oln")
        return state

    def _attention(self, state: Floats, layer: str) -> Floats:
        heads = self.shape.heads
        query, key, value = (
            self._linear(state, f"{layer}.{name}").reshape(len(state), heads, -1).transpose(1, 0, 2)
            for name in "qkv"
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        context: Floats = scores @ value
        return context.transpose(1, 0, 2).reshape(len(state), -1)

    def _linear(self, value: Floats, name: str) -> Floats:
        if name not in self._kept:
            self._kept[name] = self.weights.matrix(f"{name}.w", value.shape[-1]).T
        product: Floats = value @ self._kept[name]
        return product + self._vector(f"{name}.b")

    def _norm(self, value: Floats, name: str) -> Floats:
        centred = value - value.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        scaled: Floats = centred / np.sqrt(variance + self.shape.epsilon)
        return scaled * self._vector(f"{name}.w") + self._vector(f"{name}.b")

    def _vector(self, name: str) -> Floats:
        if name not in self._kept:
            self._kept[name] = self.weights.tensor(name)
        return self._kept[name]
