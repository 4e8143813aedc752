"""One ranked list of memories, decisions, sessions and code, each possible revision before the hit that it revises."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import Protocol

from minutebook.memory.access.provenance import attribute, provenance_of
from minutebook.memory.access.visibility import Records
from minutebook.memory.search.doubt import LookedThrough, note_doubt, note_empty
from minutebook.memory.search.hit_notes import HitNotes, Notes, is_shown_last
from minutebook.memory.search.newest_first import NewestFirst, RevisedBy
from minutebook.memory.search.passages import TOKENS_A_HIT, Passages
from minutebook.memory.search.recall import Answering, Recall, Selection
from minutebook.memory.search.signals import Key
from minutebook.record.caller import Caller, Note
from minutebook.record.day import DaySpan
from minutebook.record.instants import rfc3339
from minutebook.record.reason import Reason
from minutebook.record.records import CodeChunk, Kind, ProjectCommit
from minutebook.record.sources import Source
from minutebook.text.answerability import POSSIBLE_FROM
from minutebook.text.fusion import FusedHit, Signal, z_normalise
from minutebook.text.passages import count_tokens

POOL, READ = 40, 16
"""How many of the best hits are interleaved by session, and how many of these at least are ordered by revision."""


MOST_LAST, SHARE_LAST = 4, 0.3
"""The most hits of sources that rank last in an answer that has others, and their largest share of its tokens."""

LAST_FROM = 0.3
"""The least relevance of the best hit of sources that rank last at which they are shown with others: some of thousands of
short commit messages are near any question."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A hit: a record, its passage that answers, its score in the whole list, and the share of each signal."""

    record: Answering | CodeChunk | ProjectCommit
    text: str
    score: float
    hit: FusedHit[Key]
    relevance: float
    """How likely it is about the question, in [0, 1]."""
    details: Mapping[str, float] = field(default_factory=dict)
    """The components of the vector signal, by name."""
    followed: tuple[str, ...] = ()
    """The decisions, now superseded, that matched before this one."""
    revised_by: RevisedBy | None = None
    """The possible revision of the record, which is ranked above it."""
    notes: Notes = field(default_factory=dict)
    """The notes of features on the record."""
    is_asked_for: bool = False
    """Whether the question asks for records of this kind, or names the place of this one."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits of several kinds, best first, and the size of the graph that was walked.

    `order` has the keys of all ranked records, also of those after the results. `chance` is the probability that one of
    them answers, `looked_through` has what was searched.
    """

    results: list[Ranked]
    subgraph_nodes: int = 0
    order: tuple[Key, ...] = ()
    chance: float = 0.0
    looked_through: LookedThrough = field(default_factory=dict)

    def count(self, *kinds: Kind) -> int:
        """Count the results of some kinds."""
        return sum(each.record.kind in kinds for each in self.results)


class ListedSource(Protocol):
    """A source that ranks its own records; if others are found too, z-scores make one list of both.

    Records of a source that `ranks_last` come after others that possibly answer, unless they are asked for.
    """

    @property
    def ranks_last(self) -> bool:
        """Whether other records that possibly answer come first."""

    @property
    def source(self) -> Source:
        """The source as which the records are asked for."""

    def ranked(
        self,
        caller: Caller,
        query: str,
        limit: int,
        weights: Mapping[Signal, float],
        selection: Selection,
        *,
        project: str | None,
        language: str | None,
    ) -> Sequence[Ranked]:
        """Return the best records of the selection's time, only those of a project or in a language if these are given.

        Raises NotFound for an unknown project, InvalidInput for an unknown language.
        """


