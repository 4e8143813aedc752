"""Instructions that people wrote for agents: CLAUDE.md, AGENTS.md, rules of editors, section by section."""

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath

from minutebook.domain.records import MemoryType
from minutebook.domain.writing.source_drafts import Found, MemoryDraft, SourcePlace, UnreadPart
from minutebook.features.archives import front_matter
from minutebook.features.importers.sources.reading.files import ImportSource, SourceFile
from minutebook.features.importers.sources.reading.sections import sections_of

NAME = "instructions"

PASSED_OVER = frozenset(
    {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "target", "dist", "build"}
)
"""Folders of a project that hold no instructions of its own."""

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
"""The endings of the files in, or below, some folders."""


def is_wanted(path: PurePath) -> bool:
    """Tell whether a file holds instructions."""
    if path.name in _NAMES or (".clinerules" in path.parts[:-1] and path.suffix == ".md"):
        return True
    pairs = zip(path.parts, path.parts[1:], strict=False)
    return any(path.name.endswith(_FOLDERS[pair]) for pair in pairs if pair in _FOLDERS)


def read(source: ImportSource) -> Iterator[Found]:
    """Yield a memory each section that says something, with path, headings and line."""
    for file in source.files:
        text = source.text(file)
        if isinstance(text, UnreadPart):
            yield text
            continue
        fields, body, first = front_matter.split(text)
        seen: Counter[str] = Counter()
        for headings, line, content in sections_of(body, first):
            path = " › ".join(headings)
            seen[path] += 1
            yield MemoryDraft(
                key=f"{file.name}\0{path}\0{seen[path]}",
                place=SourcePlace(str(file.path), line),
                program=NAME,
                folder=str(file.path.parent),
                content=content,
                type=MemoryType.CONVENTION,
                title=_title(file, headings),
                at=file.modified,
                metadata={**fields, "path": file.name, "line": line, "headings": list(headings)},
            )


def _title(file: SourceFile, headings: tuple[str, ...]) -> str:
    return " › ".join((file.path.name, *headings))
