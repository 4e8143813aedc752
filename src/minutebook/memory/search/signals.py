"""Gather the scores of each signal for the records of a class."""

import logging
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from heapq import nsmallest
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from minutebook.memory.access.visibility import Records, View
from minutebook.memory.embeddings import Embeddings, QueryEmbedding
from minutebook.record.caller import Caller
from minutebook.record.origin import Origin
from minutebook.record.records import Memory, Summary, TextRecord, Turn
from minutebook.store.values import R
from minutebook.text.answerability import (
    LIKELY,
    POSSIBLE_ACROSS_FROM,
    POSSIBLE_FROM,
    Judgement,
    judge,
    judge_words,
)
from minutebook.text.calibration import (
    CUT,
    expectations,
    relevance,
    strength_of_bm25,
    strength_of_cosine,
    strength_of_late,
    strength_of_words,
)
from minutebook.text.context import NAMED, NamedSpeakers, averaged, label_of, lifted
from minutebook.text.coverage import coverage
from minutebook.text.fusion import TEXT_WEIGHTS, Signal, fuse_scores
from minutebook.text.late_interaction import whole
from minutebook.text.words import TextQuery, languages_of, length_in_words, parse_query, words

log = logging.getLogger(__name__)

Key = tuple[str, str]
"""An organization and the id of a record there: two organizations may have the same id."""

Scores = dict[Key, float]
"""A signal's score of each record that it found."""

COMPARED, LEAST_COMPARED = 100, 20
"""The most candidates of all sources of a question together that are compared (token by token, or word by word), read, and
lifted by their context; and the fewest of each selection."""

MOST_STATES = 16_000_000
"""About the most bytes of token states that are compared with a question: 330,000 tokens, 0.15 s of processor time."""

_READ_AT_ONCE = 40
"""The number of texts whose token states are read at once, before MOST_STATES is checked again."""

FEW, FEW_WORDS = 5, 4
"""The most records with every word of a question that come first, whatever their meaning, and the most words of such a question."""

SHARE_NEAR, REACH = 0.4, 2
"""The share of the compared records that are neighbours of the best ones in their sessions, and their greatest distance."""


class Standing(NamedTuple):
    """The context of a record: its session, if known, its instant there, the speaker that labels its text, if any, and whether it is dialogue."""

    session: str | None
    at: datetime
    label: str | None
    is_dialogue: bool


_STANDING: Mapping[type[TextRecord], tuple[str, ...]] = {
    Memory: ("ingestion_time", "title", "content", "origin"),
    Turn: ("at", "prompt", "thought", "session"),
    Summary: ("at", "title", "summary"),
}
"""The fields of a standing, by class: instant, the first parts of the text, the one that names the session."""

_SESSION = {of: names[3:] for of, names in _STANDING.items()}


