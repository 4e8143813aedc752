"""Stores in which a question has an answer, and stores in which it has none, for `benchmarks.calibrate_verdict`.

Stores of 1 to 3,000 texts are drawn from sets of texts. A *near stranger* is a question of the same set
whose answer is not in the store: LoCoMo's and BEAM's questions are asked of other conversations, questions on
notes, statements and decisions of the others of their set, XQuAD's of the other paragraphs. A *far stranger*
(`benchmarks/far_questions.jsonl`) is about nothing of the kind. What search measures is computed here as
`memory/search/signals.py` does, without a store. Embeddings are kept in a folder of temporary files.
"""

import hashlib
import json
import pickle
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import public_sets
from benchmarks.finding import datasets
from benchmarks.measure import DATA
from benchmarks.quality import OURS, PUBLIC
from minutebook.memory.embeddings import QueryEmbedding
from minutebook.memory.search.recall import CANDIDATES
from minutebook.memory.search.signals import COMPARED
from minutebook.model.protocol import Embedded, Vector
from minutebook.model.service import Embedding
from minutebook.record.records import CodeChunk
from minutebook.store.sidecar.words import K1, B, idf
from minutebook.text.calibration import expectations
from minutebook.text.coverage import coverage
from minutebook.text.late_interaction import ENGLISH_SCORE, OTHER_SCORE, Question
from minutebook.text.words import TextQuery, is_stop_term, parse_query, terms

Floats = NDArray[np.float64]

SIZES = (1, 3, 10, 30, 100, 200, 500, 1500)
"""How many texts a store has."""

KEYWORD_SEED = 4

_WORD = re.compile(r"[^\W\d_]{4,20}")

BATCH = 32
"""Texts that are embedded at once."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question, the texts of its set that answer it, and the talk that it is about, if it is about one."""

    text: str
    relevant: frozenset[str]
    talk: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a set by id, the talk of each (empty: none), and what is asked of them."""

    name: str
    texts: Mapping[str, str]
    talks: Mapping[str, str]
    queries: Sequence[Query]


def locomo(count: int) -> Texts:
    """LoCoMo's turns, and its questions that have an answer (categories 1 to 4)."""
    return _talks("locomo", PUBLIC / "locomo-dev.json", count, lambda groups: "1–4" in groups)


def beam(count: int) -> Texts:
    """Messages of BEAM's long chats, and its questions that have an answer."""
    return _talks("chats", PUBLIC / "beam-dev.jsonl", count, lambda groups: True)


def _talks(name: str, path: Path, count: int, chosen: Callable[[tuple[str, ...]], bool]) -> Texts:
    dataset = public_sets.read(path)
    texts, talks = dict[str, str](), dict[str, str]()
    queries = list[Query]()
    for collection in dataset.collections:
        of = collection.name
        texts |= {f"{of} {each.id}": each.text for each in collection.documents}
        talks |= {f"{of} {each.id}": of for each in collection.documents}
        asked = [each for each in collection.queries if each.relevant and chosen(each.groups)]
        for each in datasets.evenly(asked, count):
            relevant = frozenset(f"{of} {id}" for id in each.relevant)
            queries.append(Query(each.text, relevant, of, each.groups[-1]))
    return Texts(name, texts, talks, queries)


def notes(split: str | None = None) -> Texts:
    """Short notes, questions on them, and questions of the same kind that none of them answers."""
    texts, queries = dict[str, str](), list[Query]()
    for collection in public_sets.read(OURS / "notes.jsonl", split=split).collections:
        texts |= {each.id: each.text for each in collection.documents}
        queries += [Query(each.text, frozenset(each.relevant)) for each in collection.queries]
    return Texts("notes", texts, dict.fromkeys(texts, ""), queries)


def statements(count: int) -> Texts:
    """Statements in a few words, of which the later ones revise earlier ones, and questions that either answers."""
    texts, asked = dict[str, str](), dict[str, set[str]]()
    for row in [*_lines(OURS / "revisions.jsonl"), *_lines(OURS / "revision_lessons.jsonl")]:
        texts |= {row[each]: row[each] for each in ("older", "newer")}
        said = ("older", "newer") if row["label"] == "revises" else ("older",)
        asked.setdefault(row["question"], set()).update(row[each] for each in said)
    every = [Query(text, frozenset(relevant)) for text, relevant in asked.items()]
    step = max(1.0, len(every) / count)
    chosen = [every[int(at * step)] for at in range(min(count, len(every)))]
    return Texts("statements", texts, dict.fromkeys(texts, ""), chosen)


