"""A folder of Markdown notes, as Obsidian and basic-memory keep them: front matter, links, observations."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath, PurePosixPath

from minutebook.features.archives.notes import front_matter
from minutebook.features.archives.notes.note_form import LINKS, MARK
from minutebook.features.importers.sources.reading.files import ImportSource
from minutebook.features.importers.sources.reading.notes import NoteFile, fenced_lines, notes_in
from minutebook.features.importers.sources.reading.values import (
    entity_draft,
    first_time,
    instant_of,
    relation_draft,
    unread_times,
)
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import Found, MemoryDraft, SourcePlace, UnreadPart

NAME = "markdown"

_HEADING = re.compile(r"#{1,6}(\s|$)")
_OBSERVATION = re.compile(r"\s*[-*+] \[([^\[\]()]{1,60})\]\s+(\S.*)")
_CLOCK = re.compile(r"\d{1,3}:\d{2}(:\d{2})?([.,]\d{1,3})?(\s+-\s+.*)?")
_RELATION = re.compile(
    r"""\s*[-*+] (?:"([^"\[\]]{1,100})"|'([^'\[\]]{1,100})'|([^\s\[\]]{1,100}))\s+"""
    r"""\[\[([^\[\]]+)\]\]\s*(?:\(([^()]*)\))?\s*"""
)
_LINK = re.compile(r"(!?)\[\[([^\[\]\n]{1,300})\]\]")
_CONTEXT = re.compile(r"(.*\S)\s+\(([^()]*)\)")
_TAG = re.compile(r"(?<!\S)#([\w/-]+)")
_LINKS_TO = "links_to"
_WRITTEN = ("created", "created_at", "date")
_ENDED = "valid_until"

_TYPES = {
    "decision": MemoryType.DECISION_LOG,
    "preference": MemoryType.PREFERENCE,
    "convention": MemoryType.CONVENTION,
    "architecture": MemoryType.ARCHITECTURE,
    "risk": MemoryType.RISK,
    "task": MemoryType.TASK,
    "todo": MemoryType.TASK,
}
"""Our types of memories by the category of an observation; the others are facts."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is a note; folders such as `.obsidian` and `.trash` hold none."""
    is_hidden = any(part.startswith(".") for part in path.parts)
    return path.suffix.lower() in (".md", ".markdown") and not is_hidden


def read(source: ImportSource) -> Iterator[Found]:
    """Yield an entity for each note, memories for its text and observations, relations for its links.

    Notes of our own export become the records that were exported.
    """
    titles = _titles(source)
    for note in notes_in(source, _Note):
        if isinstance(note, UnreadPart):
            yield note
            continue
        yield from unread_times(note.place(), note.fields, *_WRITTEN)
        if MARK in note.fields:
            yield from _exported_record(note, titles)
        else:
            yield from _note_drafts(note, titles)


@dataclass(frozen=True, slots=True)
class _Note(NoteFile):
    """A note as it was read."""

    @property
    def title(self) -> str:
        """The title: the name by which links refer to the note."""
        title = self.fields.get("title")
        return title.strip() if isinstance(title, str) and title.strip() else self.stem

    @property
    def stem(self) -> str:
        """The name of the file without its ending."""
        return PurePosixPath(self.file.name).stem

    @property
    def key(self) -> str:
        """The note's key, which stays the same if the text changes."""
        permalink = self.fields.get("permalink")
        return permalink if isinstance(permalink, str) and permalink else self.file.name

    @property
    def type(self) -> str:
        """The type of the entity."""
        type = self.fields.get("type")
        return type if isinstance(type, str) and type else "note"

    @property
    def at(self) -> datetime:
        """When it was written: as it says itself, else when the file last changed."""
        return first_time(self.fields, *_WRITTEN) or self.file.modified

    def place(self, line: int = 0) -> SourcePlace:
        """Return a line of the note as a place."""
        return SourcePlace(str(self.file.path), line)


def _titles(source: ImportSource) -> dict[str, str]:
    """Return the titles of notes by each name that a link may use, in lower case."""
    titles: dict[str, str] = {}
    for note in notes_in(source, _Note):
        if isinstance(note, UnreadPart):
            continue
        path = note.file.name.rpartition(".")[0]
        permalink = note.fields.get("permalink")
        for name in (note.stem, note.title, path, permalink):
            if isinstance(name, str):
                titles.setdefault(name.casefold(), note.title)
    source.read = 0
    return titles


