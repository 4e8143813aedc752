"""The part of a question's words that texts have: their relevance if there are no vectors."""

from collections.abc import Collection, Mapping, Sequence
from math import log
from typing import Any, TypeVar

K = TypeVar("K", bound=str | tuple[Any, ...])

AS_IF_MORE = 20
"""The number of imaginary texts without any of the words that are added to those compared: in few texts all words weigh about alike."""


def coverage(
    compared: Collection[K], holding: Sequence[Collection[K]], phrases: int = 0
) -> Mapping[K, float]:
    """Return the part of a question, in [0, 1], that each compared text holds.

    `holding` has those of them that hold each word. A word weighs by how rare it is among the texts. All hold
    the `phrases`, which the question demands: each weighs as a word that one text holds.
    """
    weights = [_weight(len(compared), len(texts)) for texts in holding]
    demanded = phrases * _weight(len(compared), 1)
    whole = sum(weights) + demanded
    held = dict.fromkeys(compared, demanded)
    for weight, texts in zip(weights, holding, strict=True):
        for key in texts:
            held[key] += weight
    return {key: part / whole if whole else 0.0 for key, part in held.items()}


def _weight(compared: int, holding: int) -> float:
    return log(1 + (compared - holding + AS_IF_MORE) / (holding + 1))
