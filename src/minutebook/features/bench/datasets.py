"""Read sets of documents and questions: LoCoMo, LongMemEval, CoSQA, XQuAD and SQuAD, JSON lines."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from minutebook.domain.errors import InvalidInput
from minutebook.domain.instants import moment_of
from minutebook.domain.reason import cause_of
from minutebook.domain.records import MemoryType


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document to store: a text, its session and time, the type of memory it becomes.

    A text that has a `response` is a prompt: both are a turn of the session. `at` None: said as it is stored.
    """

    id: str
    text: str
    session: str = ""
    type: MemoryType = MemoryType.SEMANTIC
    at: datetime | None = None
    response: str = ""

    @property
    def is_turn(self) -> bool:
        """Whether it is a turn of a session, not a memory."""
        return bool(self.response)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question with the gain of each relevant document, none where the store has no answer.

    `groups` name the categories under which it is summed up, `sessions` what is relevant when
    sessions are ranked; empty: the sessions of the relevant documents. It is asked as of `at`, None: of now. `old`
    are the documents that said it before it changed, `new` those that said what it is since.
    """

    id: str
    text: str
    relevant: Mapping[str, float]
    groups: tuple[str, ...] = ()
    sessions: frozenset[str] = frozenset()
    at: datetime | None = None
    old: frozenset[str] = frozenset()
    new: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """The documents of one store, in the order in which they are stored, and its questions.

    `entities` give the name and type of each id, `relations` are (source, type, target).
    `is_code` tells whether the documents are Python code.
    """

    name: str
    documents: Sequence[Document]
    queries: Sequence[Query]
    entities: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    relations: Sequence[tuple[str, str, str]] = ()
    is_code: bool = False

    @property
    def session_of(self) -> dict[str, str]:
        """The session of each document that has one."""
        return {document.id: document.session for document in self.documents if document.session}


@dataclass(frozen=True, slots=True)
class Dataset:
    """Collections that are summed up together; `left_out` counts the unusable items, by reason."""

    name: str
    form: str
    collections: Sequence[Collection]
    left_out: Mapping[str, int] = field(default_factory=dict)


def read(path: Path, form: str | None = None, split: str | None = None) -> Dataset:
    """Read a data set, in the form that its first object shows if none is named.

    `split` keeps the questions that are marked with it. Raises InvalidInput for a file that cannot be
    read, is of no known form, or holds no question.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(str(path), "cannot be read: {cause}", cause=cause_of(error)) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            str(path), "cannot be read: it is not UTF-8 ({reason})", reason=error.reason
        ) from error
    rows = _parsed(path, text)
    form = form or _form_of(rows)
    if form is None:
        raise InvalidInput(
            str(path), "is of no known form; name it with --form: {names}", names=", ".join(FORMS)
        )
    try:
        dataset = FORMS[form](path.stem, _kept(rows, split) if form == "lines" else rows)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        remedy = "is not in the form {form}: {name} {error}"
        raise InvalidInput(
            str(path), remedy, form=form, name=type(error).__name__, error=error
        ) from error
    if not any(collection.queries for collection in dataset.collections):
        if split:
            raise InvalidInput(str(path), "holds no question of the split {split}", split=split)
        raise InvalidInput(str(path), "holds no question")
    return dataset


def sampled(dataset: Dataset, count: int) -> Dataset:
    """Keep at most `count` questions of each group of each collection, evenly from the whole list."""

    def some(collection: Collection) -> Collection:
        groups: dict[tuple[str, ...], list[Query]] = {}
        for query in collection.queries:
            groups.setdefault(query.groups, []).append(query)
        chosen = [query for group in groups.values() for query in evenly(group, count)]
        return replace(collection, queries=chosen)

    return replace(dataset, collections=[some(each) for each in dataset.collections])


def evenly(queries: Sequence[Query], count: int) -> list[Query]:
    """Return at most `count` of the questions, evenly spaced."""
    step = max(1.0, len(queries) / count)
    return [queries[int(at * step)] for at in range(min(count, len(queries)))]


def _parsed(path: Path, text: str) -> list[Any]:
    """Parse JSON, or an object a line; of an object that wraps a list in `data`, that list."""
    try:
        value = json.loads(text)
    except ValueError:
        return [
            _parsed_line(path, number, line)
            for number, line in enumerate(text.splitlines(), 1)
            if line.strip()
        ]
    if isinstance(value, dict):
        value = value.get("data", [value])
    return value if isinstance(value, list) else [value]


