"""The texts of records that may cite code."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from minutebook.features.code.references import (
    Reference,
    quote_citations,
    references_in,
    relative_to_root,
)
from minutebook.record.records import Decision, Kind, Memory, MemoryType, Summary

CITES = "cites"
"""The field of a memory's metadata with citations that a person gave."""

_RULES = frozenset(
    {
        *(MemoryType.BUSINESS_RULE, MemoryType.SYSTEM_CONSTRAINT, MemoryType.CONVENTION),
        *(MemoryType.PROCEDURAL, MemoryType.ARCHITECTURE, MemoryType.DECISION_LOG),
    }
)


@dataclass(frozen=True, slots=True)
class CitingText:
    """The text of a record that may cite code, as of the instant `at`; `is_binding` for decisions and rules.

    `files` are cited, too: those that a session changed.
    """

    kind: Kind
    id: str
    title: str
    text: str
    at: datetime
    is_binding: bool
    files: tuple[str, ...] = ()

    def references(self, root: str = "/") -> list[Reference]:
        """Return the possible citations, each once, with paths below the root of a work tree."""
        files = [each.removeprefix(f"{root}/") for each in self.files]
        found = [
            each if each.path is None else replace(each, path=relative_to_root(root, each.path))
            for each in references_in(self.text)
        ]
        return list(dict.fromkeys((*found, *map(Reference, files, files))))

    @property
    def label(self) -> str:
        """The word for the record: `rule` for a binding memory, else its kind."""
        return "rule" if self.is_binding and self.kind is Kind.MEMORY else str(self.kind)


def citing_text(
    record: Memory | Decision | Summary, confirmed: datetime | None = None
) -> CitingText:
    """Return the text of a record that may cite code, with the citations that a person gave.

    It is as of the last time that the record was changed, verified or, at the instant `confirmed`, confirmed.
    """
    text, is_binding = record.text, isinstance(record, Decision)
    match record:
        case Memory():
            is_first = record.version == 1 and record.updated_at == record.ingestion_time
            at = min(record.event_time, record.updated_at) if is_first else record.updated_at
            title, is_binding = record.title or record.content, record.type in _RULES
            # An importer's title names the file that it read, which is no citation.
            text = record.content if "imported" in record.metadata else text
            text = f"{text}\n{quote_citations(given_in(record.metadata))}".rstrip()
        case Decision():
            at, title = record.created_at, record.title
        case Summary():
            at, title = record.at, record.title
    at = max(at, confirmed or at)
    return CitingText(record.kind, record.id, title, text, at, is_binding)


def given_in(metadata: Mapping[str, object]) -> list[str]:
    """Return the citations that a person gave, from a memory's metadata; none if the field is no list."""
    given = metadata.get(CITES)
    return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []
