"""A residual on frozen states, x' = unit(x + (xA)B), learnt with gradients written out.

The score is the product's late interaction without its packing. The loss of a question is a softmax over the
texts it is compared with, a logistic with the slope and the middle that the product turns scores into
relevance by (the same for all questions), and the distance by which states move.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutebook.text.calibration import ABOUT_MIDDLE, ABOUT_SLOPE
from minutebook.text.late_interaction import EXPONENT, PRIOR, TOKENS_OF_A_TEXT

Floats = NDArray[np.floating[Any]]

ANSWER_WEIGHT = 2.0
"""What a question's best answer weighs in the logistic, beside all other texts together."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text that say something: pieces, −log of their general frequency, unit states (tokens, d)."""

    pieces: NDArray[np.int32]
    surprise: Floats
    states: Floats


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions and texts that all are compared with all; `holds` tells which text answers which, (questions, texts)."""

    questions: Sequence[Tokens]
    texts: Sequence[Tokens]
    holds: NDArray[np.bool_]


def token_weights(question: Tokens, texts: Sequence[Tokens]) -> Floats:
    """Weigh the tokens of a question by their rareness among texts, as late interaction does; sum 1."""
    held = sum(np.isin(question.pieces, each.pieces).astype(np.float32) for each in texts)
    expected = np.minimum(1, TOKENS_OF_A_TEXT * np.exp(-question.surprise))
    rareness = np.log((len(texts) + PRIOR + 1) / (held + PRIOR * expected + 0.5))
    weights = np.maximum(rareness, 0) ** EXPONENT + 1e-6
    scaled: Floats = (weights / weights.sum()).astype(np.float32)
    return scaled


def unit(rows: Floats) -> Floats:
    """Scale rows to length 1."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: Floats = rows / np.maximum(lengths, np.finfo(np.float32).tiny)
    return scaled


@dataclass(slots=True)
class Residual:
    """The matrices A (d, rank) and B (rank, d)."""

    down: Floats
    up: Floats

    @classmethod
    def fresh(cls, width: int, rank: int, seed: int) -> "Residual":
        """Begin as the identity."""
        down = np.random.default_rng(seed).standard_normal((width, rank)) / np.sqrt(width)
        return cls(down.astype(np.float32), np.zeros((rank, width), np.float32))

    @staticmethod
    def is_in(path: Path) -> bool:
        """Tell whether a file has a residual's matrices."""
        with np.load(path) as kept:
            return "down" in kept

    @classmethod
    def read(cls, path: Path, scale: float = 1.0) -> "Residual":
        """Read the matrices; a scale below 1 stays nearer to the identity."""
        kept = np.load(path)
        return cls(kept["down"], scale * kept["up"])

    def __call__(self, rows: Floats) -> Floats:
        """Return the states x' of states x, shape (tokens, d)."""
        return unit(rows + (rows @ self.down) @ self.up)

    def folded(self) -> Floats:
        """Return the one matrix by which x' points where x times it does, shape (d, d)."""
        matrix: Floats = np.eye(len(self.down), dtype=self.down.dtype) + self.down @ self.up
        return matrix

    def gradients(self, rows: Floats, wanted: Floats) -> tuple[Floats, Floats]:
        """Return the gradients of A and B, given those of the states x' of x."""
        narrow = rows @ self.down
        moved = rows + narrow @ self.up
        lengths = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-12)
        made = moved / lengths
        inner = (wanted - made * (wanted * made).sum(axis=1, keepdims=True)) / lengths
        return rows.T @ (inner @ self.up.T), narrow.T @ inner


@dataclass(frozen=True, slots=True)
class Objective:
    """What the parts of the loss weigh; without `of_texts` only states of questions are changed."""

    logistic: float = 0.3
    keeping: float = 0.1
    of_texts: bool = True


