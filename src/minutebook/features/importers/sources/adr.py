"""Decision records in Markdown, in the form of MADR."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePath, PurePosixPath
from typing import Any

from minutebook.features.archives.notes import front_matter
from minutebook.features.importers.sources.instructions import SKIPPED_FOLDERS as SKIPPED_FOLDERS
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile
from minutebook.features.importers.sources.reading.notes import NoteFile, notes_in, sections_of
from minutebook.features.importers.sources.reading.values import (
    entity_draft,
    first_time,
    relation_draft,
    unread_times,
)
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import (
    Found,
    MemoryDraft,
    ProposalDraft,
    SourcePlace,
    UnreadPart,
)

NAME = "adr"

_NUMBERED = re.compile(r"(?i)(?:adr[-_ ]?)?(\d{1,8})(?!\d)")
_TITLE = re.compile(r"(?i)(?:adr[-_ ]?)?\d{1,8}\s*[.:\u2013-]\s+")
_FIELD = re.compile(r"(?:[-*]\s+)?(?:\*\*)?([A-Za-z][\w -]{1,40}?)(?:\*\*)?:(?:\*\*)?\s+(\S.*)")
_LINK = re.compile(r"\]\(([^()\s]+?\.md)(?:#[^()]*)?\)")
_REFERENCE = re.compile(r"(?i)\badr[-_ ]?(\d{1,8})\b")
_STATUS = re.compile(r"(?i)\W*(draft|proposed|accepted|rejected|deprecated|superseded)\b")
_SUPERSEDED = re.compile(r"(?i)\bsuperseded\s+by\b")

_HEADINGS = frozenset({"context and problem statement", "decision outcome"})
"""A decision record has one of these headings; a page about decisions does not."""

_ENDED = frozenset({"superseded", "deprecated"})
_OPEN = frozenset({"proposed", "accepted", ""})
"""The states of records that become proposals; the form allows a record without a state."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file may be a record."""
    return path.suffix.lower() == ".md" and not any(part.startswith(".") for part in path.parts)


def read(source: ImportSource) -> Iterator[Found]:
    """Yield an entity and a memory for each record, a relation to each record that it superseded, a proposal if it is open."""
    records = []
    for note in notes_in(source, NoteFile):
        if isinstance(note, UnreadPart):
            yield note
        elif (record := _record(note)) is not None:
            records.append(record)
    folder = _Folder(records)
    for record in records:
        yield from _drafts_of(record, folder)


@dataclass(frozen=True, slots=True)
class _Record:
    """A record as it was read: the text of its state, heading and text of each section, and the text's first line."""

    file: SourceFile
    title: str
    state: str
    fields: dict[str, Any]
    sections: list[tuple[str, str]]
    first: int

    @property
    def status(self) -> str:
        """Its state in one word, empty if it names none."""
        if _SUPERSEDED.search(self.state):
            return "superseded"
        match = _STATUS.match(self.state)
        return match[1].lower() if match else ""

    @property
    def number(self) -> str:
        """The number in the name of the file without zeros in front, empty if it has none."""
        match = _NUMBERED.match(PurePosixPath(self.file.name).name)
        return match[1].lstrip("0") or "0" if match else ""

    @property
    def at(self) -> datetime:
        """Its date, as it says, else when the file last changed."""
        return first_time(self.fields, "date") or self.file.modified

    @property
    def place(self) -> SourcePlace:
        """Where its text begins."""
        return SourcePlace(str(self.file.path), self.first)


class _Folder:
    """The records of a folder, by the names that links use for them."""

    def __init__(self, records: list[_Record]) -> None:
        self._by_path = {record.file.name: record for record in records}
        numbers: dict[str, list[_Record]] = {}
        for record in records:
            numbers.setdefault(record.number, []).append(record)
        self._by_number = {
            number: each[0] for number, each in numbers.items() if number and len(each) == 1
        }
        self._earlier: dict[str, list[_Record]] = {}
        for record in records:
            if (successor := self.successor(record)) is not None:
                self._earlier.setdefault(successor.file.name, []).append(record)

    def superseded(self, record: _Record) -> list[_Record]:
        """Return the records that a record superseded."""
        return self._earlier.get(record.file.name, [])

    def successor(self, record: _Record) -> _Record | None:
        """Return the record that superseded a record; None if there is none in the folder."""
        found = self._referenced(record) if _SUPERSEDED.search(record.state) else None
        return None if found is record else found

    def target(self, record: _Record) -> str:
        """Return the target of a record: the title of the first record in its chain of supersessions."""
        seen = {record.file.name}
        while earlier := self.superseded(record):
            if earlier[0].file.name in seen:
                break
            record = earlier[0]
            seen.add(record.file.name)
        return record.title

    def _referenced(self, record: _Record) -> _Record | None:
        """Return the record that a record's state names, by a link or by a number such as ADR-12."""
        link = _LINK.search(record.state)
        if link is not None:
            parts: list[str] = []
            for part in (*PurePosixPath(record.file.name).parent.parts, *link[1].split("/")):
                if part == ".." and parts:
                    parts.pop()
                elif part not in (".", ".."):
                    parts.append(part)
            return self._by_path.get("/".join(parts))
        reference = _REFERENCE.search(record.state)
        return None if reference is None else self._by_number.get(reference[1].lstrip("0") or "0")