@dataclass(slots=True)
class Signals:
    """The scores of each signal for records; `vector` holds cosines and is None without a model.

    `late` holds what late interaction says of those that it compared, `covered` which part of the question
    those hold that were compared by words, where there is no model. `context` holds the strengths of
    a signal once neighbours, session and speaker counted, in the place of the records' own.
    """

    vector: Scores | None
    lexical: Scores
    graph: Scores | None = None
    late: Scores = field(default_factory=dict)
    covered: Scores = field(default_factory=dict)
    context: dict[Signal, Scores] = field(default_factory=dict)
    dialogue: set[Key] = field(default_factory=set)
    """The records lifted by context that are dialogue."""
    with_every_word: set[Key] = field(default_factory=set)
    """The records that hold every word and phrase of the question."""
    unrelated: float = 0.0
    """The cosine of unrelated texts by the model that made the vectors."""

    def keys(self) -> set[Key]:
        """Return every record that a signal found."""
        return {*(self.vector or ()), *self.lexical, *(self.graph or ())}

    def add(self, others: "Signals") -> None:
        """Add the signals of other records."""
        self.unrelated = self.unrelated or others.unrelated
        if others.vector is not None:
            self.vector = (self.vector or {}) | others.vector
        self.lexical |= others.lexical
        self.late |= others.late
        self.covered |= others.covered
        self.dialogue |= others.dialogue
        self.with_every_word |= others.with_every_word
        for signal, scores in others.context.items():
            self.context[signal] = self.context.get(signal, {}) | scores
        if others.graph is not None:
            self.graph = (self.graph or {}) | others.graph

    def keep(self, keys: Container[Key]) -> None:
        """Drop the signals of all but some records."""

        def only(scores: Scores) -> Scores:
            return {key: score for key, score in scores.items() if key in keys}

        self.vector = None if self.vector is None else only(self.vector)
        self.lexical = only(self.lexical)
        self.graph = None if self.graph is None else only(self.graph)
        self.late = only(self.late)
        self.covered = only(self.covered)
        self.with_every_word = {key for key in self.with_every_word if key in keys}
        self.context = {signal: only(scores) for signal, scores in self.context.items()}

    def among(self, keys: Container[Key]) -> "Signals":
        """Return the signals of some records only."""
        some = copy(self)
        some.keep(keys)
        return some

    def found(self) -> dict[Signal, Scores]:
        """Return the measured scores of each signal that found anything."""
        each = {Signal.VECTOR: self.vector, Signal.LEXICAL: self.lexical, Signal.GRAPH: self.graph}
        return {signal: scores for signal, scores in each.items() if scores}

    def strengths(self) -> dict[Signal, Scores]:
        """Return each signal's strengths in [0, 1], lifted where context lifts them.

        A text that alone, or with few others, holds every word of the question says what is asked.
        """
        each = self._measured()
        for key in self.with_every_word if len(self.with_every_word) <= FEW else ():
            each[Signal.LEXICAL][key] = 1.0
            if Signal.VECTOR in each:
                each[Signal.VECTOR][key] = max(LIKELY, each[Signal.VECTOR].get(key, 0.0))
        return each

    def _measured(self) -> dict[Signal, Scores]:
        each: dict[Signal, Scores] = {}
        if self.vector:
            with_context = self.context.get(Signal.VECTOR, {})
            own = {key: self.likeness(key) for key in self.vector if key not in with_context}
            each[Signal.VECTOR] = with_context | own
        if self.lexical:
            with_context = self.context.get(Signal.LEXICAL, {})
            matched = self.lexical.keys() - with_context.keys()
            own = {key: self.wording(key) for key in matched}
            each[Signal.LEXICAL] = with_context | own
        if self.graph:
            each[Signal.GRAPH] = self.graph
        return each

    def details(self, key: Key) -> dict[str, float]:
        """Return the components of a record's vector signal, by name, for people."""
        parts = {"cosine": (self.vector or {}).get(key), "late interaction": self.late.get(key)}
        lifted = self.context.get(Signal.VECTOR, {}).get(key)
        if lifted is not None and lifted != self.likeness(key):
            parts["with context"] = lifted
        return {name: part for name, part in parts.items() if part is not None}

    def likeness(self, key: Key) -> float:
        """Return the strength of the vector signal of a record by itself, without its context."""
        late = self.late.get(key)
        if late is not None:
            return strength_of_late(late)
        return strength_of_cosine((self.vector or {})[key], self.unrelated)

    def wording(self, key: Key) -> float:
        """Return the strength of the lexical signal of a record by itself, without its context."""
        covered, score = self.covered.get(key), self.lexical[key]
        return strength_of_bm25(score) if covered is None else strength_of_words(covered, score)

    def is_about(self, key: Key) -> bool:
        """Tell whether a record with a vector is more likely about the question than not."""
        return relevance(self.likeness(key)) >= CUT

    def judged(self, query: str, texts: int) -> Judgement[Key]:
        """Judge whether the question is answered by the hits among so many texts; one that holds every word possibly is."""
        length = length_in_words(query)
        if self.vector is None:
            judged = judge_words(self.covered, self.lexical, texts=texts, words=length)
        else:
            judged = judge(
                self.late,
                self.vector,
                self.lexical,
                unrelated=self.unrelated,
                texts=texts,
                words=length,
            )
        return judged.at_least_possible(self.with_every_word) if self.with_every_word else judged

    def fused(self) -> Scores:
        """Return the scores of texts by meaning and words together, in [0, 1]."""
        return fuse_scores(self.strengths(), TEXT_WEIGHTS)

    def best(self, limit: int, weights: Mapping[Signal, float] = TEXT_WEIGHTS) -> set[Key]:
        """Return the records of the best fused scores."""
        if len(keys := self.keys()) <= limit:
            return keys
        scores = fuse_scores(self.strengths(), weights)
        return set(nsmallest(limit, scores, key=lambda key: (-scores[key], key)))

    def promising(
        self, keys: Collection[Key], limit: int, rivals: "Signals | None" = None
    ) -> list[Key]:
        """Return the records, at most `limit`, that match best as predicted by cosine and BM25; if all fit, in any order.

        After the first LEAST_COMPARED each must be predicted among the best `limit` of the records together with the rivals.
        """
        others = {} if rivals is None else rivals.late
        if len(keys) + len(others) <= limit:
            return list(keys)
        best = nsmallest(limit, self._expectations(keys))
        if rivals is not None:
            last = nsmallest(limit, [*best, *rivals._expectations(others)])[-1]
            best = [*best[:LEAST_COMPARED], *(e for e in best[LEAST_COMPARED:] if e <= last)]
        return [key for _, key in best]

    def _expectations(self, keys: Iterable[Key]) -> list[tuple[float, Key]]:
        return expectations(keys, self.vector or {}, self.lexical, self.unrelated)

    def lift(self, of: type[TextRecord], standings: Mapping[Key, Standing], query: str) -> None:
        """Lift the strengths of records by their sessions and speakers; call it after the last record was added."""
        sessions: dict[tuple[str, str], list[tuple[datetime, Key]]] = defaultdict(list)
        for key, standing in standings.items():
            if standing.session:
                sessions[key[0], standing.session].append((standing.at, key))
        orders = [[key for _, key in sorted(each)] for each in sessions.values()]
        self.dialogue = {key for key, each in standings.items() if each.is_dialogue}
        named = NamedSpeakers(words(query))
        for signal, scores in self._measured().items():
            if signal is Signal.GRAPH:
                continue
            now = averaged(scores, orders) if of is Turn else lifted(scores, orders, self.dialogue)
            self.context[signal] = now
            if signal is Signal.VECTOR:
                for key in now.keys() & standings.keys():
                    if named.include(standings[key].label):
                        now[key] = 1 - (1 - now[key]) * (1 - NAMED)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in the forms that the search uses: its text, its terms, and its vector if a model is ready.

    `rivals` are the signals of the records of other sources that were compared with it before.
    """

    query: str
    parsed: TextQuery
    embedding: QueryEmbedding | None
    rivals: Signals | None = None


class Retriever:
    """Asks the store for the best records of a class, in the space of the model in use."""

    def __init__(self, store: Records, embeddings: Embeddings) -> None:
        self._store = store
        self._embeddings = embeddings

    def ask(self, query: str, caller: Caller, *classes: type[TextRecord]) -> Asked:
        """Return a question for a search of these by meaning and words; by words alone if no model is ready.

        Notes in the call that records are searched by words alone. Raises InvalidInput for a query
        that is too long.
        """
        embedding = self._embeddings.embed_query(query, caller.call.progress)
        if embedding is None:
            note = self._embeddings.note_of_words_alone()
        else:
            note = self._embeddings.note_of_pending(classes, self._store.seen_by(caller).views)
        if note is not None:
            caller.call.notes["meaning"] = note
        return Asked(query, parse_query(query), embedding)

    def gather(
        self, of: type[TextRecord], views: Iterable[View], asked: Asked, limit: int
    ) -> Signals:
        """Return the best of each selection by each signal, each with its cosine if it has a vector."""
        total = self.empty(asked.embedding, of)
        for view in views:
            found = self.propose(of, view, asked, limit)
            self.complete(of, view, asked, found)
            total.add(found)
        return total

    def empty(self, embedding: QueryEmbedding | None, of: type[TextRecord] = Memory) -> Signals:
        """Return empty signals for records of a class."""
        unrelated = self._embeddings.unrelated(of)
        return Signals(None if embedding is None else {}, {}, unrelated=unrelated)

    def propose(self, of: type[TextRecord], view: View, asked: Asked, limit: int) -> Signals:
        """Return the best of the selected records by each signal, every one with its cosine.

        Without a model the best by words are compared with the question word by word.
        """
        found = self.empty(asked.embedding, of)
        found.lexical = self.matches(of, view, asked.parsed, limit)
        if asked.embedding is not None:
            also = [id for _, id in found.lexical]
            found.vector = self._embeddings.nearest(of, view, asked.embedding, limit, also)
        self.compare_words(of, view, asked.parsed, found)
        return found

    def matches(self, of: type[TextRecord], view: View, query: TextQuery, limit: int) -> Scores:
        """Return the best of the selected records by words."""
        return {(view.organization, each.id): each.score for each in view.match(of, query, limit)}

    def judged(
        self, query: str, found: Signals, looked_through: Mapping[type[TextRecord], Iterable[View]]
    ) -> Judgement[Key]:
        """Judge whether a question is answered by the hits in some selections, by class.

        Where none of the best texts is in its language, it is possibly answered from a lower chance on.
        """
        judged = found.judged(query, sum(self.count(*each) for each in looked_through.items()))
        is_possible = judged.chance >= POSSIBLE_FROM
        if is_possible or not self._is_near_across_languages(query, judged, looked_through):
            return judged
        return judged.at_least_possible()

    def _is_near_across_languages(
        self,
        query: str,
        judged: Judgement[Key],
        looked_through: Mapping[type[TextRecord], Iterable[View]],
    ) -> bool:
        """Tell whether all of the best texts are in other languages than the question, and it is likely enough for that."""
        if judged.measured < POSSIBLE_ACROSS_FROM:
            return False
        asked, nearest = frozenset(languages_of(query)), judged.nearest
        across = sum(
            asked.isdisjoint(languages_of(record.text))
            for of, views in looked_through.items()
            for record in self.read(of, list(views), nearest).values()
        )
        return across == len(nearest)

    def count(self, of: type[TextRecord], views: Iterable[View]) -> int:
        """Count the records among which a search looks, ended ones too: a count at an instant is not remembered."""
        return sum(view.where(valid_at=None).count(of) for view in views)

    def _add_cosines(
        self,
        of: type[TextRecord],
        view: View,
        embedding: QueryEmbedding,
        cosines: Scores,
        keys: Iterable[Key],
    ) -> None:
        """Add the cosines of records that lack them."""
        if missing := frozenset(id for _, id in {*keys} - cosines.keys()):
            cosines |= self._embeddings.nearest(
                of, view.where(ids=missing), embedding, len(missing)
            )

    def complete(self, of: type[TextRecord], view: View, asked: Asked, found: Signals) -> None:
        """Add the cosines of records that other signals found, and compare the best token by token.

        Counting absent cosines as 0 would cost fusion most of what it gains over words alone. Where
        token states are kept, candidates beyond COMPARED are let go; what was compared before, or
        what the graph leads to, stays.
        """
        if asked.embedding is None or found.vector is None:
            return
        self._add_cosines(of, view, asked.embedding, found.vector, found.keys())
        self.compare(of, view, asked.embedding, found, asked.rivals)

    def compare_words(
        self, of: type[TextRecord], view: View, query: TextQuery, found: Signals
    ) -> None:
        """Set `with_every_word` for a short question and, without a model, `covered`: the share of the question in each record.

        The share is measured for the best by words; the others get the least of these.
        """
        is_short = len(query.words) <= FEW_WORDS
        best = nsmallest(COMPARED, found.lexical, key=lambda key: (-found.lexical[key], key))
        if not best or not (is_short or found.vector is None):
            return
        held = view.where(ids=frozenset(id for _, id in best)).holding_words(of, query.words)
        holding = [{(view.organization, id) for id in ids} for ids in held]
        if is_short:
            found.with_every_word = set(best).intersection(*holding)
        if found.vector is None:
            measured = coverage(best, holding, len(query.phrases))
            found.covered = dict.fromkeys(found.lexical, min(measured.values())) | dict(measured)

    def compare(
        self,
        of: type[TextRecord],
        view: View,
        embedding: QueryEmbedding,
        found: Signals,
        rivals: Signals | None = None,
    ) -> None:
        """Compare the best records found, and neighbours of them, token by token; drop the others."""
        space, organization = self._embeddings.space_of(of), view.organization
        if embedding.question is None or not space.states:
            return
        unknown = found.keys() - found.late.keys()
        if not unknown:
            return
        new = found.promising(unknown, COMPARED, rivals)
        if len(new) < len(unknown) and not found.late:
            neighbours = self._near_in_session(
                of, view, embedding, found, new, round(SHARE_NEAR * len(new))
            )
            new = [*neighbours, *(key for key in new if key not in neighbours)][: len(new)]
        found.keep({*found.late, *new, *(found.graph or ())})
        new.sort(key=lambda key: -(found.vector or {}).get(key, 0.0))
        packed = self._states_of(of, organization, [id for _, id in new])
        vector = found.vector or {}
        cosines = np.array([vector.get((organization, id), 0.0) for id in packed], np.float32)
        scores = embedding.question.scores(list(packed.values()), cosines)
        for id, score in zip(packed, scores.tolist(), strict=True):
            found.late[organization, id] = score

    def _states_of(
        self, of: type[TextRecord], organization: str, ids: Sequence[str]
    ) -> dict[str, bytes]:
        """Return the token states of the first of these records that have any, up to MOST_STATES bytes; the cosine of others stands."""
        packed: dict[str, bytes] = {}
        for start in range(0, len(ids), _READ_AT_ONCE):
            some = ids[start : start + _READ_AT_ONCE]
            kept = self._embeddings.token_states(of, organization, some)
            packed |= whole(kept)
            if damaged := sorted(id for id in kept if kept[id] and id not in packed):
                log.warning("damaged token states are not used; store the texts anew: %s", damaged)
            if sum(map(len, packed.values())) >= MOST_STATES:
                break
        return packed

    def _near_in_session(
        self,
        of: type[TextRecord],
        view: View,
        embedding: QueryEmbedding,
        found: Signals,
        chosen: Sequence[Key],
        most: int,
    ) -> dict[Key, None]:
        """Return records near the best of those chosen in their sessions, each with its cosine: an answer often shares little with a question."""
        names, best = _SESSION.get(of, ()), chosen[: most // 2]
        if not names:
            return {}
        near = view.neighbours(of, [id for _, id in best], REACH)
        around = {key: [(view.organization, id) for id in near.get(key[1], ())] for key in best}
        keys = {*best, *chain.from_iterable(around.values())}
        sessions = {
            key: _session(*named) for key, named in self.fields(of, [view], keys, names).items()
        }
        neighbours = (
            other
            for key, others in around.items()
            for other in others
            if other not in around and (its := sessions.get(other)) and its == sessions.get(key)
        )
        near_best = dict.fromkeys(islice(dict.fromkeys(neighbours), most))
        assert found.vector is not None
        self._add_cosines(of, view, embedding, found.vector, near_best)
        return {key: None for key in near_best if key in found.vector}

    def lift(
        self,
        of: type[TextRecord],
        views: Sequence[View],
        query: str,
        found: Signals,
        best: Container[Key],
        at: datetime | None = None,
    ) -> None:
        """Keep the best records, those that were there at an instant, and let sessions and speakers count."""
        found.keep(best)
        standings = self._standings(of, views, found.keys())
        if at is not None:
            standings = {key: each for key, each in standings.items() if each.at <= at}
        found.keep(standings)
        found.lift(of, standings, query)

    def read(self, of: type[R], views: Sequence[View], keys: Iterable[Key]) -> dict[Key, R]:
        """Read the records that were found in some selections, without those that were removed meanwhile."""
        return {
            (record.organization, record.id): record
            for view in _narrowed_to(views, keys)
            for record in view.find(of)
        }

    def _standings(
        self, of: type[TextRecord], views: Sequence[View], keys: Iterable[Key]
    ) -> dict[Key, Standing]:
        """Read the part of records that their context needs, without records that were removed meanwhile."""
        found = self.fields(of, views, keys, _STANDING[of])
        return {key: _standing(of, *fields) for key, fields in found.items()}

    def fields(
        self, of: type[TextRecord], views: Sequence[View], keys: Iterable[Key], names: Sequence[str]
    ) -> dict[Key, Sequence[Any]]:
        """Read some fields of records, without records that were removed meanwhile."""
        return {
            (view.organization, id): fields
            for view in _narrowed_to(views, keys)
            for id, *fields in view.values(of, ("id", *names))
        }


def _standing(
    of: type[TextRecord],
    at: datetime,
    first: str | None,
    second: str,
    *session: Origin | str | None,
) -> Standing:
    label = label_of(second if first is None else f"{first}\n{second}")
    return Standing(_session(*session), at, label, of is Turn or label is not None)


def _session(named: Origin | str | None = None) -> str | None:
    return named.session if isinstance(named, Origin) else named


def _narrowed_to(views: Iterable[View], keys: Iterable[Key]) -> Iterator[View]:
    """Yield selections of some of the records in others."""
    ids: dict[str, set[str]] = {}
    for organization, id in keys:
        ids.setdefault(organization, set()).add(id)
    for view in views:
        if view.organization in ids:
            yield view.where(ids=frozenset(ids[view.organization]))
