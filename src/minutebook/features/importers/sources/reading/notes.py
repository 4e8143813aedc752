"""Markdown files with front matter, and memories of their sections."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from minutebook.features.archives.notes import front_matter
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import MemoryDraft, SourcePlace, UnreadPart


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


_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")


def sections_of(text: str, first: int) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Yield the headings above each section, the number of its first line, and its text."""
    open_headings: list[tuple[int, str]] = []
    lines: list[str] = []
    begun = first
    for number, line, is_code in fenced_lines(text, first):
        heading = None if is_code else _HEADING.fullmatch(line)
        if heading is None:
            lines.append(line)
            continue
        yield from _section(open_headings, begun, lines)
        level = len(heading[1])
        open_headings = [each for each in open_headings if each[0] < level]
        open_headings.append((level, heading[2]))
        lines, begun = [], number + 1
    yield from _section(open_headings, begun, lines)


def fenced_lines(text: str, first: int) -> Iterator[tuple[int, str, bool]]:
    """Yield number and text of each line, and whether it stands in a fenced block, its fences included.

    A block ends at a fence of the same sign that is at least as long as the first (CommonMark 0.31, section 4.5).
    """
    fence = ""
    for number, line in enumerate(text.split("\n"), first):
        mark = _FENCE.match(line)
        was_open = bool(fence)
        if mark is not None and was_open and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif mark is not None and not was_open and not ("`" in mark[1] and "`" in mark[2]):
            fence = mark[1]
        yield number, line, was_open or bool(fence)


def _section(
    headings: list[tuple[int, str]], begun: int, lines: list[str]
) -> Iterator[tuple[tuple[str, ...], int, str]]:
    blank = next((index for index, line in enumerate(lines) if line.strip()), None)
    if blank is not None:
        content = "\n".join(lines[blank:]).rstrip()
        yield tuple(name for _, name in headings), begun + blank, content
