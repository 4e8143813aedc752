"""Markdown files with front matter, and memories of their sections."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from minutebook.domain.records import MemoryType
from minutebook.domain.writing.source_drafts import MemoryDraft, SourcePlace, UnreadPart
from minutebook.features.archives.notes import front_matter
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile
from minutebook.features.importers.sources.reading.sections import sections_of


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A file of Markdown: the fields of its front matter, its text, and the number of the first line of that."""

    file: SourceFile
    fields: Mapping[str, Any]
    text: str
    first: int


N = TypeVar("N", bound=NoteFile)


def notes_in(source: ImportSource, of: type[N]) -> Iterator[N | UnreadPart]:
    """Yield the files of a source as notes of a class; those that cannot be read as UnreadPart."""
    for file in source.files:
        text = source.text(file)
        if isinstance(text, UnreadPart):
            yield text
        else:
            yield of(file, *front_matter.split(text))


def section_drafts(
    note: NoteFile, program: str, type: MemoryType, *, key: str, folder: str, lined: bool = False
) -> Iterator[MemoryDraft]:
    """Yield a memory each section that says something, with path, headings and line; `lined` puts its place there."""
    seen: Counter[str] = Counter()
    for headings, line, content in sections_of(note.text, note.first):
        path = " › ".join(headings)
        seen[path] += 1
        yield MemoryDraft(
            key=f"{key}\0{path}\0{seen[path]}",
            place=SourcePlace(str(note.file.path), line if lined else 0),
            program=program,
            folder=folder,
            content=content,
            type=type,
            title=" › ".join((note.file.path.name, *headings)),
            at=note.file.modified,
            metadata={
                **note.fields,
                "path": note.file.name,
                "line": line,
                "headings": list(headings),
            },
        )
