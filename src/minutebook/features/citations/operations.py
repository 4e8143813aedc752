"""Operations on citations: read the texts that may cite code."""

from collections.abc import Iterable, Iterator
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
    TextRecord,
)
from minutebook.features.citations.references import references_in
from minutebook.operations.memories import in_folder
from minutebook.operations.operation import operation

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.services.access.visibility import View

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
    views = app.infrastructure.records.seen_by(in_folder(caller, folder))
    texts = [each for view in views for each in _holding(view, app.clock())]
    found = [each for each in texts if references_in(each.text)]
    return sorted(found, key=lambda each: each.at, reverse=True)


def _holding(view: "View", now: datetime) -> Iterator[CitingText]:
    for memory in view.where(valid_at=now).find(Memory):
        if memory.status is not Status.DEPRECATED:
            is_first = memory.version == 1 and memory.updated_at == memory.ingestion_time
            at = min(memory.event_time, memory.updated_at) if is_first else memory.updated_at
            title = memory.title or memory.content
            yield _citing(memory, title, at, is_binding=memory.type in _RULES)
    for decision in view.narrowed(status=DecisionStatus.ACTIVE).find(Decision):
        yield _citing(decision, decision.title, decision.created_at, is_binding=True)
    for summary in _latest(view.find(Summary)):
        yield _citing(summary, summary.title, summary.at, is_binding=False)


def _latest(summaries: Iterable[Summary]) -> Iterable[Summary]:
    """Return the latest summary of each session."""
    return {each.session: each for each in sorted(summaries, key=lambda each: each.at)}.values()


def _citing(record: TextRecord, title: str, at: datetime, *, is_binding: bool) -> CitingText:
    return CitingText(record.kind, record.id, title, record.text, at, is_binding)


OPERATIONS = (citing_texts,)
