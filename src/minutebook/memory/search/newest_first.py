"""Put a revision above the hit that it may revise, and mark the earlier one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from minutebook.memory.access.provenance import provenance_of
from minutebook.memory.access.visibility import Records
from minutebook.memory.embeddings import Embeddings
from minutebook.memory.search.recall import Recalled
from minutebook.memory.search.signals import Asked, Key
from minutebook.record.records import Decision, Memory, TextRecord, Turn
from minutebook.text.answerability import LIKELY_FROM
from minutebook.text.context import label_of
from minutebook.text.judged_vectors import LIKELY
from minutebook.text.revisions import DatedText, Revision, revisions

JUDGED = 4
"""How many of the best hits are held against one another: what says the same anew answers a question as well, and of pairs
that were written apart both stand among the first three."""

ASKED_FOR_FROM, ORDERED_FROM, SAID_FROM = 0.5, 0.55, 0.9
"""The chances from which the newer stands above the older: where the question asks for the present state, of notes, and of
what was said in a talk, where much is alike that revises nothing. By words alone only what is likely does."""

ASKS_FOR_NOW = 0.7
"""The chance from which on a question asks for the present state in so many words: LIKELY ones are about it."""

WEAK, LOOKED_AT = 0.05, 5
"""The relevance below which a hit is not about the question, and how many of the best such a hit must be among to be held
against an answer that it may revise in words of its own."""

_JUDGED = (Memory, Decision, Turn)
"""A summary says again what turns said, later; a relation is one sentence of the graph."""


@dataclass(frozen=True, slots=True)
class RevisedBy:
    """The possible revision of a record: its id and time, and its likelihood in [0, 1]."""

    id: str
    at: datetime
    chance: float


class NewestFirst:
    """Finds which of the best hits revise others."""

    def __init__(self, embeddings: Embeddings, records: Records) -> None:
        self._embeddings = embeddings
        self._records = records

    def order(
        self, hits: Sequence[Recalled], asked: Asked
    ) -> tuple[list[Recalled], Mapping[Key, RevisedBy]]:
        """Return hits with each before those it may revise, and the revisions of the marked ones, by their keys.

        A weak hit that revises an answer is as relevant as that and the chance make it.
        """
        judged = list(islice(_compared(hits), JUDGED))
        states = self._embeddings.states_of(each.record for each in judged)
        candidates = [
            DatedText(each.record.text, _said_at(each.record), states.get(each.hit.id))
            for each in judged
        ]
        question = None if asked.embedding is None else asked.embedding.question
        present = self._embeddings.chance("present", asked.embedding)
        ordered_from = ASKED_FOR_FROM if present >= ASKS_FOR_NOW else ORDERED_FROM
        least = None if question is None else ordered_from
        spell = self._embeddings.spell
        found = revisions(
            candidates,
            spell,
            least,
            asked=asked.query,
            question=question,
            among={index for index, each in enumerate(judged) if not _is_weak(each)},
        )
        said_from = ordered_from if present >= LIKELY else SAID_FROM
        found = {
            old: each
            for old, each in found.items()
            if _stands_below(judged[old], judged[each.newer], each, said_from)
            and not self._are_linked(judged[old].record, judged[each.newer].record)
        }
        revised = {
            judged[old].hit.id: RevisedBy(
                judged[each.newer].record.id, candidates[each.newer].at, each.chance
            )
            for old, each in found.items()
            if each.is_likely
        }
        newer_of = {
            judged[old].hit.id: _as_likely(judged[each.newer], judged[old], each.chance)
            for old, each in found.items()
        }
        ordered: dict[Key, Recalled] = {}
        for each in hits:
            _place(each, newer_of, ordered)
        return list(ordered.values()), revised

    def _are_linked(self, one: TextRecord, other: TextRecord) -> bool:
        if not (isinstance(one, Memory) and isinstance(other, Memory)):
            return False
        return self._records.are_linked(one, other)


def _place(hit: Recalled, newer_of: Mapping[Key, Recalled], ordered: dict[Key, Recalled]) -> None:
    """Put a hit behind its revision, and that behind its own: each is newer, so this ends."""
    if hit.hit.id in ordered:
        return
    if (newer := newer_of.get(hit.hit.id)) is not None:
        _place(newer, newer_of, ordered)
    ordered[hit.hit.id] = hit


def _compared(hits: Sequence[Recalled]) -> Iterator[Recalled]:
    """Yield the hits that are about the question, and of the best the weak ones said after a likely answer."""
    first = min((_said_at(each.record) for each in hits if _is_answer(each)), default=None)
    for place, each in enumerate(hits):
        if not isinstance(each.record, _JUDGED):
            continue
        is_later = first is not None and _said_at(each.record) > first
        if not _is_weak(each) or (is_later and place < LOOKED_AT):
            yield each


def _is_answer(hit: Recalled) -> bool:
    return isinstance(hit.record, _JUDGED) and hit.relevance >= LIKELY_FROM


def _is_weak(hit: Recalled) -> bool:
    return hit.relevance < WEAK


def _stands_below(older: Recalled, newer: Recalled, revision: Revision, said_from: float) -> bool:
    """Tell whether a hit stands below a newer one; where neither likely answers the question, only one that is likely revised."""
    if max(older.relevance, newer.relevance) < LIKELY_FROM:
        return revision.is_likely and not _is_weak(newer)
    return revision.chance >= said_from or not _is_said(older, newer)


def _as_likely(newer: Recalled, older: Recalled, chance: float) -> Recalled:
    """Return a revision; a weak one as relevant as the revised answer and the chance make it."""
    return replace(newer, relevance=chance * older.relevance) if _is_weak(newer) else newer


def _is_said(*hits: Recalled) -> bool:
    """Tell whether all hits are dialogue: turns, or texts that begin with the speaker."""
    return all(
        isinstance(each.record, Turn) or label_of(each.record.text) is not None for each in hits
    )


def _said_at(record: TextRecord) -> datetime:
    known = provenance_of(record)
    assert known is not None
    return known.at
