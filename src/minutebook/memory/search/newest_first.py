"""Order hits so that a possible revision comes before the hit that it revises, and mark the latter."""

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

MOST_COMPARED = 4
"""How many of the best hits are compared with one another: a revision answers a question as well as what it revises, and of
pairs of notes that were written apart both are among the first three."""

PRESENT_FROM, ORDERED_FROM, DIALOGUE_FROM = 0.5, 0.55, 0.9
"""The least chances of a revision at which it comes first: if the question asks for the present state, between notes, and in
dialogue, where much is alike without being a revision. By words alone only a likely revision comes first."""

ASKS_FOR_NOW = 0.7
"""The least chance at which a question explicitly asks for the present state; at LIKELY it only concerns that."""

WEAK, WEAK_AMONG = 0.05, 5
"""The relevance below which a hit is weak, that is, not about the question; and among how many of the best hits a weak one
must be to be compared with an answer that it may revise in different words."""

_CLASSES = (Memory, Decision, Turn)
"""The classes that are compared. A summary only repeats turns, later; a relation is one sentence of the graph."""


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
        """Return the hits with each before those that it may revise, and the likely revisions by the keys of the revised hits.

        The relevance of a weak hit that may revise another becomes that one's relevance times the chance of the revision.
        """
        compared = list(islice(_compared(hits), MOST_COMPARED))
        states = self._embeddings.states_of(each.record for each in compared)
        candidates = [
            DatedText(each.record.text, _written_at(each.record), states.get(each.hit.id))
            for each in compared
        ]
        question = None if asked.embedding is None else asked.embedding.question
        present = self._embeddings.chance("present", asked.embedding)
        ordered_from = PRESENT_FROM if present >= ASKS_FOR_NOW else ORDERED_FROM
        least = None if question is None else ordered_from
        spell = self._embeddings.spell
        found = revisions(
            candidates,
            spell,
            least,
            asked=asked.query,
            question=question,
            among={index for index, each in enumerate(compared) if not _is_weak(each)},
        )
        dialogue_from = ordered_from if present >= LIKELY else DIALOGUE_FROM
        found = {
            old: each
            for old, each in found.items()
            if _stands_below(compared[old], compared[each.newer], each, dialogue_from)
            and not self._are_linked(compared[old].record, compared[each.newer].record)
        }
        revised = {
            compared[old].hit.id: RevisedBy(
                compared[each.newer].record.id, candidates[each.newer].at, each.chance
            )
            for old, each in found.items()
            if each.is_likely
        }
        newer_of = {
            compared[old].hit.id: _as_likely(compared[each.newer], compared[old], each.chance)
            for old, each in found.items()
        }
        ordered: dict[Key, Recalled] = {}
        for each in hits:
            _add_hit(each, newer_of, ordered)
        return list(ordered.values()), revised

    def _are_linked(self, one: TextRecord, other: TextRecord) -> bool:
        if not (isinstance(one, Memory) and isinstance(other, Memory)):
            return False
        return self._records.are_linked(one, other)


def _add_hit(hit: Recalled, newer_of: Mapping[Key, Recalled], ordered: dict[Key, Recalled]) -> None:
    """Add a hit after its revision, and that after its own: each is newer, so this ends."""
    if hit.hit.id in ordered:
        return
    if (newer := newer_of.get(hit.hit.id)) is not None:
        _add_hit(newer, newer_of, ordered)
    ordered[hit.hit.id] = hit


def _compared(hits: Sequence[Recalled]) -> Iterator[Recalled]:
    """Yield the hits that are not weak, and the weak ones among the best that were written after a likely answer."""
    first = min((_written_at(each.record) for each in hits if _is_answer(each)), default=None)
    for place, each in enumerate(hits):
        if not isinstance(each.record, _CLASSES):
            continue
        is_later = first is not None and _written_at(each.record) > first
        if not _is_weak(each) or (is_later and place < WEAK_AMONG):
            yield each


def _is_answer(hit: Recalled) -> bool:
    return isinstance(hit.record, _CLASSES) and hit.relevance >= LIKELY_FROM


def _is_weak(hit: Recalled) -> bool:
    return hit.relevance < WEAK


def _stands_below(older: Recalled, newer: Recalled, revision: Revision, least: float) -> bool:
    """Tell whether a hit comes after its possible revision; in dialogue that has at least the chance `least`.

    If neither is likely to answer the question, the revision is a likely one.
    """
    if max(older.relevance, newer.relevance) < LIKELY_FROM:
        return revision.is_likely and not _is_weak(newer)
    return revision.chance >= least or not _is_dialogue(older, newer)


def _as_likely(newer: Recalled, older: Recalled, chance: float) -> Recalled:
    """Return a revision; a weak one gets the relevance of the revised hit times the chance of the revision."""
    return replace(newer, relevance=chance * older.relevance) if _is_weak(newer) else newer


def _is_dialogue(*hits: Recalled) -> bool:
    """Tell whether all hits are dialogue: turns, or texts that begin with the speaker."""
    return all(
        isinstance(each.record, Turn) or label_of(each.record.text) is not None for each in hits
    )


def _written_at(record: TextRecord) -> datetime:
    known = provenance_of(record)
    assert known is not None
    return known.at
