"""Collections of Chroma, MemPalace's among them: the documents and metadata of its SQLite file."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import PurePath
from typing import Any

from minutebook.domain.control_characters import cleaned
from minutebook.domain.errors import StoreError
from minutebook.domain.records import MemoryType
from minutebook.domain.writing.front_matter import plain
from minutebook.domain.writing.source_drafts import Found, MemoryDraft, SourcePlace, UnreadPart
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile
from minutebook.features.importers.sources.reading.values import instant_of
from minutebook.store.foreign_sqlite import ForeignDatabase

NAME = "chroma"

_DOCUMENT = "chroma:document"
_VALUES = ("string_value", "int_value", "float_value", "bool_value")
_WRITTEN = ("created_at", "timestamp", "date", "filed_at")
"""Names by which programs keep in metadata when something was written."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is Chroma's database."""
    return path.name == "chroma.sqlite3"


def read(source: ImportSource) -> Iterator[Found]:
    """Yield a memory each document, with its collection and its metadata; vectors are another model's."""
    for file in source.files:
        try:
            with closing(ForeignDatabase(file.path)) as database:
                if "embedding_id" in database.columns("embeddings"):
                    yield from _documents(database, file)
                else:
                    yield UnreadPart(file.place, "the file holds no collections of Chroma")
        except StoreError as error:
            yield UnreadPart(file.place, error.reason)
        source.read += file.size


def _documents(database: ForeignDatabase, file: SourceFile) -> Iterator[Found]:
    names = {row["id"]: row.get("name") for row in database.rows("collections", ("id", "name"))}
    collections = {
        row["id"]: names.get(row.get("collection"))
        for row in database.rows("segments", ("id", "collection"))
    }
    metadata = _Grouped(database)
    fields = ("id", "segment_id", "embedding_id", "created_at")
    for row in database.rows("embeddings", fields, order="id"):
        collection = collections.get(row["segment_id"])
        yield _memory(file.place, row, collection, metadata.of(row["id"]))


def _memory(
    place: SourcePlace, row: Mapping[str, Any], collection: object, metadata: dict[str, Any]
) -> Found:
    document = metadata.pop(_DOCUMENT, None)
    id = row["embedding_id"]
    if not isinstance(document, str) or not document.strip():
        return UnreadPart(place, "the record has no document, only a vector")
    if not isinstance(id, str):
        return UnreadPart(place, "the record has no id")
    at = next((at for name in _WRITTEN if (at := instant_of(metadata.get(name)))), None)
    return MemoryDraft(
        key=f"{collection}\0{id}",
        place=place,
        program=NAME,
        content=document,
        type=MemoryType.FACT,
        at=at or instant_of(row.get("created_at")),
        metadata={**metadata, "collection": str(collection), "id": cleaned(id)},
    )


class _Grouped:
    """The metadata of records that are asked for in the order of their numbers."""

    def __init__(self, database: ForeignDatabase) -> None:
        fields = ("id", "key", *_VALUES)
        self._rows = database.rows("embedding_metadata", fields, order="id")
        self._next = next(self._rows, None)

    def of(self, number: object) -> dict[str, Any]:
        """Return the metadata of a record, by key."""
        found: dict[str, Any] = {}
        while self._next is not None and _is_before(self._next["id"], number):
            self._next = next(self._rows, None)
        while self._next is not None and self._next["id"] == number:
            found[str(self._next["key"])] = _value(self._next)
            self._next = next(self._rows, None)
        return found


def _value(row: Mapping[str, Any]) -> Any:
    """Return the value of a row of metadata; SQLite keeps truth as a number."""
    name = next((name for name in _VALUES if row.get(name) is not None), None)
    if name is None:
        return None
    return bool(row[name]) if name == "bool_value" else plain(row[name])


def _is_before(one: object, other: object) -> bool:
    return isinstance(one, int) and isinstance(other, int) and one < other
