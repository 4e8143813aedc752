"""The recall log: kept beside the records, since reading callers write it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from minutebook.domain.records import Kind
from minutebook.features.recall_log.recalls import LoggedRecall, RecallCount


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuery:
    """Which entries of an organization's recall log are meant; None: any.

    `sessions` are names of connections' sessions, `client` a program (A to Z like a to z), `record`
    the kind and id of one that was got.
    """

    organization: str
    asker: str | None = None
    sessions: Collection[str] | None = None
    client: str | None = None
    record: tuple[Kind, str] | None = None


class RecallRows(Protocol):
    """Where an engine keeps the recall log; each member may be called from any thread.

    It is no record: no organization's writers wait for it long, and nobody is told that it changed.
    All texts are free of NUL and lone surrogates.
    """

    def write(self, organization: str, entries: Sequence[LoggedRecall]) -> None:
        """Keep entries of an organization, all or none; one with a known id stays as it is.

        Raises StoreBusy after two seconds.
        """

    def find(self, query: RecallQuery, limit: int, offset: int = 0) -> list[LoggedRecall]:
        """Return a page of the entries that are meant, newest first, ties by id."""

    def sessions(self, query: RecallQuery, among: int, limit: int) -> list[RecallCount]:
        """Count the last `among` entries that are meant by name, client and session, latest first."""

    def counts(self, query: RecallQuery) -> list[RecallCount]:
        """Count the entries that are meant by name and client, the most first; sessions are empty."""

    def times(self, query: RecallQuery, kind: Kind, ids: Collection[str]) -> dict[str, int]:
        """Count the entries that are meant by which of these records they got; of none, no count."""

    def first(self, query: RecallQuery) -> datetime | None:
        """Return the instant of the oldest entry that is meant, None if there is none."""

    def prune(self, organization: str, before: datetime, most: int) -> None:
        """Remove an organization's entries of before an instant, and the oldest beyond so many."""

    def clear(self, organization: str, asker: str | None = None) -> None:
        """Remove an organization's entries, or those of one asker."""

    def erase(self, organization: str, kind: Kind, id: str) -> None:
        """Remove the entries of questions that got a record: a question says much of its hits."""

    def everything(self, organization: str) -> Iterator[LoggedRecall]:
        """Yield every entry of an organization, by id, some at a time."""
