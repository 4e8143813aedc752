"""Store the documents of a data set in stores of their own, and put its questions to the real tools."""

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from benchmarks.finding.datasets import Collection, Dataset, Document, Query
from minutebook.app import App, now, open_app
from minutebook.config import Settings
from minutebook.config.models import Models, models_of
from minutebook.memory.search.doubt import RELEVANCE
from minutebook.record.caller import Caller, Note, Progress, with_call
from minutebook.record.errors import EmbeddingNotReady, MinutebookError
from minutebook.record.origin import Origin
from minutebook.record.writing.drafts import Draft
from minutebook.serve.contracts.knowledge import knowledge
from minutebook.serve.contracts.lines import as_lines

LIMIT = 10
"""The results of the call whose time and size are measured: what a client gets by default."""

DEEP = 50
"""The results that are ranked: the most that a tool gives."""

BUDGETS = (500, 1_000, 2_000)
"""The tokens of an answer in lines within which it is counted what of the relevant arrives."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class System:
    """A way of searching: a tool of the `knowledge` contract with some of its arguments.

    `embeds` tells whether it needs the vector of the question.
    """

    name: str
    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    embeds: bool = True


WORDS = System("words", "search_text", embeds=False)
VECTORS = System("vectors", "search")
RECALL = System("recall", "recall")
WITHOUT_GRAPH = System("recall without graph", "recall", {"ppr_weight": 0.0})

_CODE = {"include_memories": False, "include_code": True, "ppr_weight": 0.0}
CODE_SYSTEMS = (
    System("words", "recall", {**_CODE, "vector_weight": 0.0, "bm25_weight": 1.0}, embeds=False),
    System("vectors", "recall", {**_CODE, "vector_weight": 1.0, "bm25_weight": 0.0}),
    System("search_code", "search_code"),
)
"""The first two are words and vectors alone, reranked by names and paths as the tool does."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The time spent: wall and CPU time (of all threads) in milliseconds."""

    wall: float
    cpu: float

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.wall + other.wall, self.cpu + other.cpu)


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The results of one system for a question.

    `ranked` are the documents found, best first, of DEEP results, `best` the score of the first (0
    without any), `is_doubted` whether the answer says that perhaps nothing is about it. `spent` is the time of a call for LIMIT results,
    the question's vector included, `tokens` the size of its answer: bytes of UTF-8 by four. `revised` are the documents
    of that answer of which it says that they are perhaps revised, `within` those of an answer in lines by its tokens.
    """

    ranked: Sequence[str]
    best: float
    is_doubted: bool
    spent: Spent
    tokens: float
    revised: frozenset[str] = frozenset()
    within: Mapping[int, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A query, whether the store holds its answer, and each system's outcome.

    `sessions` maps each document of the store to its session, where it has one.
    """

    query: Query
    answerable: bool
    outcomes: Mapping[str, RunOutcome]
    sessions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """All questions to a data set: `results` for the ranking, `apart` for those without an answer.

    `negatives` says where the questions without an answer come from. `stored` is the mean cost of
    storing a document.
    """

    dataset: Dataset
    model: str
    systems: tuple[str, ...]
    results: Sequence[QueryResult]
    apart: Sequence[QueryResult]
    negatives: str
    stored: Spent

    @property
    def main(self) -> str:
        """The system that is compared with the others."""
        return self.systems[-1]


def run(dataset: Dataset, settings: Settings, progress: Progress) -> Run:
    """Store and ask everything, each collection in a new store under a temporary folder.

    The model is the one that the settings name. Raises EmbeddingNotReady if it cannot be loaded.
    """
    models = models_of(settings)
    models.embedding.start()
    models.embedding.wait()
    if models.embedding.state != "ready":
        raise EmbeddingNotReady(models.embedding.state, models.embedding.reason)
    with closing(models.embedding), tempfile.TemporaryDirectory(prefix="minutebook-bench-") as top:
        # Nothing of an organization's, such as its repository of decisions.
        unset: dict[str, Any] = dict.fromkeys(
            each.name for each in fields(settings) if each.metadata["owner"] == "organization"
        )
        own = replace(
            settings,
            home=Path(top) / "home",
            durability="normal",
            policy=None,
            **unset,
        )
        return _Bench(dataset, own, models, progress).run()


