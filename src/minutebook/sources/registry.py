"""The sources that can be imported, by name: which files they have, and how these are read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from minutebook.domain.source_drafts import Found
from minutebook.sources import claude_code, codex, gemini_cli, markdown, server_memory
from minutebook.sources.files import Source, UsualPlace, Wanted


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A program whose files can be read, and where it keeps them, if that is the same everywhere."""

    title: str
    is_wanted: Wanted
    read: Callable[[Source], Iterator[Found]]
    usual_place: UsualPlace | None = None


SOURCES: Mapping[str, SourceKind] = {
    claude_code.NAME: SourceKind(
        "transcripts of Claude Code",
        claude_code.is_wanted,
        claude_code.read,
        claude_code.USUAL_PLACE,
    ),
    codex.NAME: SourceKind("sessions of Codex", codex.is_wanted, codex.read, codex.USUAL_PLACE),
    gemini_cli.NAME: SourceKind(
        "chats of Gemini CLI", gemini_cli.is_wanted, gemini_cli.read, gemini_cli.USUAL_PLACE
    ),
    server_memory.NAME: SourceKind(
        "entities and observations of server-memory", server_memory.is_wanted, server_memory.read
    ),
    markdown.NAME: SourceKind("Markdown notes", markdown.is_wanted, markdown.read),
}


def found_in(source: Source, kind: SourceKind) -> Iterator[Found]:
    """Yield what a source holds, first what of its files had to be left out."""
    yield from source.left_out
    yield from kind.read(source)
