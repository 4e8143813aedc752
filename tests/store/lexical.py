"""Score texts by the words they share with a question: BM25 with the constants of SQLite's FTS5.

Source: Robertson and Zaragoza, *The Probabilistic Relevance Framework: BM25 and Beyond* (2009), with the inverse
document frequency of Lucene, which is above 0 for whatever is found.
"""

from collections.abc import Mapping, Sequence
from math import fsum, log

from minutebook.text.words import TextQuery

K1 = 1.2
B = 0.75


def idf(documents: int, holding: int) -> float:
    """Return the weight of a phrase that `holding` of `documents` texts hold."""
    return log(1 + (documents - holding + 0.5) / (holding + 0.5))


def bm25(weight: float, occurrences: int, length: int, average_length: float) -> float:
    """Score the occurrences of one phrase of that idf in a text; lengths in terms."""
    return (
        weight
        * (occurrences * (K1 + 1))
        / (occurrences + K1 * (1 - B + B * length / average_length))
    )


def rank(query: TextQuery, documents: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Score each of the texts, given as terms, that match the query, best first, ties by id.

    Each term and each phrase of the query counts as one phrase with occurrences of its own.
    """
    if not query:
        return {}
    phrases = [*((term,) for term in query.terms), *query.phrases]
    found = {id: _occurrences(phrases, terms) for id, terms in documents.items()}
    holding = [sum(1 for counts in found.values() if counts[n]) for n in range(len(phrases))]
    weights = [idf(len(documents), held) for held in holding]
    average = sum(map(len, documents.values())) / len(documents) if documents else 0.0
    scores = {
        id: fsum(
            bm25(weight, count, len(documents[id]), average)
            for weight, count in zip(weights, counts, strict=True)
            if count
        )
        / query.forms
        for id, counts in found.items()
        if any(counts) and all(counts[len(query.terms) :])
    }
    return dict(sorted(scores.items(), key=lambda scored: (-scored[1], scored[0])))


def _occurrences(phrases: Sequence[tuple[str, ...]], terms: Sequence[str]) -> list[int]:
    """Count how often each phrase stands in the terms; occurrences may overlap."""
    places: dict[str, list[int]] = {}
    for place, term in enumerate(terms):
        places.setdefault(term, []).append(place)
    return [
        sum(
            tuple(terms[place : place + len(phrase)]) == phrase
            for place in places.get(phrase[0], ())
        )
        for phrase in phrases
    ]
