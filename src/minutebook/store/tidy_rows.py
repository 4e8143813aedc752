"""Suggestions of how to put the records in order: kept beside them, since they are no records themselves."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from minutebook.features.tidying.findings import State, Suggestion


class TidyRows(Protocol):
    """Where an engine keeps suggestions; each member may be called from any thread.

    Inside a transaction of the store, what is written is part of it.
    """

    def add(self, organization: str, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
        """Keep those with ids that are not there yet, each with the next number; return these."""

    def known(self, organization: str, ids: Collection[str]) -> set[str]:
        """Return those of the ids that suggestions have, in whatever state."""

    def put(self, suggestion: Suggestion) -> None:
        """Keep a suggestion in place of the one with its id."""

    def numbered(self, organization: str, number: int) -> Suggestion | None:
        """Return the suggestion with a number, or None."""

    def find(self, organization: str, state: State, limit: int, after: int = 0) -> list[Suggestion]:
        """Return suggestions in a state by number, those beyond `after`."""

    def due(self, organization: str, at: datetime, limit: int) -> list[Suggestion]:
        """Return suggestions that wait for an instant which has come by then, the earliest first."""

    def remove(self, organization: str, id: str) -> None:
        """Remove a suggestion, so that it may be found again."""

    def marks(self, organization: str) -> Mapping[str, Any]:
        """Return the last marks of an organization as a whole; none at first."""

    def put_marks(self, organization: str, marks: Mapping[str, Any]) -> None:
        """Store the marks of an organization as a whole, in place of the last ones."""

    def everything(self, organization: str) -> Iterator[Suggestion]:
        """Yield every suggestion of an organization by number, some at a time."""
