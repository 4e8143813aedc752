"""Observe the activations of the built-in models, and fit the steps by which they are quantised.

`python -m tools.models.observe` writes STEPS. It is run when a model or its recipe changes: float32
sums differ in their last bits between processors, and wheels would differ with the machines that
build them. https://arxiv.org/abs/2211.10438 for the fit.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minutebook.features.models.built_in.model_files import Floats, dequantise
from minutebook.features.models.runtime import MASK, WORDS, ModelSession
from tools.models.derive import SOURCES, Source
from tools.models.graph import OnnxGraph, Step, transformer

SEED = 0
SAMPLES = ((8, 1), (16, 12), (16, 60), (2, 400))
"""How many sequences, and of how many pieces, the ranges of activations are observed on."""
REPEATS = (8, 40)
"""The same for one piece said over and over, which no natural text resembles but users write."""

SMOOTHING = 0.65
"""How much of the difficulty moves into the weights; 0.6 to 0.7 are about equally good."""
LEVELS = 255


@dataclass(frozen=True, slots=True)
class Range:
    """Least and greatest value of each channel of a linear step's input."""

    least: Floats
    greatest: Floats

    def joined(self, other: "Range") -> "Range":
        """Return the range that covers both."""
        return Range(np.minimum(self.least, other.least), np.maximum(self.greatest, other.greatest))


class Observed:
    """Float32, in a graph that also shows the range of each step's input (see `ranges`)."""

    def __init__(self) -> None:
        self.matrices: dict[str, Floats] = {}

    def linear(self, graph: OnnxGraph, name: str, value: str, matrix: Floats, bias: Floats) -> str:
        """Add a linear step."""
        self.matrices[name] = matrix
        axes = graph.constant("rows", np.array([0, 1]))
        for operator, shown in zip(("ReduceMin", "ReduceMax"), _shown(name), strict=True):
            graph.show(graph.add(operator, value, axes, name=shown, keepdims=0))
        product = graph.add("MatMul", value, graph.constant(f"{name}.w", matrix.T))
        return graph.add("Add", product, graph.constant(f"{name}.b", bias))

    def attention(
        self, graph: OnnxGraph, name: str, value: str, matrix: Floats, bias: Floats, heads: int
    ) -> str:
        """Add attention."""
        joined = self.linear(graph, name, value, matrix, bias)
        query, key, value = graph.add_several(3, "Split", joined, axis=-1, num_outputs=3)
        return graph.add("MultiHeadAttention", query, key, value, "", MASK, num_heads=heads)


def ranges(outputs: Mapping[str, Floats]) -> dict[str, Range]:
    """Read the ranges out of an observed graph's outputs, by the step's name."""
    names = [name.removesuffix(".least") for name in outputs if name.endswith(".least")]
    return {name: Range(*(outputs[shown] for shown in _shown(name))) for name in names}


def _shown(name: str) -> tuple[str, str]:
    return f"{name}.least", f"{name}.greatest"


def _samples(
    starts: Sequence[Sequence[int]], end: int, first: int, last: int
) -> Iterator[list[int]]:
    """Draw sequences of pieces, the frequent (which have low ids) oftener, after each prefix in turn.

    Random pieces reach as far as natural text in any language does, without favouring one.
    """
    random = np.random.default_rng(SEED)

    def drawn(length: int) -> list[int]:
        logs = random.random(length) * np.log(last - first)
        return [int(id) for id in first + np.exp(logs)]

    for start in starts:
        yield [*start, end]
    for count, length in SAMPLES:
        for index in range(count):
            yield [*starts[index % len(starts)], *drawn(length), end]
    count, length = REPEATS
    for index in range(count):
        yield [*starts[index % len(starts)], *drawn(1) * length, end]


def steps(source: Source) -> dict[str, Step]:
    """Return the steps of a model by the names of its linear steps."""
    weights, arithmetic = source.open(), Observed()
    session = ModelSession(transformer(weights, arithmetic))
    table = weights.words()
    seen: dict[str, Range] = {}
    for ids in _samples(source.starts, source.end, source.first, source.last):
        words = dequantise(table[ids])[None]
        mask = np.ones((1, len(ids)), np.int32)
        for name, each in ranges(session.run({WORDS: words, MASK: mask})).items():
            seen[name] = seen[name].joined(each) if name in seen else each
    return {name: _step(each, arithmetic.matrices[name]) for name, each in seen.items()}


def _step(seen: Range, matrix: Floats) -> Step:
    tiny = np.float32(1e-5)
    reach = np.maximum(np.maximum(-seen.least, seen.greatest), tiny)
    heaviest = np.maximum(np.abs(matrix).max(axis=0), tiny)
    smooth = reach**SMOOTHING / heaviest ** (1 - SMOOTHING)
    least, greatest = float((seen.least / smooth).min()), float((seen.greatest / smooth).max())
    level = (greatest - least) / LEVELS
    return Step((smooth * level).astype(np.float32), round(-least / level))


if __name__ == "__main__":
    for each in SOURCES:
        each.keep_steps(steps(each))
