"""Find code: by meaning and by words, definitions first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from minutebook.app import App
from minutebook.features.code.chunking.languages import LANGUAGES, Language, language_named
from minutebook.features.code.references import references_in, relative_to_root
from minutebook.features.code.rerank import RankedChunk, is_named, rerank
from minutebook.memory.access.visibility import View
from minutebook.memory.embeddings import QueryEmbedding
from minutebook.memory.search.combined import Ranked
from minutebook.memory.search.doubt import note_doubt, note_empty
from minutebook.memory.search.recall import Selection
from minutebook.memory.search.signals import Asked, Key, Retriever, Scores, Signals
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import must_be_one_of
from minutebook.record.records import CodeChunk, Project
from minutebook.record.sources import Source
from minutebook.text.answerability import LIKELY_FROM, Judgement, Verdict, judge_code, verdict_of
from minutebook.text.fusion import Fused, FusedHit, Signal, minmax
from minutebook.text.words import length_in_words, words

CANDIDATES = 100
"""How many the vector signal proposes, and how many the lexical one."""

MEAN_PART = 0.5
"""The share of the mean question that is subtracted from each question's vector (docs/decisions/0015-code-search.md)."""

NEAR = 0.6
"""The least cosine, less the mean question, at which code is perhaps about a question.

CoSQA's answers have 0.68 or more, unrelated code up to 0.63, answers in a small folder 0.6: it is better to show code
of little relevance than nothing.
"""

FEW_WORDS = 2
"""If a question has no more words, a chunk with one of them is about it."""

WEIGHTS: Mapping[Signal, float] = {Signal.VECTOR: 0.85, Signal.LEXICAL: 0.15}
"""The weights of the signals if the caller does not choose."""


@dataclass(frozen=True, slots=True)
class FoundCode:
    """A chunk, its score, its signals without the factors of names and places, its relevance in [0, 1].

    A chunk that the question names has a relevance of LIKELY_FROM or more.
    """

    chunk: CodeChunk
    score: float
    hit: FusedHit[Key]
    relevance: float

    @property
    def verdict(self) -> Verdict:
        """The relevance in a word."""
        return verdict_of(self.relevance)


