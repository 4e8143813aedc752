"""Read sets of documents and questions, an object of JSON a line."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from minutebook.record.errors import InvalidInput
from minutebook.record.instants import moment_of
from minutebook.record.reason import cause_of
from minutebook.record.records import MemoryType


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


def read(path: Path, split: str | None = None) -> Dataset:
    """Read a data set of JSON lines.

    `split` keeps the questions that are marked with it. Raises InvalidInput for a file that cannot be
    read, is in another form, or holds no question.
    """
    rows = rows_of(path)
    try:
        dataset = _lines(path.stem, _kept(rows, split))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        remedy = "is not as docs/measuring-search.md describes it: {name} {error}"
        raise InvalidInput(str(path), remedy, name=type(error).__name__, error=error) from error
    if not any(collection.queries for collection in dataset.collections):
        if split:
            raise InvalidInput(str(path), "holds no question of the split {split}", split=split)
        raise InvalidInput(str(path), "holds no question")
    return dataset


def rows_of(path: Path) -> list[Any]:
    """Return the objects of a file of JSON or JSON lines. Raises InvalidInput if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(str(path), "cannot be read: {cause}", cause=cause_of(error)) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            str(path), "cannot be read: it is not UTF-8 ({reason})", reason=error.reason
        ) from error
    return _parsed(path, text)


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


def _kept(rows: list[Any], split: str | None) -> list[Any]:
    """Return the lines without the questions of other splits; an unmarked question is in none."""
    if split is None:
        return rows
    return [row for row in rows if "query" not in row or row.get("split") == split]


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