def _note_drafts(note: _Note, titles: Mapping[str, str]) -> Iterator[Found]:
    """Yield the drafts of a note that is not of our own export; `titles` has the titles of notes by name."""
    yield entity_draft(NAME, note.place(), note.title, note.type, at=note.at)
    # The number of the line where each relation was found first, by type and target.
    relations: dict[tuple[str, str], int] = {}
    other_lines = []
    for number, line, is_code in fenced_lines(note.text, note.first):
        if is_code:
            other_lines.append(line)
        elif (observation := _observation(note, number, line)) is not None:
            yield observation
        elif (match := _RELATION.fullmatch(line)) is not None:
            if (target := _target(match[4], titles)) is not None:
                relations.setdefault((_relation_type(match), target), number)
        else:
            other_lines.append(line)
        if not is_code and _RELATION.fullmatch(line) is None:
            for embeds, name in _LINK.findall(line):
                target = _target(name, titles)
                if target is not None and not (embeds and _is_attachment(name)):
                    relations.setdefault((_LINKS_TO, target), number)
    yield from _text_memory(note, other_lines)
    known = set(titles.values())
    for (type, target), number in relations.items():
        if target not in known:
            # A note that is not written yet is an entity all the same.
            yield entity_draft(NAME, note.place(), target, "note")
        if target != note.title:
            yield relation_draft(NAME, note.place(number), note.title, type, target, at=note.at)


def _relation_type(match: re.Match[str]) -> str:
    """Return the type in a match of _RELATION: in double quotes, in single quotes, or one word."""
    return match[1] or match[2] or match[3]


def _observation(note: _Note, number: int, line: str) -> MemoryDraft | None:
    """Return the memory of a line such as `- [decision] text (context)`; None if it is a task's box or another text."""
    match = _OBSERVATION.fullmatch(line)
    if match is None:
        return None
    category, said = match[1].strip(), match[2].strip()
    is_box = len(category) < 2 and (category in "xX" or not category.isalnum())
    if is_box or _CLOCK.fullmatch(category):
        return None
    metadata: dict[str, object] = {"category": category, "note": note.file.name}
    if (context := _CONTEXT.fullmatch(said)) is not None:
        said, metadata["context"] = context[1], context[2]
    if tags := [*front_matter.tags_of(note.fields), *_TAG.findall(said)]:
        metadata["tags"] = list(dict.fromkeys(tags))
    return MemoryDraft(
        key=f"observation\0{note.key}\0{category}\0{said}",
        place=note.place(number),
        program=NAME,
        content=said,
        type=_TYPES.get(category.lower(), MemoryType.FACT),
        title=note.title,
        at=note.at,
        metadata=metadata,
    )


def _text_memory(note: _Note, lines: list[str]) -> Iterator[MemoryDraft]:
    """Yield the lines that are neither observations nor relations as a memory, unless they are only headings."""
    text = "\n".join(lines).strip("\n")
    if not any(line.strip() and not _HEADING.match(line) for line in lines):
        return
    metadata = {name: value for name, value in note.fields.items() if name not in ("title", "tags")}
    if tags := front_matter.tags_of(note.fields):
        metadata["tags"] = tags
    yield MemoryDraft(
        key=f"note\0{note.key}",
        place=note.place(note.first),
        program=NAME,
        content=text,
        type=MemoryType.DOCUMENTATION,
        title=note.title,
        at=note.at,
        metadata={**metadata, "note": note.file.name},
    )


def _exported_record(note: _Note, titles: Mapping[str, str]) -> Iterator[Found]:
    """Yield the record in a note of our own export: a memory, or an entity with its relations."""
    kind, type = note.fields[MARK], note.fields.get("type")
    text, separator, links = note.text.rpartition(f"\n{LINKS}\n")
    if not separator:
        text, links = note.text, ""
    unread = next(unread_times(note.place(), note.fields, _ENDED), None)
    if unread is not None:
        yield unread
    elif kind == "memory" and type in list(MemoryType):
        title = note.fields.get("title")
        metadata = note.fields.get("metadata")
        yield MemoryDraft(
            key=f"own\0{note.fields.get('id')}",
            place=note.place(note.first),
            program=NAME,
            content=text.strip("\n"),
            type=MemoryType(str(type)),
            title=title if isinstance(title, str) else None,
            at=note.at,
            until=instant_of(note.fields.get(_ENDED)),
            metadata=metadata if isinstance(metadata, dict) else {},
        )
    elif kind == "entity":
        description = text.strip("\n")
        about = {"at": note.at, "description": description or None}
        yield entity_draft(NAME, note.place(), note.title, note.type, **about)
        for line in links.split("\n"):
            match = _RELATION.fullmatch(line)
            target = None if match is None else _target(match[4], titles)
            if match is not None and target is not None:
                ends = (note.title, _relation_type(match), target)
                yield relation_draft(NAME, note.place(), *ends, at=note.at)
    else:
        reason = f"a {kind} of an export of Minutebook's own: an archive (`export`) brings it"
        yield UnreadPart(note.place(), reason)


def _target(link: str, titles: Mapping[str, str]) -> str | None:
    """Return the title of the note that a link names, or the link's own text if there is no such note."""
    name = re.split(r"[|#^]", link, maxsplit=1)[0].strip().removesuffix(".md")
    if not name:
        return None
    for known in (name, name.rpartition("/")[2]):
        if known.casefold() in titles:
            return titles[known.casefold()]
    return name


def _is_attachment(link: str) -> bool:
    suffix = PurePosixPath(re.split(r"[|#^]", link, maxsplit=1)[0].strip()).suffix
    return suffix.lower() not in ("", ".md", ".markdown")
