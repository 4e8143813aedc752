"""Erased records in the tables, files and backups of features."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from minutebook.domain.records import Key, Kind
from minutebook.feature import loaded
from minutebook.store.protocol import Tended
from minutebook.store.sql.side_words import SideWords


class ErasedCopies(Protocol):
    """A feature's copies of records outside the store."""

    def note(self, keys: Sequence[Key]) -> None:
        """Note that records were removed, in the transaction that did it."""

    def remove(self) -> Sequence[str]:
        """Remove the copies; return the steps left to a person. Raises StoreBusy, StoreError."""


def forget_erased(store: Tended, records: Sequence[Key]) -> None:
    """Remove what features keep of records that are about to be erased, in their transaction."""
    for forget in loaded("on_erase"):
        forget(store, records)
    ids = defaultdict[str, set[str]](set)
    for organization, _, id in records:
        ids[organization].add(id)
    for organization, erased in ids.items():
        SideWords(store.database).forget(organization, erased)


def decisions_among(records: Sequence[Key]) -> dict[str, list[str]]:
    """Return the ids of the decisions among records, by organization."""
    decided: dict[str, list[str]] = {}
    for organization, kind, id in records:
        if kind is Kind.DECISION:
            decided.setdefault(organization, []).append(id)
    return decided
