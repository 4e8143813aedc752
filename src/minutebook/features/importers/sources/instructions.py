"""Instructions that people wrote for agents: CLAUDE.md, AGENTS.md, rules of editors, section by section."""

from collections.abc import Iterator
from pathlib import PurePath

from minutebook.features.importers.sources.reading.files import ImportSource
from minutebook.features.importers.sources.reading.notes import NoteFile, notes_in, section_drafts
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import Found, UnreadPart

NAME = "instructions"

SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "target", "dist", "build"}
)
"""Folders of a project whose instructions are not its own."""

_NAMES = frozenset(
    {
        *("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md"),
        *(".cursorrules", ".windsurfrules", ".clinerules", "copilot-instructions.md"),
    }
)
_FOLDERS = {
    (".cursor", "rules"): (".mdc", ".md"),
    (".windsurf", "rules"): (".md",),
    (".roo", "rules"): (".md",),
    (".claude", "rules"): (".md",),
    (".github", "instructions"): (".instructions.md",),
}
"""The endings of files with instructions, by the folder in which or below which they lie."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file holds instructions."""
    if path.name in _NAMES or (".clinerules" in path.parts[:-1] and path.suffix == ".md"):
        return True
    pairs = zip(path.parts, path.parts[1:], strict=False)
    return any(path.name.endswith(_FOLDERS[pair]) for pair in pairs if pair in _FOLDERS)


def read(source: ImportSource) -> Iterator[Found]:
    """Yield a memory for each section with a text, with path, headings and line."""
    for note in notes_in(source, NoteFile):
        if isinstance(note, UnreadPart):
            yield note
        else:
            key, folder = note.file.name, str(note.file.path.parent)
            yield from section_drafts(
                note, NAME, MemoryType.CONVENTION, key=key, folder=folder, with_line=True
            )
