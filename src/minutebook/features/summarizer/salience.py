"""How near the words of texts are to those of all, and to one another."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

from minutebook.search.text import GAP, is_stop_term, word_terms

Weights = Mapping[str, float]
"""The terms of a text and their tf·idf, of length 1 or empty."""


def weighed(texts: Sequence[str]) -> list[Weights]:
    """Return the terms of each text, weighed by how rare they are among these texts; stop words weigh nothing."""
    counts = [Counter(filter(_tells, word_terms(text))) for text in texts]
    held = Counter(term for count in counts for term in count)
    idf = {term: log(1 + len(texts) / number) for term, number in held.items()}
    return [
        _unit({term: (1 + log(number)) * idf[term] for term, number in sorted(count.items())})
        for count in counts
    ]


def centralities(weights: Sequence[Weights]) -> list[float]:
    """Return how near each text is to the sum of all, in 0..1; 1 for the nearest."""
    total: Counter[str] = Counter()
    for each in weights:
        total.update(each)
    scores = [likeness(each, total) for each in weights]
    best = max(scores, default=0.0) or 1.0
    return [score / best for score in scores]


def likeness(one: Weights, other: Weights) -> float:
    """Return the scalar product of two texts' weights: their cosine."""
    return sum(weight * other.get(term, 0.0) for term, weight in one.items())


def _tells(term: str) -> bool:
    return term != GAP and not is_stop_term(term)


def _unit(weights: Weights) -> Weights:
    length = sum(weight * weight for weight in weights.values()) ** 0.5
    return {term: weight / length for term, weight in weights.items()} if length else {}
