"""Derives the built-in model's ONNX files from the weights file."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from minutebook.features.models.built_in.onnx_graph import (
    Observed,
    Quantised,
    Range,
    ranges,
    transformer,
)
from minutebook.features.models.built_in.tokenizer import Tokenizer, serialised_model
from minutebook.features.models.built_in.weights import Weights, dequantise
from minutebook.features.models.runtime import MASK, WORDS, ModelSession

SEED = 0
SAMPLES = ((8, 1), (16, 12), (16, 60), (2, 400))
"""How many sequences, and of how many pieces, the ranges of activations are observed on."""
REPEATS = (8, 40)
"""The same for one piece said over and over, which no natural text resembles but users write."""


OBSERVED_FROM, OBSERVED_UNTIL = 0.3, 0.75
"""Between which parts of the work the ranges of activations are observed, as measured."""


def write_files(
    source: Path,
    *,
    body: Path,
    words: Path,
    tokenizer: Path,
    prefixes: Sequence[str],
    on_progress: Callable[[float], None],
) -> None:
    """Derive the three files of the built-in model from the weights file.

    `told` hears how much of that is done, from 0 to 1.
    """
    weights = Weights(source)
    vocabulary = weights.vocabulary
    tokenizer.write_bytes(serialised_model(vocabulary))
    on_progress(0.1)
    weights.blocks("emb.word", weights.shape.width).tofile(words)
    on_progress(0.2)
    reader = Tokenizer(tokenizer)
    starts = [[vocabulary.begin, *reader.ids(prefix)] for prefix in prefixes]
    samples = list(_samples(starts, vocabulary.end, len(vocabulary.pieces) - 1))
    seen = _observe(weights, samples, on_progress)
    body.write_bytes(transformer(weights, Quantised(seen)))


def _samples(starts: Sequence[list[int]], end: int, pieces: int) -> Iterator[list[int]]:
    """Draw sequences of pieces, the frequent (which have low ids) oftener, after each prefix in turn.

    Random pieces reach as far as natural text in any language does, without favouring one.
    """
    random = np.random.default_rng(SEED)
    first = end + 2  # after begin, pad, end and unknown

    def drawn(length: int) -> list[int]:
        logs = random.random(length) * np.log(pieces - first)
        return [int(id) for id in first + np.exp(logs)]

    for start in starts:
        yield [*start, end]
    for count, length in SAMPLES:
        for index in range(count):
            yield [*starts[index % len(starts)], *drawn(length), end]
    count, length = REPEATS
    for index in range(count):
        yield [*starts[index % len(starts)], *drawn(1) * length, end]


def _observe(
    weights: Weights, samples: Sequence[list[int]], on_progress: Callable[[float], None]
) -> dict[str, Range]:
    session = ModelSession(transformer(weights, Observed()))
    table = weights.blocks("emb.word", weights.shape.width)
    seen: dict[str, Range] = {}
    pieces, done = sum(map(len, samples)), 0
    for ids in samples:
        on_progress(OBSERVED_FROM + done / pieces * (OBSERVED_UNTIL - OBSERVED_FROM))
        done += len(ids)
        words = dequantise(table[ids])[None]
        mask = np.ones((1, len(ids)), np.int32)
        for name, each in ranges(session.run({WORDS: words, MASK: mask})).items():
            seen[name] = seen[name].joined(each) if name in seen else each
    on_progress(OBSERVED_UNTIL)
    return seen