class CodeSearch:
    """Ranks the chunks of the projects that the caller may see, by themselves or in a list (a ListedSource)."""

    source = Source.CODE
    ranks_last = False

    def __init__(self, app: App) -> None:
        self._store = app.infrastructure.records
        self._signals = Retriever(self._store, app.embeddings)

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
    ) -> list[Ranked]:
        """Rank chunks as `search` does, for a list with other records. Raises as `search`.

        A question about a time has no chunks, since a chunk has no time.
        """
        if selection.query.is_timed:
            return []
        views = self._selected(caller, project, language)
        found = self._best(caller, query, limit, views, weights)
        return [
            Ranked(each.chunk, each.chunk.content, each.score, each.hit, each.relevance)
            for each in found
        ]

    def search(
        self,
        caller: Caller,
        query: str,
        limit: int,
        *,
        project: str | None = None,
        language: str | None = None,
        path: str | None = None,
    ) -> list[FoundCode]:
        """Rank chunks; only those of a project or language, or with paths that begin with `path`, if these are given.

        A language may have any of its usual names: `C++`, `TypeScript`, `py`. Without a model words
        alone decide; a chunk that has no vector yet is ranked by its lexical score in place of its
        cosine. Lines that the query names, `src/pay.py:12`, come first. The caller's call notes doubt and an empty
        answer. Raises NotFound for an unknown project, InvalidInput for an unknown language.
        """
        views = self._selected(caller, project, language, path)
        found = self._best(caller, query, limit, views, WEIGHTS)
        if found:
            note_doubt(caller, max(each.relevance for each in found))
        else:
            note_empty(caller, {CodeChunk: views})
        return found

    def _best(
        self,
        caller: Caller,
        query: str,
        limit: int,
        views: list[View],
        weights: Mapping[Signal, float],
    ) -> list[FoundCode]:
        """Return the chunks at the lines that a query names, then the best others, at most `limit` in all."""
        asked = self._signals.ask(query, caller, CodeChunk)
        if (embedding := asked.embedding) is not None:
            embedding = embedding.without_mean(MEAN_PART)
        signals, measured = self._gathered(views, replace(asked, embedding=embedding))
        fused = Fused(signals.found(), weights)
        # All are ranked by three fields; only the best are read whole.
        fields = self._signals.fields(CodeChunk, views, fused.scores, ("path", "name", "type"))
        candidates = {
            key: RankedChunk(key, fused.scores[key], *values) for key, values in fields.items()
        }
        judged = self._judged(query, embedding, measured, views)
        at_lines = self._at_lines(caller, query, views)
        if at_lines or _is_few_words(query, signals) or is_named(query, candidates.values()):
            judged = judged.at_least_possible()
        ranked = rerank(query, candidates.values(), limit)
        keys = [key for key, _ in ranked]
        chunks = self._signals.read(CodeChunk, views, keys)
        found = [
            FoundCode(each, 1.0, FusedHit((each.organization, each.id), 1.0, ()), 1.0)
            for each in at_lines
        ]
        for (key, score), hit in zip(ranked, fused.hits(keys), strict=True):
            if key in chunks and chunks[key] not in at_lines:
                relevance = judged.relevance(key)
                if is_named(query, [candidates[key]]):
                    relevance = max(relevance, LIKELY_FROM)
                found.append(FoundCode(chunks[key], score, hit, relevance))
        return found[:limit]

    def _gathered(self, views: list[View], asked: Asked) -> tuple[Signals, Signals]:
        """Return the signals with estimates for missing cosines, and the signals without these."""
        signals, measured = Signals(None, {}), self._signals.empty(asked.embedding, CodeChunk)
        for view in views:
            found = self._signals.gather(CodeChunk, [view], asked, CANDIDATES)
            measured.add(found)
            found.vector = _with_estimated_cosines(found.vector or {}, found.lexical)
            signals.add(found)
        return signals, measured

    def _judged(
        self, query: str, embedding: QueryEmbedding | None, measured: Signals, views: list[View]
    ) -> Judgement[Key]:
        """Judge whether the question is answered; at least possible if the model has no known mean question."""
        if embedding is None:
            return self._signals.judged(query, measured, {CodeChunk: views})
        texts, length = self._signals.count(CodeChunk, views), length_in_words(query)
        cosines = measured.vector or {}
        judged = judge_code(cosines, measured.lexical, texts=texts, words=length)
        is_near = max(cosines.values(), default=0.0) >= NEAR
        return judged.at_least_possible() if is_near or embedding.mean is None else judged

    def _at_lines(self, caller: Caller, query: str, views: Sequence[View]) -> list[CodeChunk]:
        """Return the chunks with lines that a query names, such as `src/pay.py:12`."""
        named = [
            (each.path, *each.lines) for each in references_in(query) if each.path and each.lines
        ]
        found = []
        for project in self._store.seen_by(caller).find(Project) if named else ():
            for (path, first, last), view in product(named, views):
                own_path = relative_to_root(project.path, path)
                found += [
                    each
                    for each in view.narrowed(path=own_path).find(CodeChunk)
                    if each.project == project.id
                    and each.organization == project.organization
                    and each.start_line <= last
                    and each.end_line >= first
                ]
        return found

    def _selected(
        self, caller: Caller, project: str | None, language: str | None, path: str | None = None
    ) -> list[View]:
        """Return the views of the caller's chunks, narrowed by the conditions that are given."""
        conditions = {}
        if language is not None:
            conditions["language"] = _language(language).name
        starts = {} if path is None else {"path": path}
        seen = self._store.seen_by(caller).narrowed(**conditions).where(starts=starts)
        if project is None:
            return list(seen)
        view = seen.view_of(self._store.read(caller, Project, project).organization)
        return [] if view is None else [view.narrowed(project=project)]


def _language(name: str) -> Language:
    """Return the language with this name. Raises InvalidInput if there is none."""
    known = language_named(name)
    if known is None:
        raise InvalidInput("language", must_be_one_of(sorted({each.name for each in LANGUAGES})))
    return known


def _is_few_words(query: str, signals: Signals) -> bool:
    """Tell whether a query has few words, and a chunk has one of them."""
    return bool(signals.lexical) and len(words(query)) <= FEW_WORDS


def _with_estimated_cosines(vector: Scores, lexical: Scores) -> Scores:
    """Return the cosines, with an estimate from its lexical score for each chunk that has none."""
    if not vector:
        return vector
    worst, best = min(vector.values()), max(vector.values())
    estimated = {id: worst + part * (best - worst) for id, part in minmax(lexical).items()}
    return {**estimated, **vector}