def technical() -> Texts:
    """Decisions with questions on them, relations and the turns of technical talk."""
    texts, queries = dict[str, str](), list[Query]()
    for collection in public_sets.read(OURS / "relations.jsonl").collections:
        # Questions on relations are answered by way of the graph.
        texts |= {f"{collection.name} {each.id}": each.text for each in collection.documents}
    rows = _lines(OURS / "decision_questions.jsonl")
    for number, row in enumerate(each for each in rows if "decision" in each):
        decision, id = row["decision"], f"decision {number}"
        texts[id] = f"{decision['title']}. {decision['rationale']}"
        queries += [Query(text, frozenset([id])) for text in row["questions"]]
    for name in ("retractions", "labelled_sessions"):
        said = {turn[-1] for row in _lines(OURS / f"{name}.jsonl") for turn in row["turns"]}
        texts |= {f"{name} {number}": text for number, text in enumerate(sorted(said))}
    return Texts("technical", texts, dict.fromkeys(texts, ""), queries)


def xquad(count: int) -> Texts:
    """Paragraphs of an encyclopedia in five languages, and questions in twelve."""
    texts, queries = dict[str, str](), list[Query]()
    for collection in public_sets.read(PUBLIC / "xquad-dev.json").collections:
        of = collection.name
        texts |= {f"{of} {each.id}": each.text for each in collection.documents}
        groups = dict[str, list[datasets.Query]]()
        for query in collection.queries:
            groups.setdefault(query.groups[-1], []).append(query)
        for group, asked in groups.items():
            for each in datasets.evenly(asked, count):
                # A paragraph answers in each of its languages.
                ids = {
                    f"{code} {id}"
                    for id in each.relevant
                    for code in ("en", "zh", "th", "de", "ru")
                }
                queries.append(Query(each.text, frozenset(ids), "", group))
    return Texts("xquad", texts, dict.fromkeys(texts, ""), queries)


def cosqa() -> Texts:
    """Functions, and web queries that they answer."""
    found = public_sets.read(PUBLIC / "cosqa-dev.json").collections[0]
    texts = {each.id: each.text for each in found.documents}
    queries = [Query(each.text, frozenset(each.relevant), "", "code") for each in found.queries]
    return Texts("code", texts, dict.fromkeys(texts, ""), queries)


