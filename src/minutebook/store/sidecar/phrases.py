"""Search for phrases: an index of words finds candidates, and their texts decide."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from math import fsum
from typing import TypeAlias

import numpy as np

from minutebook.store.sidecar.words import K1, B, WordView, idf, term_digest
from minutebook.store.values import Candidate
from minutebook.text.words import TextQuery

Texts: TypeAlias = Callable[[Collection[str]], Mapping[str, Sequence[str]]]
"""Returns the terms of the texts of records with some ids, by id."""


def holding_all(view: WordView, terms: Collection[str]) -> list[str]:
    """Return the ids of the records that hold all of some terms; none if there are no terms."""
    digests = [term_digest(term) for term in set(terms)]
    found: list[str] = []
    for layer in view.layers if digests else ():
        postings = layer.block.payload
        held = np.ones(len(layer.block), np.bool_) if layer.dead is None else ~layer.dead
        for digest in digests:
            holds = np.zeros(len(layer.block), np.bool_)
            holds[postings.owners[postings.slice_of(digest)]] = True
            held &= holds
        found += (id.decode("utf-8", "surrogatepass") for id in layer.block.ids[held].tolist())
    return found


def match_phrases(
    view: WordView, query: TextQuery, allowed: Collection[str] | None, texts: Texts, limit: int
) -> list[Candidate]:
    """Rank the allowed records (None: all) that hold all of a query's phrases by BM25; ties by id.

    Each term and each phrase counts as one term, with its own occurrences and document frequency among all
    records. `texts` is called with all records that hold the terms of a phrase.
    """
    holders = [set(holding_all(view, phrase)) for phrase in query.phrases]
    read = texts(set().union(*holders)) if holders else {}
    counts = [
        {id: count for id in ids if (count := _occurrences(phrase, read.get(id, ())))}
        for phrase, ids in zip(query.phrases, holders, strict=True)
    ]
    everywhere = set(counts[0]).intersection(*counts[1:]) if counts else set[str]()
    chosen = everywhere if allowed is None else everywhere & set(allowed)
    records, length = _size(view)
    if limit < 1 or not chosen or not length:
        return []
    idfs = [idf(records, _holding(view, term)) for term in query.terms]
    idfs += [idf(records, len(of_phrase)) for of_phrase in counts]
    scores = []
    for id in chosen:
        of_terms = Counter(read[id])
        occurrences = [of_terms[term] for term in query.terms]
        occurrences += [of_phrase[id] for of_phrase in counts]
        relative = K1 * (1 - B + B * len(read[id]) * records / length)
        score = fsum(
            weight * count * (K1 + 1) / (count + relative)
            for weight, count in zip(idfs, occurrences, strict=True)
        )
        scores.append((-score, id))
    return [Candidate(id, -negative) for negative, id in sorted(scores)[:limit]]


def holds_in_a_row(words: Sequence[str], run: Sequence[str]) -> bool:
    """Tell whether the words of `run` stand in the words in a row."""
    first, length, start = run[0], len(run), -1
    for _ in range(words.count(first)):
        start = words.index(first, start + 1)
        if list(words[start : start + length]) == list(run):
            return True
    return False


def _occurrences(phrase: Sequence[str], terms: Sequence[str]) -> int:
    """Return the number of occurrences of a phrase in the terms; they may overlap."""
    run, length = list(phrase), len(phrase)
    starts = (position for position, term in enumerate(terms) if term == run[0])
    return sum(list(terms[position : position + length]) == run for position in starts)


def _size(view: WordView) -> tuple[int, int]:
    """Return the number of records, and the number of terms in all of them."""
    records = length = 0
    for layer in view.layers:
        lengths = layer.block.payload.lengths
        live = lengths if layer.dead is None else lengths[~layer.dead]
        records, length = records + len(live), length + int(live.sum(dtype=np.int64))
    return records, length


def _holding(view: WordView, term: str) -> int:
    return len(holding_all(view, [term]))