class CombinedRecall:
    """Searches memories, decisions, sessions and code, and ranks the hits in one list."""

    def __init__(
        self,
        store: Records,
        recall: Recall,
        newest: NewestFirst,
        passages: Passages,
        notes: HitNotes,
        listed: Sequence[ListedSource] = (),
    ) -> None:
        self._store = store
        self._recall = recall
        self._newest = newest
        self._passages = passages
        self._notes = notes
        self._listed = listed

    def recall(
        self,
        caller: Caller,
        query: str,
        limit: int,
        weights: Mapping[Signal, float],
        sources: Collection[Source],
        *,
        selection: Selection | None = None,
        tokens: int = 0,
        project: str | None = None,
        language: str | None = None,
    ) -> Ranking:
        """Rank the records of some sources, each with the passage that answers, within a budget of tokens (0: whole texts).

        Texts are scored together, code by itself: if both are found, each list's scores become z-scores. Hits with a note of a
        feature that demands it come last. Without a selection the records valid at the caller's instant are ranked. `project`
        and `language` narrow the code. If the question asks what happened on days that it names, records of these days come
        first, and the call notes that. Raises NotFound for an unknown project, InvalidInput for an unknown language.
        """
        selection = Selection(at=caller.as_of) if selection is None else selection
        find = partial(self._rank, caller, query, weights, sources, project, language)
        then = Ranking([])
        if (days := self._recall.days_asked_for(caller, query, selection)) is not None:
            of_days = replace(selection.query, since=days.since, until=days.until)
            then = _as_possible(find(replace(selection, query=of_days), limit, tokens))
            _note_days(caller, days, then)
        ranking, spent = then, _cost(then.results)
        if len(then.results) < limit and (not tokens or spent < tokens):
            ranking = _with_rest(then, find(selection, limit, tokens and tokens - spent), limit)
        if not ranking.results:
            note_empty(caller, ranking.looked_through, at=selection.at)
        elif not then.results:
            note_doubt(caller, ranking.chance)
        return replace(ranking, results=self.annotated(caller, ranking.results))

    def _rank(
        self,
        caller: Caller,
        query: str,
        weights: Mapping[Signal, float],
        sources: Collection[Source],
        project: str | None,
        language: str | None,
        selection: Selection,
        limit: int,
        tokens: int,
    ) -> Ranking:
        """Rank the records of a selection; the `chance` of the ranking counts all sources."""
        alone = [each for each in self._listed if each.source in sources]
        texts = [each for each in sources if each not in {one.source for one in alone}]
        listed: dict[bool, list[Ranked]] = {True: [], False: []}
        for each in alone:
            found = each.ranked(
                caller, query, limit, weights, selection, project=project, language=language
            )
            listed[each.ranks_last] += _up_to(selection.at, found)
        last = listed[True]
        has_last = _best_of(last) >= LAST_FROM
        for_last = min(_cost(last[:MOST_LAST]), round(tokens * SHARE_LAST)) if has_last else 0
        # Only the texts are read as of one moment: listed sources and notes wait for what other threads write.
        with self._store.one_moment():
            ranking = self._texts(
                caller, query, limit, weights, texts, selection, tokens - for_last
            )
        ranked = _merged(ranking.results, listed[False], limit)
        if has_last or not ranked:
            ranked = _with_last(ranked, last)[:limit]
        return replace(ranking, results=ranked, chance=max(ranking.chance, _best_of(ranked)))

    def annotated(self, caller: Caller, ranked: Sequence[Ranked]) -> list[Ranked]:
        """Return hits with the notes of features, those last that a note puts there, and note their authors in the call."""
        attribute(caller, (each.record for each in ranked))
        found = self._notes.notes_of(caller, (each.record for each in ranked))
        noted = [replace(each, notes=found.get(each.record.key, {})) for each in ranked]
        return sorted(noted, key=lambda each: is_shown_last(each.notes))

    def _texts(
        self,
        caller: Caller,
        query: str,
        limit: int,
        weights: Mapping[Signal, float],
        sources: Collection[Source],
        selection: Selection,
        tokens: int,
    ) -> Ranking:
        if not sources:
            return Ranking([])
        most = max(limit, READ)
        found = self._recall.recall(
            caller, query, most, weights, selection, sources, ranked=max(limit, POOL)
        )
        hits, revised = self._newest.order(found.hits, found.asked)
        best = hits[:limit]
        shown = self._passages.within(caller, best, found.asked, tokens, revised, selection.at)
        results = [
            Ranked(
                each.record,
                shown[each.hit.id],
                each.hit.score,
                each.hit,
                each.relevance,
                each.details,
                each.followed,
                revised.get(each.hit.id),
            )
            for each in best
            if each.hit.id in shown
        ]
        first = [each.hit.id for each in hits]
        order = dict.fromkeys((*first, *found.order))
        return Ranking(
            results, found.subgraph_nodes, tuple(order), found.chance, found.looked_through
        )