class _Bench:
    """Runs one data set."""

    def __init__(
        self, dataset: Dataset, settings: Settings, models: Models, progress: Progress
    ) -> None:
        self._dataset = dataset
        self._settings = settings
        self._models = models
        self._steps = _Steps(progress, dataset)
        self._systems = _systems(dataset)
        self._negatives = negatives_of(dataset)

    def run(self) -> Run:
        results: list[QueryResult] = []
        apart: list[QueryResult] = []
        stored = Spent(0.0, 0.0)
        for number, collection in enumerate(self._dataset.collections):
            settings = replace(self._settings, home=self._settings.home / str(number))
            clock = _ReplayClock()
            with closing(open_app(settings, models=self._models, clock=clock)) as app:
                store = _Store(app, clock, settings.home / "code", collection, self._steps)
                stored += store.spent
                here = [self._ask(store, each) for each in collection.queries]
                results += [each for each in here if each.answerable]
                apart += [*here, *self._unanswerable(store, number)]
        count = sum(len(each.documents) for each in self._dataset.collections)
        return Run(
            self._dataset,
            self._models.embedding.model.name,
            tuple(each.name for each in self._systems),
            results,
            apart if self._negatives else [],
            self._negatives,
            Spent(stored.wall / max(1, count), stored.cpu / max(1, count)),
        )

    def _unanswerable(self, store: "_Store", number: int) -> Iterator[QueryResult]:
        """Ask the questions without an answer in the store of a collection, the given questions apart."""
        collection = store.collection
        if self._negatives == OTHER_STORE:
            for query in self._dataset.collections[number - 1].queries:
                yield self._ask(store, replace(query, relevant={}))
        elif self._negatives == REMOVED:
            by_answer: dict[frozenset[str], list[Query]] = {}
            for query in collection.queries:
                by_answer.setdefault(frozenset(query.relevant), []).append(query)
            for relevant, queries in by_answer.items():
                with store.without(relevant):
                    for query in queries:
                        yield self._ask(store, replace(query, relevant={}))

    def _ask(self, store: "_Store", query: Query) -> QueryResult:
        _, embedding = _timed(lambda: self._models.embedding.embed_query(query.text))
        outcomes = {}
        for system in self._systems:
            answer, spent = _timed(lambda system=system: store.call(system, query, LIMIT))  # type: ignore[misc]
            content, notes = answer
            found = store.call(system, query, DEEP, 0)[0]["results"]
            outcomes[system.name] = RunOutcome(
                store.documents(found),
                _relevance(found[0]) if found else 0.0,
                RELEVANCE in notes,
                spent + embedding if system.embeds else spent,
                size(json.dumps(content, ensure_ascii=False)),
                frozenset(
                    store.documents(each for each in content["results"] if "revised_by" in each)
                ),
                store.within(system, query) if self._counts_within(system, query) else {},
            )
        self._steps.step(query.text)
        return QueryResult(query, bool(query.relevant), outcomes, store.collection.session_of)

    def _counts_within(self, system: System, query: Query) -> bool:
        """Tell whether documents within some tokens are counted: for `recall`, if a query has relevant ones."""
        return bool(query.relevant) and system is self._systems[-1] and system.tool == "recall"


def _relevance(result: Mapping[str, Any]) -> float:
    """Return how likely a result is about the question, where a tool says so, else its score."""
    found: float = result.get("relevance", result["score"])
    return found


def size(text: str) -> float:
    """Return the tokens of a text, about: bytes of UTF-8 by four."""
    return len(text.encode()) / 4


GIVEN = "questions that come without an answer"
OTHER_STORE = "the questions of the collection before"
REMOVED = "the same questions, asked once their documents were removed"


def negatives_of(dataset: Dataset) -> str:
    """Return where the questions without an answer come from; empty if there are none."""
    if any(collection.is_code for collection in dataset.collections):
        return ""
    if any(document.is_turn for each in dataset.collections for document in each.documents):
        return GIVEN
    if any(
        not query.relevant for collection in dataset.collections for query in collection.queries
    ):
        return GIVEN
    return OTHER_STORE if dataset.form == "locomo" and len(dataset.collections) > 1 else REMOVED


def _systems(dataset: Dataset) -> tuple[System, ...]:
    """Choose the systems to compare; the last is Minutebook as offered, the others its baselines."""
    if any(collection.is_code for collection in dataset.collections):
        return CODE_SYSTEMS
    related = any(collection.relations for collection in dataset.collections)
    return (WORDS, VECTORS, *((WITHOUT_GRAPH,) if related else ()), RECALL)


class _ReplayClock:
    """Tells the present, or the instant of the document that is being stored."""

    said: datetime | None = None

    def __call__(self) -> datetime:
        return self.said or now()


class _Store:
    """One collection in an open store; `spent` is the time it took to store it."""

    def __init__(
        self, app: App, clock: _ReplayClock, folder: Path, collection: Collection, steps: "_Steps"
    ) -> None:
        self.collection = collection
        self._app = app
        self._clock = clock
        self._contract = knowledge()
        self._caller = Settings().caller()
        self._steps = steps
        self._memory: dict[str, str] = {}
        self._document: dict[str, str] = {}
        if collection.is_code:
            self.spent = self._index(folder)
        else:
            self.spent = sum(map(self._keep, collection.documents), Spent(0.0, 0.0))
            self.spent += _timed(lambda: app.embeddings.backfill(Event()))[1]
            self._relate()

    def call(
        self,
        system: System,
        query: Query,
        limit: int,
        tokens: int | None = None,
        *,
        in_lines: bool = False,
    ) -> tuple[Mapping[str, Any], Mapping[str, Note]]:
        """Return the object that a tool answers in so many tokens, None: as set, and its notes; `in_lines` the one it would write as lines.

        Raises MinutebookError if it answers with an error.
        """
        arguments = {"query": query.text, "limit": limit, **system.arguments}
        set_tokens = self._app.recall_tokens
        self._app.recall_tokens = set_tokens if tokens is None else tokens
        caller = with_call(replace(self._caller, as_of=query.at), in_lines=in_lines)
        answer = self._answer(caller, system.tool, arguments)
        self._app.recall_tokens = set_tokens
        return answer

    def documents(self, results: Iterable[Mapping[str, Any]]) -> list[str]:
        """Return the ids of the documents that results were stored for, without results of other origin."""
        name = "file_path" if self.collection.is_code else "id"
        return [self._document[each[name]] for each in results if each[name] in self._document]

    def within(self, system: System, query: Query) -> dict[int, list[str]]:
        """Return the documents with lines that stand whole in the first tokens of an answer, by how many."""
        found = {}
        for budget in BUDGETS:
            results = self.call(system, query, DEEP, budget, in_lines=True)[0]["results"]
            ends = accumulate(size(as_lines({"results": [each]}, {}) + "\n") for each in results)
            fitting = sum(end <= budget for end in ends)
            found[budget] = self.documents(results[:fitting])
        return found

    @contextmanager
    def without(self, documents: Iterable[str]) -> Iterator[None]:
        """Remove some documents for a while."""
        removed = [
            document for document in self.collection.documents if document.id in set(documents)
        ]
        for document in removed:
            id = self._memory.pop(document.id)
            del self._document[id]
            self._app.memories.delete(self._caller, id)
        yield
        for document in removed:
            self._keep(document)

    def _keep(self, document: Document) -> Spent:
        """Store a document as a memory or a turn of its session, at its time."""
        origin = Origin(client="minutebook bench", session=document.session)
        caller = with_call(self._caller, session=document.session, origin=origin)
        self._clock.said = document.at
        id, spent = _timed(lambda: self._kept(caller, document))
        self._clock.said = None
        self._memory[document.id] = id
        self._document[id] = document.id
        self._steps.step(document.text)
        return spent

    def _kept(self, caller: Caller, document: Document) -> str:
        if document.is_turn:
            said = document.session or None, document.text, "", document.response
            return self._app.sessions.add(caller, *said).id
        draft = Draft(content=document.text, type=document.type)
        return self._app.memories.store(caller, draft).id

    def _relate(self) -> None:
        service = self._app.entities
        entities = {
            id: service.create_entity(self._caller, name, type, None, None).id
            for id, (name, type) in self.collection.entities.items()
        }
        for source, type, target in self.collection.relations:
            service.create_relation(self._caller, entities[source], entities[target], type, 1.0)

    def _index(self, folder: Path) -> Spent:
        """Index the documents as files of Python."""
        folder.mkdir(parents=True)
        for number, document in enumerate(self.collection.documents):
            path = f"{number:05}.py"
            (folder / path).write_text(document.text, encoding="utf-8")
            self._document[path] = document.id
            self._steps.step(document.text)
        named = {"path": str(folder)}
        spent = _timed(lambda: self._answer(self._caller, "index_project", named))[1]
        # The tool waits a while for the vectors only.
        return spent + _timed(lambda: self._app.embeddings.backfill(Event()))[1]

    def _answer(
        self, caller: Caller, tool: str, arguments: Mapping[str, object]
    ) -> tuple[Mapping[str, Any], Mapping[str, Note]]:
        """Return the object that a tool answers, and its notes. Raises MinutebookError if it answers with an error."""
        answer = self._contract.call(self._app, caller, tool, arguments)
        if answer.content is None:
            raise MinutebookError(f"{tool}: {answer.text}")
        return answer.content, answer.notes


class _Steps:
    """Reports how many documents and questions are done."""

    def __init__(self, progress: Progress, dataset: Dataset) -> None:
        counts = [(len(each.documents), len(each.queries)) for each in dataset.collections]
        twice = 2 if negatives_of(dataset) in {OTHER_STORE, REMOVED} else 1
        self._progress = progress
        self._whole = sum(documents + twice * queries for documents, queries in counts)
        self._done = 0

    def step(self, what: str) -> None:
        """Count one more."""
        self._done += 1
        self._progress(min(1.0, self._done / max(1, self._whole)), what)


def _timed(work: Callable[[], T]) -> tuple[T, Spent]:
    cpu, started = time.process_time(), time.perf_counter()
    done = work()
    return done, Spent((time.perf_counter() - started) * 1e3, (time.process_time() - cpu) * 1e3)
