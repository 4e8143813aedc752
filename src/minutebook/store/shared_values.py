"""Texts by name that all servers over one database share, beside its records."""

from typing import Protocol


class SharedValues(Protocol):
    """The shared values of an engine; each member may be called from any thread.

    A shared value is no record: it has no organization, and its changes are not in the change feed. Written inside a
    transaction, it is part of it, and nobody else writes it until the transaction ends.
    """

    def read(self, name: str) -> str | None:
        """Return the shared value of a name, or None."""

    def write(self, name: str, text: str) -> None:
        """Write a value, replacing any of that name."""

    def claim(self, name: str, text: str) -> str:
        """Write a value unless there is one of that name; return the value that is there afterwards."""
