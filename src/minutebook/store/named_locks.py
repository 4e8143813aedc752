"""The protocol of named locks, each held by one process at a time among all that share a store."""

from contextlib import AbstractContextManager
from typing import Protocol


class Held(Protocol):
    """A lock that its holder has."""

    def check(self) -> None:
        """Raise StoreBusy if the lock was lost because its holder could not renew it.

        Call it inside the transaction of a write that only the holder may make: the lock cannot be lost
        from here to the transaction's end.
        """


class NamedLocks(Protocol):
    """Locks by name, for one holder each; a holder that dies loses its locks."""

    def hold(self, name: str, wait: float = 0.0) -> AbstractContextManager[Held | None]:
        """Hold the lock of a name inside the block; yield None if another still has it after `wait` seconds.

        Do not hold a lock inside itself. Raises StoreError if the locks cannot be reached.
        """

    def is_held(self, name: str) -> bool:
        """Tell whether another holds the lock of a name now."""
