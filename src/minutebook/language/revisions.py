"""Tell whether a text revises an earlier one: says of the same subject another value, a denial or a replacement.

The sentences of both are aligned word by word, by the states that the embedding model gave their tokens. What is shared,
what differs, of which sort and in which role that is, and the words of a change are signs; a logistic model weighs
them. Its numbers are in `revision_weights.toml`, fitted by `python -m benchmarks.fit_revisions`. The chance is a guess
and hides nothing by itself.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from itertools import combinations
from typing import Any

import numpy as np

from minutebook.language.comparing import Alignment, align, signs
from minutebook.language.statements import (
    Floats,
    Sentence,
    Spell,
    Statements,
    statements_of,
)

_FILE: Mapping[str, Any] = tomllib.loads(
    resources.files(__package__).joinpath("revision_weights.toml").read_text(encoding="utf-8")
)

CUT: float = _FILE["cut"]
"""The chance from which on a text is marked as revised: where 5 % of look-alikes are, at most."""

MOST_PAIRS = 16
"""Pairs of sentences that are compared word by word, of all candidates; the most alike come first."""

LEAST_ALIKE = 0.12
"""What pairs of sentences have in common at least, to be compared word by word."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text, when it was said, and its token states as `late_interaction.pack` packs them.

    None where no model is or has read it; it is then compared by its words.
    """

    text: str
    at: datetime
    states: bytes | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """Which candidate revises another, how likely in [0, 1], and the words that differ, as they are written."""

    newer: int
    chance: float
    old: str
    new: str


def chance(newer: Candidate, older: Candidate, spell: Spell | None = None) -> float:
    """Return how likely a newer text revises an older one, in [0, 1]; 0 if it is not newer."""
    found = revisions([older, newer], spell, least=0.0)
    return found[0].chance if 0 in found else 0.0


def revisions(
    candidates: Sequence[Candidate], spell: Spell | None = None, least: float = CUT
) -> dict[int, Revision]:
    """Return which candidates are revised, by index, and by which newer one most likely.

    `candidates` may be in any order; of two that were said at the same instant neither revises the other.
    `spell` writes word pieces out, as the model's tokenizer does; without it words alone are compared.
    """
    read = [statements_of(each.text, each.states, spell) for each in candidates]
    found: dict[int, Revision] = {}
    for older, newer, pair in _alike(candidates, read):
        likely, old, new = judged(pair)
        best = found.get(older)
        if likely >= least and likely > 0 and (best is None or likely > best.chance):
            found[older] = Revision(newer, likely, old, new)
    return found


def judged(pair: Alignment) -> tuple[float, str, str]:
    """Return how likely the newer of two aligned sentences revises the older, and the words that differ."""
    if pair.older.text.casefold() == pair.newer.text.casefold():
        return 0.0, "", ""
    found = signs(pair)
    weights = _FILE["by_states" if pair.has_states else "by_words"]
    odds = sum(weights.get(name, 0.0) * value for name, value in found.items())
    return (
        float(1 / (1 + np.exp(-odds))),
        _said(pair.older, pair.only_old),
        _said(pair.newer, pair.only_new),
    )


def _said(sentence: Sentence, numbers: Sequence[int]) -> str:
    return " ".join(sentence.words[sentence.telling[each]].text for each in numbers)


def _alike(
    candidates: Sequence[Candidate], read: Sequence[Statements]
) -> Iterator[tuple[int, int, Alignment]]:
    """Yield the sentences of older and newer candidates that are most alike, aligned."""
    flat = [
        (index, sentence, states)
        for index, each in enumerate(read)
        for sentence, states in zip(each.sentences, each.states, strict=True)
    ]
    if len(flat) < 2:
        return
    alike = _likenesses([sentence for _, sentence, _ in flat], [states for *_, states in flat])
    pairs = []
    for one, other in combinations(range(len(flat)), 2):
        here, there = flat[one][0], flat[other][0]
        if here == there or alike[one, other] < LEAST_ALIKE:
            continue
        moments = candidates[here].at, candidates[there].at
        if moments[0] != moments[1]:
            order = (one, other) if moments[0] < moments[1] else (other, one)
            pairs.append((float(alike[one, other]), *order))
    pairs.sort(key=lambda each: -each[0])
    for _, one, other in pairs[:MOST_PAIRS]:
        older, sentence, states = flat[one]
        newer, later, later_states = flat[other]
        yield older, newer, align(sentence, later, states, later_states)


def _likenesses(sentences: Sequence[Sentence], states: Sequence[Floats | None]) -> Floats:
    """Return how alike sentences are, shape (n, n): the share of common words, and the cosine of their means."""
    numbers: dict[str, int] = {}
    held = [{numbers.setdefault(key[:5], len(numbers)) for key in each.keys} for each in sentences]
    holds = np.zeros((len(sentences), len(numbers)), np.float32)
    for row, keys in enumerate(held):
        holds[row, list(keys)] = 1
    sizes = np.maximum(holds.sum(axis=1), 1)
    found: Floats = holds @ holds.T / np.sqrt(sizes[:, None] * sizes)
    width = next((each.shape[1] for each in states if each is not None), 0)
    if width:
        means = np.stack(
            [np.zeros(width, np.float32) if each is None else each.mean(axis=0) for each in states]
        )
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-6)
        found = (found + np.maximum(means @ means.T, 0)) / 2
    return found