def _parsed_line(path: Path, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise InvalidInput(
            str(path), "line {number} is not JSON: {error}", number=number, error=error
        ) from error


def _form_of(data: Sequence[Any]) -> str | None:
    """Tell the form by the fields of the first object."""
    first = data[0] if data and isinstance(data[0], dict) else {}
    signs = {
        "locomo": {"conversation", "qa"},
        "longmemeval": {"haystack_sessions", "question"},
        "xquad": {"translations", "questions"},
        "squad": {"paragraphs"},
        "cosqa": {"code"},
    }
    for form, names in signs.items():
        if names <= first.keys():
            return form
    return "lines" if first.keys() & {"document", "query", "entity", "relation"} else None


def _kept(rows: list[Any], split: str | None) -> list[Any]:
    """Return the lines without the questions of other splits; an unmarked question is in none."""
    if split is None:
        return rows
    return [row for row in rows if "query" not in row or row.get("split") == split]


_LOCOMO_CATEGORIES = {
    1: "1 multi-hop",
    2: "2 temporal",
    3: "3 open-domain",
    4: "4 single-hop",
    5: "5 adversarial",
}


def _locomo(name: str, rows: list[Any]) -> Dataset:
    """LoCoMo (Maharana et al., 2024): a collection a conversation, a document a turn.

    A turn with a picture ends in its caption. An evidence id that names no turn is left out, and so
    is a question that has no other.
    """
    collections, without, unknown = [], 0, 0
    for row in rows:
        turns = {
            turn["dia_id"]: Document(id=turn["dia_id"], text=_said(turn), session=session)
            for session, spoken in row["conversation"].items()
            if re.fullmatch(r"session_\d+", session)
            for turn in spoken
        }
        queries = []
        for number, entry in enumerate(row["qa"]):
            named = [id for text in entry["evidence"] for id in re.split(r"[;,\s]+", text) if id]
            evidence = {id: 1.0 for id in named if id in turns}
            unknown += sum(id not in turns for id in named)
            without += not evidence
            category = entry["category"]
            groups = (*(("1–4",) if category < 5 else ()), _LOCOMO_CATEGORIES[category])
            if evidence:
                id = f"{row['sample_id']} {number}"
                queries.append(
                    Query(id=id, text=entry["question"], relevant=evidence, groups=groups)
                )
        collections.append(
            Collection(name=row["sample_id"], documents=list(turns.values()), queries=queries)
        )
    left_out = {"questions without evidence": without, "evidence that names no turn": unknown}
    return Dataset(name, "locomo", collections, left_out)


def _said(turn: Mapping[str, Any]) -> str:
    caption = turn.get("blip_caption")
    line = f"{turn['speaker']}: {turn['text']}"
    return f"{line} [shares: {caption}]" if caption else line


def _longmemeval(name: str, rows: list[Any]) -> Dataset:
    """LongMemEval (Wu et al., 2024): a collection a question, a document a turn.

    Turns are relevant that are marked `has_answer`; a question whose id ends in `_abs` has no answer.
    """
    collections, unmarked = [], 0
    for row in rows:
        documents: list[Document] = []
        relevant: dict[str, float] = {}
        for session, spoken in zip(
            row["haystack_session_ids"], row["haystack_sessions"], strict=True
        ):
            for number, turn in enumerate(spoken):
                id = f"{session} {number}"
                text = f"{turn['role']}: {turn['content']}"
                documents.append(Document(id=id, text=text, session=session))
                if turn.get("has_answer"):
                    relevant[id] = 1.0
        abstains = row["question_id"].endswith("_abs")
        if not relevant and not abstains:
            unmarked += 1
            continue
        query = Query(
            id=row["question_id"],
            text=row["question"],
            relevant={} if abstains else relevant,
            groups=("abstention" if abstains else row["question_type"],),
            sessions=frozenset() if abstains else frozenset(row["answer_session_ids"]),
        )
        collections.append(
            Collection(name=row["question_id"], documents=documents, queries=[query])
        )
    return Dataset(name, "longmemeval", collections, {"questions without a marked turn": unmarked})


def _cosqa(name: str, rows: list[Any]) -> Dataset:
    """CoSQA (Huang et al., 2021): a question a function; all functions of the file are the pool."""
    documents: dict[str, Document] = {}
    queries = []
    for number, row in enumerate(rows):
        code = documents.setdefault(row["code"], Document(id=f"f{number}", text=row["code"]))
        id = str(row.get("id") or row.get("idx") or number)
        text = row["query"] if "query" in row else row["doc"]
        queries.append(Query(id=id, text=text, relevant={code.id: 1.0}))
    collection = Collection(
        name=name, documents=list(documents.values()), queries=queries, is_code=True
    )
    return Dataset(name, "cosqa", [collection])


def _squad(name: str, rows: list[Any]) -> Dataset:
    """SQuAD (Rajpurkar et al., 2016) and XQuAD as published: paragraphs, each with its questions."""
    documents: list[Document] = []
    queries: list[Query] = []
    for paragraph in chain.from_iterable(article["paragraphs"] for article in rows):
        id = f"p{len(documents)}"
        documents.append(Document(id=id, text=paragraph["context"]))
        for entry in paragraph["qas"]:
            relevant = {} if entry.get("is_impossible") else {id: 1.0}
            queries.append(Query(id=entry["id"], text=entry["question"], relevant=relevant))
    return Dataset(name, "squad", [Collection(name=name, documents=documents, queries=queries)])


def _xquad(name: str, rows: list[Any]) -> Dataset:
    """XQuAD (Artetxe et al., 2020) by paragraph: a text, `translations` and `questions` by language.

    Questions of every language are asked of the English paragraphs, and those of a translated
    language of the paragraphs in it.
    """
    languages = list(dict.fromkeys(code for row in rows for code in row["translations"]))
    collections = []
    for language in ("en", *languages):
        documents: list[Document] = []
        queries: list[Query] = []
        for index, row in enumerate(rows):
            id = f"p{index}"
            text = row["text"] if language == "en" else row["translations"][language]
            documents.append(Document(id=id, text=text))
            for number, question in enumerate(row["questions"]):
                for code in question if language == "en" else [language]:
                    way = "of English paragraphs" if language == "en" else "within one language"
                    queries.append(
                        Query(
                            id=f"{id} {number} {code}",
                            text=question[code],
                            relevant={id: 1.0},
                            groups=(way, f"{code} → {language}"),
                        )
                    )
        collections.append(Collection(name=language, documents=documents, queries=queries))
    return Dataset(name, "xquad", collections)


def _lines(name: str, rows: list[Any]) -> Dataset:
    """Our own form: an object a line, each a document, a question, an entity or a relation."""
    stores = list(dict.fromkeys(each.get("store", "") for each in rows))
    collections = []
    for store in stores:
        here = [each for each in rows if each.get("store", "") == store]
        entities = {each["entity"]: each for each in here if "entity" in each}
        collection = Collection(
            name=store or name,
            documents=[_document(each) for each in here if "document" in each],
            queries=[_query(each) for each in here if "query" in each],
            entities={
                id: (each["name"], each.get("type", "unknown")) for id, each in entities.items()
            },
            relations=[
                (each["from"], each["relation"], each["to"]) for each in here if "relation" in each
            ],
        )
        _check_names(collection)
        collections.append(collection)
    return Dataset(name, "lines", collections)


def _document(row: Mapping[str, Any]) -> Document:
    return Document(
        id=str(row["document"]),
        text=row["text"],
        session=row.get("session", ""),
        type=MemoryType(row.get("type", MemoryType.SEMANTIC)),
        at=moment_of(row["at"]) if "at" in row else None,
        response=row.get("response", ""),
    )


def _query(row: Mapping[str, Any]) -> Query:
    new = _ids(row.get("new"))
    relevant = row.get("relevant", sorted(new)) if new else row["relevant"]
    if not isinstance(relevant, Mapping):
        relevant = dict.fromkeys(relevant, 1.0)
    groups = (row.get("category"), row.get("language"))
    return Query(
        id=str(row["query"]),
        text=row["text"],
        relevant=relevant,
        groups=tuple(group for group in groups if group),
        sessions=_ids(row.get("session")),
        at=moment_of(row["at"], ends=True) if "at" in row else None,
        old=_ids(row.get("old")),
        new=new,
    )


def _ids(given: str | Sequence[str] | None) -> frozenset[str]:
    """Read one id or a list of them."""
    return frozenset([given] if isinstance(given, str) else given or ())


def _check_names(collection: Collection) -> None:
    """Raise ValueError if an id that is named is not there, or a document is there twice."""
    documents = [document.id for document in collection.documents]
    if len(set(documents)) < len(documents):
        raise ValueError("two documents have the same id")
    for query in collection.queries:
        named = query.relevant.keys() | query.old | query.new
        if missing := named - set(documents):
            raise ValueError(f"query {query.id} names unknown documents: {', '.join(missing)}")
    ends = {end for source, _, target in collection.relations for end in (source, target)}
    if missing := ends - collection.entities.keys():
        raise ValueError(f"relations name unknown entities: {', '.join(missing)}")


FORMS: Mapping[str, Callable[[str, list[Any]], Dataset]] = {
    "locomo": _locomo,
    "longmemeval": _longmemeval,
    "cosqa": _cosqa,
    "squad": _squad,
    "xquad": _xquad,
    "lines": _lines,
}
"""The forms that can be read, by name."""
