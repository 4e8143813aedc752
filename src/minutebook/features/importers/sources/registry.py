"""The sources that can be imported, by name: which files they have, and how these are read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from minutebook.features.importers.sources import (
    adr,
    chat_export,
    claude_code,
    claude_code_memory,
    claude_mem,
    codex,
    copilot_cli,
    gemini_cli,
    instructions,
    markdown,
    mcp_memory_service,
    mem0,
    server_memory,
)
from minutebook.features.importers.sources.reading.files import ImportSource, UsualPlace, Wanted
from minutebook.record.reason import count_of
from minutebook.record.writing.source_drafts import Found


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A program with files that can be imported, and their usual place, if there is one."""

    title: str
    is_wanted: Wanted
    read: Callable[[ImportSource], Iterator[Found]]
    usual_place: UsualPlace | None = None
    skipped_folders: frozenset[str] = frozenset()
    singular: str = ""
    """The word for one of its files: `session of Codex`."""

    def count(self, number: int) -> str:
        """Return a number of files in words: `12 sessions of Codex`."""
        singular = self.singular or f"file of {self.title}"
        return count_of(number, singular, singular.replace(" ", "s ", 1))

    def files(self, root: Path) -> ImportSource:
        """Return its files at a path. Raises InvalidInput if there is nothing."""
        return ImportSource(root, self.is_wanted, self.skipped_folders)


_TITLES: tuple[tuple[ModuleType, str, str], ...] = (
    (claude_code, "transcripts of Claude Code", "session of Claude Code"),
    (
        claude_code_memory,
        "notes that Claude Code keeps by itself",
        "note that Claude Code keeps by itself",
    ),
    (codex, "sessions of Codex", "session of Codex"),
    (copilot_cli, "sessions of Copilot CLI", "session of Copilot CLI"),
    (gemini_cli, "chats of Gemini CLI", "chat of Gemini CLI"),
    (server_memory, "entities and observations of server-memory", ""),
    (markdown, "Markdown notes", ""),
    (mcp_memory_service, "memories of mcp-memory-service", ""),
    (chat_export, "conversations of ChatGPT or Claude", ""),
    (instructions, "instructions for agents", ""),
    (claude_mem, "memories of claude-mem", ""),
    (mem0, "memories of mem0", ""),
    (adr, "decision records", ""),
)


def _kind(module: ModuleType, title: str, singular: str) -> SourceKind:
    """Return the kind of source that a module reads: all such modules define the same names."""
    return SourceKind(
        title,
        module.is_wanted,
        module.read,
        getattr(module, "USUAL_PLACE", None),
        getattr(module, "SKIPPED_FOLDERS", frozenset()),
        singular,
    )


SOURCES: Mapping[str, SourceKind] = {each[0].NAME: _kind(*each) for each in _TITLES}


def found_in(source: ImportSource, kind: SourceKind) -> Iterator[Found]:
    """Yield the files that were left out as UnreadParts, then the drafts and UnreadParts of the others."""
    yield from source.left_out
    yield from kind.read(source)
