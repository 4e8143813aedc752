"""The sync state of a store with other machines: beside the records, in their transactions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from minutebook.domain.records import Key

UNSENT = -1
"""The number of the file of a row that has news and is in no file yet."""

SENT = 0
"""That of a row without news."""


@dataclass(frozen=True, slots=True)
class SyncRow:
    """The sync state of a record in one remote: the digest as it is here, the state as JSON.

    `file` is the number of the file in which the row's news is on its way, SENT or UNSENT.
    """

    key: Key
    digest: str
    state: str
    file: int


class SyncRows(Protocol):
    """The sync state that an engine keeps of each remote, named by the remote's identity.

    Inside a transaction of the store, what is written is part of it.
    """

    def remotes(self) -> list[str]:
        """Return the remotes of which anything is known."""

    def marks(self, remote: str) -> dict[str, Any]:
        """Return the last marks of a remote as a whole; none of one that is new."""

    def put_marks(self, remote: str, marks: dict[str, Any]) -> None:
        """Store the marks of a remote as a whole, in place of the last ones."""

    def get(self, remote: str, key: Key) -> SyncRow | None:
        """Return the sync state of a record."""

    def put(self, remote: str, row: SyncRow) -> None:
        """Store the sync state of a record."""

    def unsent(self, remote: str, limit: int) -> list[SyncRow]:
        """Return rows with news that are in no file yet, by key."""

    def sending(self, remote: str, file: int) -> list[SyncRow]:
        """Return the rows with news on its way in a file, by key."""

    def sent(self, remote: str, file: int) -> None:
        """Note that a file has arrived: its rows have no news any more."""

    def each(self, remote: str) -> Iterator[SyncRow]:
        """Yield the sync state of every record, by key, holding few of them."""