def _up_to(at: datetime | None, found: Iterable[Ranked]) -> Iterator[Ranked]:
    """Yield the records that were written by an instant (None: now), and code, which has no time."""
    for each in found:
        known = provenance_of(each.record)
        if at is None or known is None or known.at <= at:
            yield each


def _best_of(ranked: Sequence[Ranked]) -> float:
    """Return the highest relevance of some hits, 0 if there are none."""
    return max((each.relevance for each in ranked), default=0.0)


def _cost(ranked: Sequence[Ranked]) -> int:
    """Return the tokens that records take in an answer."""
    return sum(count_tokens(each.text) + TOKENS_A_HIT for each in ranked)


def _as_possible(ranking: Ranking) -> Ranking:
    """Return the records of the days that a question names as possible answers, the newest first unless one is likely."""
    results = [replace(e, relevance=max(e.relevance, POSSIBLE_FROM)) for e in ranking.results]
    if ranking.chance < POSSIBLE_FROM:
        dated = [(known.at, each) for each in results if (known := provenance_of(each.record))]
        results = [each for _, each in sorted(dated, key=itemgetter(0), reverse=True)]
    return replace(ranking, results=results)


def _note_days(caller: Caller, days: DaySpan, found: Ranking) -> None:
    """Note in the call the days that the question names, and whether records of them come first."""
    first, last = (
        each.astimezone().date() for each in (days.since, days.until - timedelta(days=1))
    )
    shown = f"{first}" if first == last else f"{first} – {last}"
    text = (
        Reason("What was kept on the days that the question names comes first: {days}.", days=shown)
        if found.results
        else Reason("Nothing was kept on the days that the question names: {days}.", days=shown)
    )
    facts = {"since": rfc3339(days.since), "until": rfc3339(days.until)}
    caller.call.notes["days"] = Note(facts, text, leads=True)


def _with_rest(first: Ranking, rest: Ranking, limit: int) -> Ranking:
    """Return a ranking with the records of another after its own."""
    own = {each.hit.id for each in first.results}
    results = [*first.results, *(each for each in rest.results if each.hit.id not in own)]
    order = tuple(dict.fromkeys((*first.order, *rest.order)))
    return replace(rest, results=results[:limit], order=order)


def _with_last(ranked: Sequence[Ranked], last: Sequence[Ranked]) -> list[Ranked]:
    """Insert at most MOST_LAST further hits after all that possibly answer, or before all if they are asked for."""
    if not (ranked and last):
        return list(ranked or last)
    keys = {each.hit.id for each in last[:MOST_LAST]}
    others = [each for each in ranked if each.hit.id not in keys]
    least = float("inf") if last[0].is_asked_for else POSSIBLE_FROM
    answers = [each for each in others if each.relevance >= least]
    return [*answers, *last[:MOST_LAST], *(each for each in others if each.relevance < least)]


def _merged(texts: list[Ranked], listed: list[Ranked], limit: int) -> list[Ranked]:
    """Merge two lists by z-scores, each by its own mean and deviation."""
    if not texts or not listed:
        return texts or listed
    merged = [
        replace(each, score=score)
        for ranked in (texts, listed)
        for each, score in zip(ranked, z_normalise([r.score for r in ranked]), strict=True)
    ]
    return sorted(merged, key=lambda each: (-each.score, each.record.id))[:limit]
