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
    """A file of Markdown: the fields of its front matter, the text below it, and the number of the text's first line."""

    file: SourceFile
    fields: Mapping[str, Any]
    text: str
    first: int


N = TypeVar("N", bound=NoteFile)


def notes_in(source: ImportSource, cls: type[N]) -> Iterator[N | UnreadPart]:
    """Yield each file of a source as a note of the class, an UnreadPart if it cannot be read."""
    for file in source.files:
        text = source.text(file)
        if isinstance(text, UnreadPart):
            yield text
        else:
            yield cls(file, *front_matter.split(text))


def section_drafts(
    note: NoteFile,
    program: str,
    type: MemoryType,
    *,
    key: str,
    folder: str,
    with_line: bool = False,
) -> Iterator[MemoryDraft]:
    """Yield a memory for each section with a text, with path, headings and line in its metadata.

    Its place has the line only if `with_line`.
    """
    seen: Counter[str] = Counter()
    for headings, line, content in sections_of(note.text, note.first):
        path = " › ".join(headings)
        seen[path] += 1
        yield MemoryDraft(
            key=f"{key}\0{path}\0{seen[path]}",
            place=SourcePlace(str(note.file.path), line if with_line else 0),
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
    """Yield for each section with a text its headings, outermost first, the number of its first line, and its text.

    `first` is the number of the text's first line.
    """
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

    A block ends at a fence of the same character that is at least as long as the first (CommonMark 0.31, section 4.5).
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
    """Yield the section, without the blank lines at its ends; nothing if all its lines are blank."""
    start = next((index for index, line in enumerate(lines) if line.strip()), None)
    if start is not None:
        content = "\n".join(lines[start:]).rstrip()
        yield tuple(name for _, name in headings), begun + start, content
