"""Reads notes, and the edits that a person made in them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from minutebook.features.archives.notes import front_matter
from minutebook.features.archives.notes.note_form import LINKS, MARK
from minutebook.record.control_characters import cleaned
from minutebook.record.errors import InvalidInput
from minutebook.record.records import MemoryType
from minutebook.record.writing.drafts import Draft
from minutebook.record.writing.metadata import check_metadata

_OURS = frozenset(
    {
        *(MARK, "id", "title", "type", "scope", "status", "author", "created", "learned"),
        *("updated", "valid_from", "valid_until", "reason", "repository", "user", "version"),
        *("importance", "from", "tags", "metadata", "conflict", front_matter.UNREAD),
    }
)
"""The fields of a memory's note; any other is the person's own and becomes metadata."""

_FIXED = ("scope", "status", "importance", "valid_from", "valid_until", "repository", "user")
"""The fields that can be changed by commands, but not by notes."""


@dataclass(frozen=True, slots=True)
class NoteText:
    """The content of a note: its fields, its text, and in `tail` the lines that a person wrote after the links."""

    fields: Mapping[str, Any]
    content: str
    tail: tuple[str, ...] = ()

    @property
    def kind(self) -> str | None:
        """The kind of the record that the note stands for, None for a note of the person's own."""
        kind = self.fields.get(MARK)
        return None if kind is None else str(kind)

    @property
    def id(self) -> str | None:
        """The id of the memory that the note stands for, None for a new one."""
        id = self.fields.get("id")
        return id if isinstance(id, str) and self.kind == "memory" else None

    @property
    def title(self) -> str | None:
        """The title, None if there is none."""
        title = self.fields.get("title")
        return title.strip() or None if isinstance(title, str) else None

    @property
    def unread(self) -> str | None:
        """The part of its front matter that could not be read, and why; None if all was read."""
        return self.fields.get(front_matter.UNREAD)

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata in the fields: those under `metadata`, tags, and the person's own."""
        given = self.fields.get("metadata")
        own = {name: value for name, value in self.fields.items() if name not in _OURS}
        metadata = {**(given if isinstance(given, dict) else {}), **own}
        if tags := front_matter.tags_of(self.fields):
            metadata["tags"] = tags
        return metadata

    @property
    def whole(self) -> str:
        """The text with the lines after the links."""
        tail = "\n".join(self.tail)
        return f"{self.content}\n\n{tail}" if tail and self.content else self.content or tail


@dataclass(frozen=True, slots=True)
class Edits:
    """A note's changes to a memory, and the fields that it cannot change."""

    changes: dict[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()


def parsed(data: bytes, links: Collection[str]) -> NoteText:
    """Return the content of a note; the lines `links` were written by us as its links.

    Raises InvalidInput if it is not UTF-8.
    """
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput("note", "is not UTF-8") from error
    fields, rest, _ = front_matter.split(text)
    content, mark, after = rest.rpartition(f"\n{LINKS}\n")
    if not mark:
        content, after = rest, ""
    tail = tuple(line for line in after.split("\n") if line.strip() and line not in links)
    return NoteText(fields, cleaned(content.strip("\n")), tuple(map(cleaned, tail)))


def edits(note: NoteText, written: NoteText) -> Edits:
    """Return the changes of a note against the memory's own note as it would be `written` now."""
    changes: dict[str, Any] = {}
    if note.whole != written.whole:
        changes["content"] = note.whole
    if note.title != written.title:
        changes["title"] = note.title
    ignored = [name for name in _FIXED if note.fields.get(name) != written.fields.get(name)]
    type = note.fields.get("type")
    if type != written.fields.get("type"):
        if type in list(MemoryType):
            changes["type"] = MemoryType(str(type))
        else:
            ignored.append("type")
    if note.unread is not None and isinstance(note.fields.get("metadata"), str):
        ignored.append("metadata")
    elif note.metadata != written.metadata:
        try:
            check_metadata(note.metadata)
            changes["metadata"] = note.metadata
        except InvalidInput:
            ignored.append("metadata")
    return Edits(changes, tuple(ignored))


def draft_of(note: NoteText, name: str, id: str) -> Draft:
    """Return the draft of a memory for a new note at the path `name`. Raises InvalidInput if its metadata is not sound."""
    unread = {} if note.unread is None else {front_matter.UNREAD: note.unread}
    metadata = {**note.metadata, **unread}
    check_metadata(metadata)
    type = note.fields.get("type")
    return Draft(
        content=note.whole,
        type=MemoryType(str(type)) if type in list(MemoryType) else MemoryType.DOCUMENTATION,
        id=id,
        title=note.title or PurePosixPath(name).stem,
        metadata=metadata,
    )
