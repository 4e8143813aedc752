"""The sources that can be imported, by name: which files they have, and how these are read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from minutebook.domain.counts import count_of
from minutebook.domain.writing.source_drafts import Found
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


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A program with readable files, and the place of these, if that is the same everywhere."""

    title: str
    is_wanted: Wanted
    read: Callable[[ImportSource], Iterator[Found]]
    usual_place: UsualPlace | None = None
    passed_over: frozenset[str] = frozenset()
    one: str = ""
    """A file of it in words: `session of Codex`."""

    def count(self, number: int) -> str:
        """Return a number of files in words: `12 sessions of Codex`."""
        one = self.one or f"file of {self.title}"
        return count_of(number, one, one.replace(" ", "s ", 1))

    def files(self, root: Path) -> ImportSource:
        """List its files at a path. Raises InvalidInput if there is nothing."""
        return ImportSource(root, self.is_wanted, self.passed_over)


SOURCES: Mapping[str, SourceKind] = {
    claude_code.NAME: SourceKind(
        "transcripts of Claude Code",
        claude_code.is_wanted,
        claude_code.read,
        claude_code.USUAL_PLACE,
        one="session of Claude Code",
    ),
    claude_code_memory.NAME: SourceKind(
        "notes that Claude Code keeps by itself",
        claude_code_memory.is_wanted,
        claude_code_memory.read,
        claude_code.USUAL_PLACE,
        one="note that Claude Code keeps by itself",
    ),
    codex.NAME: SourceKind(
        "sessions of Codex",
        codex.is_wanted,
        codex.read,
        codex.USUAL_PLACE,
        one="session of Codex",
    ),
    copilot_cli.NAME: SourceKind(
        "sessions of Copilot CLI",
        copilot_cli.is_wanted,
        copilot_cli.read,
        copilot_cli.USUAL_PLACE,
        one="session of Copilot CLI",
    ),
    gemini_cli.NAME: SourceKind(
        "chats of Gemini CLI",
        gemini_cli.is_wanted,
        gemini_cli.read,
        gemini_cli.USUAL_PLACE,
        one="chat of Gemini CLI",
    ),
    server_memory.NAME: SourceKind(
        "entities and observations of server-memory", server_memory.is_wanted, server_memory.read
    ),
    markdown.NAME: SourceKind("Markdown notes", markdown.is_wanted, markdown.read),
    mcp_memory_service.NAME: SourceKind(
        "memories of mcp-memory-service", mcp_memory_service.is_wanted, mcp_memory_service.read
    ),
    chat_export.NAME: SourceKind(
        "conversations of ChatGPT or Claude", chat_export.is_wanted, chat_export.read
    ),
    instructions.NAME: SourceKind(
        "instructions for agents",
        instructions.is_wanted,
        instructions.read,
        passed_over=instructions.PASSED_OVER,
    ),
    claude_mem.NAME: SourceKind(
        "memories of claude-mem", claude_mem.is_wanted, claude_mem.read, claude_mem.USUAL_PLACE
    ),
    mem0.NAME: SourceKind("memories of mem0", mem0.is_wanted, mem0.read),
    adr.NAME: SourceKind(
        "decision records", adr.is_wanted, adr.read, passed_over=instructions.PASSED_OVER
    ),
}


def found_in(source: ImportSource, kind: SourceKind) -> Iterator[Found]:
    """Yield the drafts of a source, first the parts of its files that had to be left out."""
    yield from source.left_out
    yield from kind.read(source)