def loss(residual: Residual, batch: Batch, objective: Objective) -> tuple[float, Floats, Floats]:
    """Return the mean loss of a batch and the gradients of A and B."""
    text_rows = np.concatenate([each.states for each in batch.texts])
    starts = np.cumsum([0, *(len(each.states) for each in batch.texts)])[:-1]
    texts = residual(text_rows) if objective.of_texts else text_rows
    rows = np.concatenate([each.states for each in batch.questions])
    asked = residual(rows)
    pulls, text_pulls = np.zeros_like(asked), np.zeros_like(texts)
    total, first = 0.0, 0
    for number, question in enumerate(batch.questions):
        own = slice(first, first := first + len(question.states))
        weights = token_weights(question, batch.texts)
        cosines = texts @ asked[own].T
        best = np.stack(
            [
                start + cosines[start:stop].argmax(axis=0)
                for start, stop in zip(starts, [*starts[1:], len(texts)], strict=True)
            ]
        )
        scores = np.take_along_axis(cosines, best, axis=0) @ weights
        value, slopes = of_scores(scores, batch.holds[number], objective.logistic)
        total += value
        shares = slopes[:, None] * weights
        pulls[own] = np.einsum("kt,ktd->td", shares, texts[best])
        if objective.of_texts:
            moves = shares[:, :, None] * asked[own]
            np.add.at(text_pulls, best.ravel(), moves.reshape(-1, texts.shape[1]))
    count = len(batch.questions)
    gradient = _kept(residual, rows, asked, pulls / count, objective.keeping)
    if objective.of_texts:
        more = _kept(residual, text_rows, texts, text_pulls / count, objective.keeping)
        gradient = gradient[0] + more[0], gradient[1] + more[1], gradient[2] + more[2]
    return total / count + gradient[0], gradient[1], gradient[2]


def _kept(
    residual: Residual, rows: Floats, made: Floats, pulls: Floats, keeping: float
) -> tuple[float, Floats, Floats]:
    """Add what moving states costs, 2 − 2 cos in the mean; return that and the gradients."""
    before = unit(rows)
    cost = keeping * float(2 - 2 * (made * before).sum(axis=1).mean())
    pulls = pulls - np.float32(2 * keeping / len(rows)) * before
    return cost, *residual.gradients(rows, pulls)


def of_scores(scores: Floats, holds: NDArray[np.bool_], logistic: float) -> tuple[float, Floats]:
    """Return the loss of a question's scores and its slope for each."""
    heights = ABOUT_SLOPE * (scores - scores.max())
    chances = np.exp(heights)
    answers = np.where(holds, chances, 0)
    value = float(np.log(chances.sum()) - np.log(answers.sum()))
    slopes = ABOUT_SLOPE * (chances / chances.sum() - answers / answers.sum())
    about = 1 / (1 + np.exp(-ABOUT_SLOPE * (scores - ABOUT_MIDDLE)))
    best = int(np.where(holds, scores, -np.inf).argmax())
    share = logistic / max(1, int((~holds).sum()))
    others = np.where(holds, 0, share)
    value -= logistic * ANSWER_WEIGHT * float(np.log(about[best] + 1e-9))
    value -= float((others * np.log(1 - about + 1e-9)).sum())
    slopes = slopes + ABOUT_SLOPE * others * about
    slopes[best] -= ABOUT_SLOPE * logistic * ANSWER_WEIGHT * (1 - about[best])
    return value, slopes.astype(np.float32)


@dataclass(slots=True)
class Adam:
    """Kingma and Ba (2015), with a rate that falls to nothing along a cosine."""

    rate: float
    steps: int
    _at: int = 0
    _means: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)

    def step(self, values: Mapping[str, Floats], gradients: Mapping[str, Floats]) -> None:
        """Change values, each in its place, by their gradients."""
        self._at += 1
        rate = self.rate * 0.5 * (1 + np.cos(np.pi * min(1, self._at / self.steps)))
        for name, gradient in gradients.items():
            first, second = self._means.get(name, (np.zeros_like(gradient),) * 2)
            first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
            self._means[name] = first, second
            mean, spread = first / (1 - 0.9**self._at), second / (1 - 0.999**self._at)
            values[name][...] -= rate * mean / (np.sqrt(spread) + 1e-8)
