"""Operations on citations: read the texts that may cite code."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from minutebook.domain.caller import Caller, FolderScope
from minutebook.domain.records import (
    Decision,
    DecisionStatus,
    Kind,
    Memory,
    MemoryType,
    Status,
    Summary,
)
from minutebook.features.code.references import as_given, references_in
from minutebook.operations.memories import in_folder
from minutebook.operations.operation import operation

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.services.access.visibility import View

CITES = "cites"
"""The field of a memory's metadata with citations given by hand."""

_RULES = frozenset(
    {
        *(MemoryType.BUSINESS_RULE, MemoryType.SYSTEM_CONSTRAINT, MemoryType.CONVENTION),
        *(MemoryType.PROCEDURAL, MemoryType.ARCHITECTURE, MemoryType.DECISION_LOG),
    }
)


@dataclass(frozen=True, slots=True)
class CitingText:
    """A record that holds and that may cite code: its text as of an instant, and whether others have to follow it."""

    kind: Kind
    id: str
    title: str
    text: str
    at: datetime
    is_binding: bool

    @property
    def label(self) -> str:
        """The word for it: `rule` for a memory that others have to follow, else its kind."""
        return "rule" if self.is_binding and self.kind is Kind.MEMORY else str(self.kind)


@operation("knowledge")
def citing_texts(app: "App", caller: Caller, folder: FolderScope | None = None) -> list[CitingText]:
    """Return the memories, decisions and summaries of a folder that may cite code, newest first."""
    from minutebook.features.citations.services import CitationServices

    citing = app.get(CitationServices).citing
    views = app.infrastructure.records.seen_by(in_folder(caller, folder))
    texts = [
        each.text
        for view in views
        for each in citing.of(view.organization, _holding(view, app.clock()))
    ]
    found = [each for each in texts if references_in(each.text)]
    return sorted(found, key=lambda each: each.at, reverse=True)


def _holding(view: "View", now: datetime) -> Iterator[Memory | Decision | Summary]:
    for memory in view.where(valid_at=now).find(Memory):
        if memory.status is not Status.DEPRECATED:
            yield memory
    yield from view.narrowed(status=DecisionStatus.ACTIVE).find(Decision)
    yield from _latest(view.find(Summary))


def _latest(summaries: Iterable[Summary]) -> Iterable[Summary]:
    """Return the latest summary of each session."""
    return {each.session: each for each in sorted(summaries, key=lambda each: each.at)}.values()


def citing_text(
    record: Memory | Decision | Summary, confirmed: datetime | None = None
) -> CitingText:
    """Return the text of a record that may cite code, with citations given by hand, as of when it was last said to hold.

    `confirmed` is when a person last confirmed a decision or a summary.
    """
    text, is_binding = record.text, isinstance(record, Decision)
    match record:
        case Memory():
            is_first = record.version == 1 and record.updated_at == record.ingestion_time
            at = min(record.event_time, record.updated_at) if is_first else record.updated_at
            title, is_binding = record.title or record.content, record.type in _RULES
            text = f"{text}\n{as_given(given_in(record.metadata))}".rstrip()
        case Decision():
            at, title = record.created_at, record.title
        case Summary():
            at, title = record.at, record.title
    at = max(at, confirmed or at)
    return CitingText(record.kind, record.id, title, text, at, is_binding)


def given_in(metadata: Mapping[str, object]) -> list[str]:
    """Return the citations that were given by hand, by a memory's metadata; none where that is no list of texts."""
    given = metadata.get(CITES)
    return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []


OPERATIONS = (citing_texts,)