def with_keywords(of: Texts, count: int) -> Texts:
    """Add questions of one to three rarer words of a text, which every text answers that holds them all."""
    chance = random.Random(KEYWORD_SEED)
    held = {
        id: {
            each
            for each in text.casefold().split()
            if _WORD.fullmatch(each) and not is_stop_term(each)
        }
        for id, text in of.texts.items()
    }
    often = Counter(word for each in held.values() for word in each)
    queries = list[Query]()
    for id in chance.sample(sorted(of.texts), min(len(of.texts), 3 * count)):
        rare = sorted(word for word in held[id] if often[word] <= max(2, len(held) // 50))
        many = 1 + len(queries) % 3
        if len(rare) < many or len(queries) == count:
            continue
        chosen = chance.sample(rare, many)
        talk = of.talks[id]
        relevant = {
            other
            for other, words in held.items()
            if words.issuperset(chosen) and of.talks[other] == talk
        }
        queries.append(Query(" ".join(chosen), frozenset(relevant), talk, "keywords"))
    return replace(of, queries=[*of.queries, *queries])


def far(split: str | None = None) -> list[Query]:
    """Questions that are about nothing that any of the sets holds."""
    rows = _lines(OURS / "far_questions.jsonl")
    return [
        Query(row["text"], frozenset(), "", row["language"])
        for row in rows
        if split in (None, row["split"])
    ]


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def kept(embedding: Embedding, name: str, texts: Sequence[str], make: Callable[[], Any]) -> Any:
    """Return what was made of texts, read from a file if it was made before."""
    model = embedding.model
    parts = [model.digest, model.states, str((ENGLISH_SCORE, OTHER_SCORE)), *texts]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    path = DATA / f"verdict-{name}-{digest[:12]}.pickle"
    if path.exists():
        return pickle.loads(path.read_bytes())
    made = make()
    DATA.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(made))
    return made


def embedded(
    embed: Callable[[Sequence[str]], list[Embedded]], texts: Sequence[str]
) -> list[tuple[Any, bytes]]:
    """Return the rows and the packed tokens of each text; texts of a length are embedded at once."""
    made: dict[int, tuple[Any, bytes]] = {}
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    for start in range(0, len(order), BATCH):
        some = order[start : start + BATCH]
        for place, each in zip(some, embed([texts[each] for each in some]), strict=True):
            made[place] = each.rows, each.packed or b""
    return [made[place] for place in range(len(texts))]


@dataclass(frozen=True, slots=True)
class Compared:
    """What search measures of a question in a store: of each text that was compared, shape (texts,).

    `late` are the scores of token states (`Question.scores`), none of them for code. `is_answer` tells which of them answer it, `size` how many texts the store has.
    """

    late: Floats
    cosines: Floats
    bm25: Floats
    covered: Floats
    is_answer: NDArray[np.bool_]
    size: int


class Stores:
    """The texts of a set, ready to be drawn into stores and compared with questions."""

    def __init__(
        self,
        of: Texts,
        embedding: Embedding,
        strangers: Sequence[Query],
        mean_part: float | None = None,
    ) -> None:
        """`mean_part` is given for code: how much of the mean question is taken out of each question."""
        self.of, self.strangers, self._mean_part = of, strangers, mean_part
        self.embedding = embedding
        model, embed = embedding.model, embedding.embed_passages
        if mean_part is not None:
            model, embed = model.code or model, embedding.embed_code
        self.model = model
        self.ids = list(of.texts)
        asked = [*of.queries, *strangers]
        texts, queries = list(of.texts.values()), [each.text for each in asked]
        made = kept(embedding, of.name, texts, lambda: embedded(embed, texts))
        self._packed = [packed for _, packed in made]
        self._rows = np.concatenate([rows for rows, _ in made])
        self._starts = np.cumsum([0, *(len(rows) for rows, _ in made)])[:-1]
        vectors = kept(
            embedding,
            f"{of.name}-questions",
            queries,
            lambda: [embedding.embed_query(each) for each in queries],
        )
        self._made = dict(zip(map(id, asked), vectors, strict=True))
        self._talks = np.array([of.talks[each] for each in self.ids])
        counts = [Counter(terms(text)) for text in of.texts.values()]
        self._lengths = np.array([sum(each.values()) for each in counts], float)
        postings: dict[str, list[tuple[int, int]]] = {}
        for place, count in enumerate(counts):
            for term, often in count.items():
                postings.setdefault(term, []).append((place, often))
        self._postings = {
            term: (np.array([p for p, _ in each]), np.array([c for _, c in each], float))
            for term, each in postings.items()
        }

    @cached_property
    def _place_of(self) -> dict[str, int]:
        return {each: place for place, each in enumerate(self.ids)}

    def drawn(
        self, query: Query, size: int, chance: random.Random, *, with_answer: bool
    ) -> NDArray[np.int64] | None:
        """Draw a store of so many texts, which answers the question or does not; None if there are too few.

        A talk is drawn whole before others: the question's own, or one that it is not about.
        """
        answers = [self._place_of[id] for id in sorted(query.relevant)]
        talks = sorted({*self._talks.tolist()} - {query.talk})
        first = query.talk if with_answer or not talks else chance.choice(talks)
        near = self._talks == first
        far = ~near
        if not with_answer and query.talk:
            far &= self._talks != query.talk
        near[answers] = far[answers] = False
        if with_answer:
            # Of some answers that stand in all languages one is drawn.
            drawn = chance.sample(answers, 1) if not query.talk else answers[:size]
        else:
            drawn = []
        for some in (np.flatnonzero(near).tolist(), np.flatnonzero(far).tolist()):
            drawn += chance.sample(some, min(len(some), size - len(drawn)))
        return np.sort(np.array(drawn)) if len(drawn) == size else None

    def compare(self, query: Query, drawn: NDArray[np.int64]) -> Compared:
        """Compare a question with the texts of a store that search would compare."""
        made, parsed = self._made[id(query)], parse_query(query.text)
        every = np.maximum.reduceat(self._rows @ self._vector(made), self._starts)
        cosines = every.astype(float)[drawn]
        bm25, covered = self._words(parsed, drawn)
        best = {
            *np.argsort(-cosines)[:CANDIDATES].tolist(),
            *np.argsort(-bm25)[:CANDIDATES].tolist(),
        }
        found = [each for each in sorted(best) if cosines[each] or bm25[each]]
        if len(found) > COMPARED:
            keys = [str(each) for each in found]
            expected = expectations(
                keys,
                dict(zip(keys, cosines[found].tolist(), strict=True)),
                dict(zip(keys, bm25[found].tolist(), strict=True)),
                self.model.unrelated,
            )
            found = [int(key) for _, key in sorted(expected)[:COMPARED]]
        late: NDArray[Any] = np.zeros(len(found))
        if self._mean_part is None:
            packed = [self._packed[drawn[each]] for each in found]
            late = Question(made.tokens, made.english).scores(packed, cosines[found])
        answers = {self._place_of[each] for each in query.relevant}
        return Compared(
            late.astype(float),
            cosines[found],
            bm25[found],
            covered[found],
            np.array([int(drawn[each]) in answers for each in found]),
            len(drawn),
        )

    def _vector(self, made: Embedded) -> Vector:
        """Return the vector of a question, as it is compared with texts or, less the mean question, with code."""
        vector = made.others.get(self.model.digest, made.vector)
        if self._mean_part is None:
            return vector
        asked = QueryEmbedding(made.vector, mean=made.mean_question, code=vector)
        return asked.without_mean(self._mean_part).vector_of(CodeChunk)

    def _words(self, query: TextQuery, drawn: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return BM25 and the part of the question held, shape (texts,) each."""
        place = np.full(len(self.ids), -1)
        place[drawn] = np.arange(len(drawn))
        scores = np.zeros(len(drawn))
        lengths = self._lengths[drawn]
        mean = max(lengths.mean(), 1.0)
        for term, times in Counter(query.terms).items():
            here, counts = self._held(term, place)
            if not len(here):
                continue
            share = counts * (K1 + 1) / (counts + K1 * (1 - B + B * lengths[here] / mean))
            scores[here] += times * idf(len(drawn), len(here)) * share
        scores /= query.forms
        holding = [
            {str(each) for form in forms for each in self._held(form, place)[0]}
            for forms in query.words
        ]
        compared = [str(each) for each in np.argsort(-scores)[:COMPARED] if scores[each] > 0]
        held = coverage(compared, [each & {*compared} for each in holding])
        covered = np.zeros(len(drawn))
        for key, part in held.items():
            covered[int(key)] = part
        return scores, covered

    def _held(self, term: str, place: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
        if term not in self._postings:
            return np.empty(0, np.int64), np.empty(0)
        owners, counts = self._postings[term]
        here = place[owners]
        return here[here >= 0], counts[here >= 0]


def asked(
    stores: Stores, sizes: Sequence[int], seed: int, draws: int = 1
) -> Iterator[tuple[str, Query, Compared]]:
    """Ask each question of stores that hold its answer, `draws` that do not, and far questions of both kinds' like.

    Yields what it is (`answerable`, `near`, `far`), the question, and what search measures.
    """
    chance = random.Random(seed)
    for size in sizes:
        for query in stores.of.queries:
            is_answered = bool(query.relevant)
            drawn = stores.drawn(query, size, chance, with_answer=True) if is_answered else None
            if drawn is not None:
                yield "answerable", query, stores.compare(query, drawn)
            for _ in range(draws):
                drawn = stores.drawn(query, size, chance, with_answer=False)
                if drawn is not None:
                    yield "near", query, stores.compare(query, drawn)
        for query in stores.strangers:
            for _ in range(draws):
                drawn = stores.drawn(query, size, chance, with_answer=False)
                if drawn is not None:
                    yield "far", query, stores.compare(query, drawn)
