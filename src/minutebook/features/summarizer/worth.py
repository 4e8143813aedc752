"""Estimate how likely a sentence of a session belongs in its summary, by signs and their weights (`worth.toml`).

The weights are fitted by `python -m benchmarks.fit_worth` to sessions with marks on the sentences that a summary needs.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import chain
from math import exp, log

from minutebook.features.summarizer.session_facts import FILLER_TERMS, pattern
from minutebook.features.summarizer.talks import kinds_of
from minutebook.text.words import GAP, is_stop_term, word_terms

Weights = Mapping[str, float]
"""The terms of a text and their tf·idf, a vector of length 1 or empty."""


def term_weights(texts: Sequence[str]) -> list[Weights]:
    """Return the weights of the terms of each text, by their rareness among these texts; stop words have none."""
    counts = [Counter(filter(_is_content, word_terms(text))) for text in texts]
    held = Counter(term for count in counts for term in count)
    idf = {term: log(1 + len(texts) / number) for term, number in held.items()}
    return [
        _normed({term: (1 + log(number)) * idf[term] for term, number in sorted(count.items())})
        for count in counts
    ]


def centralities(weights: Sequence[Weights]) -> list[float]:
    """Return the likeness of each text to the sum of all, relative to the greatest."""
    total: Counter[str] = Counter()
    for each in weights:
        total.update(each)
    scores = [likeness(each, total) for each in weights]
    best = max(scores, default=0.0) or 1.0
    return [score / best for score in scores]


def likeness(one: Weights, other: Weights) -> float:
    """Return the scalar product of two texts' weights, which is their cosine."""
    return sum(weight * other.get(term, 0.0) for term, weight in one.items())


def _is_content(term: str) -> bool:
    return term != GAP and not is_stop_term(term)


def _normed(weights: Weights) -> Weights:
    length = sum(weight * weight for weight in weights.values()) ** 0.5
    return {term: weight / length for term, weight in weights.items()} if length else {}


_ENOUGH_WORDS = 6
OPEN, COURTESY = pattern("open"), pattern("courtesy", begins=True)
POINTS_BACK = pattern("points_back", begins=True)
_FACT = re.compile(r"\d|(?<=[a-zäöü] )[A-Z]\w|[\w-]+\.\w+\b")
_PROPOSES = frozenset({"tentative", "proposed"})


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a session, its turn, whether it is the user's, and the number of sentences in its text.

    `lead` is the line that announces the list in which it stands.
    """

    text: str
    turn: int
    by_user: bool
    sentences: int
    lead: str


def worth(signs: Mapping[str, float], chance: float) -> float:
    """Return how likely a summary needs a sentence, in [0, 1], by its signs and the chance that it was taken back."""
    weights = _weights()
    score = weights["taken back"] * chance
    score += sum(weights.get(name, 0.0) * sign for name, sign in signs.items())
    return 1 / (1 + exp(-score))


def signs_of(
    quotes: Sequence[Quote], weights: Sequence[Weights], turns: int
) -> list[dict[str, float]]:
    """Return the signs of each sentence of a session of `turns` turns."""
    near = centralities(weights)
    new = _newness(quotes)
    rejecting = {q.turn for q in quotes if q.by_user and "rejects" in kinds_of(q.text)}
    return [
        _form(each)
        | _place(each, turns)
        | {"central": near[index], "new": new[index]}
        | {"next rejects": float(not each.by_user and each.turn + 1 in rejecting)}
        for index, each in enumerate(quotes)
    ]


def _form(quote: Quote) -> dict[str, float]:
    text = quote.text
    found = {
        "always": 1.0,
        "by the user": float(quote.by_user),
        "words": log(len(text.split()) or 1),
        "telling": min(1.0, content_words(text) / _ENOUGH_WORDS),
        "says a fact": float(bool(_FACT.search(text))),
        "announces": float(text.endswith(":")),
        "points back": float(bool(POINTS_BACK.match(text))),
    }
    return found if quote.by_user else found | dict.fromkeys(kinds_of(text), 1.0)


def _place(quote: Quote, turns: int) -> dict[str, float]:
    """Return the signs of the place of a sentence in the session and in its text."""
    found = {"of few turns": 1 / turns, "late": quote.turn / max(1, turns - 1)}
    if quote.by_user:
        return found
    is_last = quote.turn == turns - 1
    kinds = kinds_of(quote.text)
    return found | {
        "last turn": float(is_last),
        "open at the end": float(is_last and bool(OPEN.search(quote.text))),
        "unsettled before the end": float(not is_last and "unsettled" in kinds),
        "of a long text": log(quote.sentences),
        "one of the proposed": float(not kinds_of(quote.lead).isdisjoint(_PROPOSES)),
    }


def _newness(quotes: Sequence[Quote]) -> list[float]:
    """Return the part of each sentence's terms that no sentence before has; rare terms count more."""
    terms = [{term for term in word_terms(each.text) if not is_stop_term(term)} for each in quotes]
    held = Counter(chain.from_iterable(terms))
    seen: set[str] = set()
    found = []
    for own in terms:
        rare = {term: log(1 + len(quotes) / held[term]) for term in sorted(own)}
        found.append(sum(rare[term] for term in sorted(own - seen)) / (sum(rare.values()) or 1.0))
        seen |= own
    return found


def content_words(sentence: str) -> int:
    """Return the number of content words of a sentence."""
    terms = word_terms(sentence)
    return sum(not (is_stop_term(term) or term in FILLER_TERMS) for term in terms)


@cache
def _weights() -> Mapping[str, float]:
    file = resources.files(__package__).joinpath("worth.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))
