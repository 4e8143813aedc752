"""The notes that Claude Code keeps by itself, a folder a project: an index, `MEMORY.md`, and a file a topic."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from minutebook.features.importers.sources import claude_code
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile
from minutebook.features.importers.sources.reading.notes import NoteFile, notes_in, section_drafts
from minutebook.features.importers.sources.reading.values import (
    instant_of,
    object_at,
    text_at,
    unread_times,
)
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import Found, MemoryDraft, UnreadPart

NAME = "claude-code-memory"
USUAL_PLACE = claude_code.USUAL_PLACE

_FOLDER = "memory"
_INDEX = "MEMORY.md"
_INDEX_LINE = re.compile(r"\s*[-*+]\s+\[[^\]]*\]\([^)]*\.md\).*")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]")
_DRIVE = re.compile(r"([A-Za-z])--")
_MOST_LINES = 50
"""Lines of a transcript in which its folder is looked for."""

_TYPES = {
    "user": MemoryType.USER_CONTEXT,
    "feedback": MemoryType.PREFERENCE,
    "project": MemoryType.FACT,
    "reference": MemoryType.DOCUMENTATION,
}
"""Our types of memories by Claude Code's; a note without a type is a fact."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file is a note: Markdown in a folder `memory`, or directly in the folder that is read."""
    return path.suffix == ".md" and (len(path.parts) < 2 or _FOLDER in path.parts[:-1])


def read(source: ImportSource) -> Iterator[Found]:
    """Yield a memory for each topic, and for each section of an index that has more than links to topics."""
    folders: dict[Path, str] = {}
    for note in notes_in(source, NoteFile):
        if isinstance(note, UnreadPart):
            yield note
            continue
        file, home = note.file, _home_of(note.file.path)
        if home not in folders:
            folders[home] = folder_of(home)
        key = f"{home.name}\0{file.path.relative_to(home).as_posix()}"
        if file.path.name == _INDEX:
            # Earlier versions kept all notes in the index.
            lines = ("" if _INDEX_LINE.fullmatch(each) else each for each in note.text.split("\n"))
            index = replace(note, fields={}, text="\n".join(lines))
            yield from section_drafts(index, NAME, MemoryType.FACT, key=key, folder=folders[home])
        elif body := note.text.strip():
            yield from unread_times(file.place, object_at(note.fields, "metadata"), "modified")
            yield _topic_memory(file, key, folders[home], note.fields, body)


def _topic_memory(
    file: SourceFile, key: str, folder: str, fields: Mapping[str, Any], body: str
) -> MemoryDraft:
    further = object_at(fields, "metadata")
    return MemoryDraft(
        key=key,
        place=file.place,
        program=NAME,
        folder=folder,
        content=body,
        type=_TYPES.get(text_at(further, "type") or text_at(fields, "type"), MemoryType.FACT),
        title=text_at(fields, "description", "name") or file.path.stem,
        at=instant_of(further.get("modified")) or file.modified,
        metadata={**fields, "path": file.name},
    )


def _home_of(path: Path) -> Path:
    """Return the folder with a project's notes, which Claude Code names after the project's path."""
    above = [each for each in path.parents if each.name == _FOLDER]
    return above[-1].parent if above else path.parent


def folder_of(home: Path) -> str:
    """Return the path of the project with notes in `home`, from its transcripts, else from the folders here; empty if unknown.

    The name of `home` is ambiguous: it has a hyphen for each character that is neither letter nor digit.
    """
    for path in sorted(home.glob("*.jsonl")):
        found = _folder_in(path, home.name)
        if found:
            return found
    drive = _DRIVE.match(home.name)
    top, rest = Path("/"), home.name.removeprefix("-")
    if drive is not None:
        top, rest = Path(f"{drive[1]}:/"), home.name[drive.end() :]
    found_here = list(_folders_below(top, rest))
    return str(found_here[0]) if len(found_here) == 1 else ""


def _folder_in(path: Path, name: str) -> str:
    """Return the folder that Claude Code names `name`: the first working folder in a transcript or one above; else empty."""
    transcript = ImportSource(path, claude_code.is_wanted)
    for file in transcript.files:
        for line in islice(transcript.objects(file), _MOST_LINES):
            folder = "" if isinstance(line, UnreadPart) else text_at(line[1], "cwd")
            if folder:
                candidates = (Path(folder), *Path(folder).parents)
                named = [each for each in candidates if _NOT_IN_NAMES.sub("-", str(each)) == name]
                return str(named[0]) if named else ""
    return ""


def _folders_below(top: Path, rest: str) -> Iterator[Path]:
    """Yield the folders below `top` with the relative path `rest`, in which hyphens stand for other characters."""
    try:
        children = [each for each in sorted(top.iterdir()) if each.is_dir()]
    except OSError:
        return
    for child in children:
        name = _NOT_IN_NAMES.sub("-", child.name)
        if rest == name:
            yield child
        elif rest.startswith(f"{name}-"):
            yield from _folders_below(child, rest[len(name) + 1 :])
