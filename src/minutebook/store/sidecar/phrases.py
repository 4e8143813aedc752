"""Phrases by an index of words: it says where to look, and the texts themselves decide."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from math import fsum
from typing import TypeAlias

import numpy as np

from minutebook.store.sidecar.words import K1, B, WordView, idf, term_digest
from minutebook.store.values import Candidate
from minutebook.text.words import TextQuery

Texts: TypeAlias = Callable[[Collection[str]], Mapping[str, Sequence[str]]]
"""Gives the terms of the texts of records by their ids."""


def holding_all(view: WordView, terms: Collection[str]) -> list[str]:
    """Return the ids of the records that hold each of some terms; none if there are no terms."""
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
    """Rank the allowed records (None: all) that hold each of a query's phrases by BM25; ties by id.

    Each term and each phrase counts as one term, with occurrences and a frequency of its own; the
    frequencies are those among all records. The texts of all that hold a phrase's terms are read.
    """
    places = [set(holding_all(view, phrase)) for phrase in query.phrases]
    read = texts(set().union(*places)) if places else {}
    counts = [
        {id: count for id in held if (count := _occurrences(phrase, read.get(id, ())))}
        for phrase, held in zip(query.phrases, places, strict=True)
    ]
    everywhere = set(counts[0]).intersection(*counts[1:]) if counts else set[str]()
    chosen = everywhere if allowed is None else everywhere & set(allowed)
    records, length = _size(view)
    if limit < 1 or not chosen or not length:
        return []
    idfs = [idf(records, _holding(view, term)) for term in query.terms]
    idfs += [idf(records, len(held)) for held in counts]
    scores = []
    for id in chosen:
        often = Counter(read[id])
        occurrences = [often[term] for term in query.terms] + [held[id] for held in counts]
        relative = K1 * (1 - B + B * len(read[id]) * records / length)
        score = fsum(
            weight * count * (K1 + 1) / (count + relative)
            for weight, count in zip(idfs, occurrences, strict=True)
        )
        scores.append((-score, id))
    return [Candidate(id, -negative) for negative, id in sorted(scores)[:limit]]


def holds_in_a_row(words: Sequence[str], run: Sequence[str]) -> bool:
    """Tell whether words hold a run of words."""
    first, length, start = run[0], len(run), -1
    for _ in range(words.count(first)):
        start = words.index(first, start + 1)
        if list(words[start : start + length]) == list(run):
            return True
    return False


def _occurrences(phrase: Sequence[str], terms: Sequence[str]) -> int:
    """Count how often a phrase stands in the terms; occurrences may overlap."""
    run, length = list(phrase), len(phrase)
    starts = (position for position, term in enumerate(terms) if term == run[0])
    return sum(list(terms[position : position + length]) == run for position in starts)


def _size(view: WordView) -> tuple[int, int]:
    """Count the records, and the terms of all of them."""
    records = length = 0
    for layer in view.layers:
        lengths = layer.block.payload.lengths
        live = lengths if layer.dead is None else lengths[~layer.dead]
        records, length = records + len(live), length + int(live.sum(dtype=np.int64))
    return records, length


def _holding(view: WordView, term: str) -> int:
    return len(holding_all(view, [term]))