def _record(note: NoteFile) -> _Record | None:
    """Return the record that a file holds; None if it is another text."""
    fields = {name.lower(): value for name, value in note.fields.items()}
    title, sections = "", []
    for headings, _, content in sections_of(note.text, note.first):
        title = title or (headings[0] if headings else "")
        if len(headings) > 1:
            sections.append((headings[-1], content))
        elif text := _without_fields(content, fields):
            sections.append(("", text))
    if not title or not any(heading.lower() in _HEADINGS for heading, _ in sections):
        return None
    name = _TITLE.sub("", title).strip() or title
    state = str(fields.pop("status", None) or "")
    return _Record(note.file, name, state, fields, sections, note.first)


def _without_fields(text: str, fields: dict[str, Any]) -> str:
    """Return the text below a title without lines such as `- Date: …`; their values are added to `fields`."""
    kept = []
    for line in text.split("\n"):
        match = _FIELD.fullmatch(line.strip())
        if match is None:
            kept.append(line)
        else:
            fields.setdefault(match[1].lower().replace(" ", "_"), match[2].strip())
    return "\n".join(kept).strip()


def _drafts_of(record: _Record, folder: _Folder) -> Iterator[Found]:
    yield from unread_times(record.place, record.fields, "date")
    yield entity_draft(NAME, record.place, record.title, "decision", at=record.at)
    yield _memory(record, folder)
    for other in folder.superseded(record):
        if other.title != record.title:
            ends = (record.title, "supersedes", other.title)
            yield relation_draft(NAME, record.place, *ends, at=record.at)
    if record.status in _OPEN and (record.status or front_matter.UNREAD not in record.fields):
        yield _proposal(record, folder)


def _memory(record: _Record, folder: _Folder) -> MemoryDraft:
    until = None
    if record.status in _ENDED:
        successor = folder.successor(record)
        ended = record.file.modified if successor is None else successor.at
        until = max(ended, record.at + timedelta(seconds=1))
    head = f"Status: {record.status or 'not said'}"
    return MemoryDraft(
        key=record.file.name,
        place=record.place,
        program=NAME,
        folder=str(record.file.path.parent),
        content="\n\n".join((head, *_texts(record.sections))),
        type=MemoryType.DECISION_LOG,
        title=record.title,
        at=record.at,
        until=until,
        metadata={
            **record.fields,
            **({"superseded_by": record.state} if record.status == "superseded" else {}),
            "path": record.file.name,
            "status": record.status,
            **({"number": record.number} if record.number else {}),
        },
    )


def _proposal(record: _Record, folder: _Folder) -> ProposalDraft:
    """Return the proposal of a record: its sections but for the consequences are the rationale."""
    consequences: list[str] = []
    reasons: list[tuple[str, str]] = []
    for heading, text in record.sections:
        if heading.lower().endswith("consequences"):
            consequences += _items(text)
        else:
            reasons.append((heading, text))
    note = f"Imported from {record.file.name}"
    note += f", where it was {record.status}." if record.status else "."
    return ProposalDraft(
        key=f"proposal\0{record.file.name}",
        place=record.place,
        program=NAME,
        folder=str(record.file.path.parent),
        title=record.title,
        target=folder.target(record),
        rationale="\n\n".join((*_texts(reasons), note)),
        consequences=tuple(consequences),
    )


def _texts(sections: list[tuple[str, str]]) -> list[str]:
    return [f"### {heading}\n\n{text}" if heading else text for heading, text in sections]


def _items(text: str) -> list[str]:
    """Return the items of a list, each with the lines that belong to it; a text without one is one item."""
    items: list[str] = []
    for line in text.split("\n"):
        match = re.match(r"[-*+]\s+(.*)", line)
        if match is not None:
            items.append(match[1])
        elif items and line.strip():
            items[-1] += f"\n{line.strip()}"
        elif line.strip():
            items.append(line.strip())
    return items
