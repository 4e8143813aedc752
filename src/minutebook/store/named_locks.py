"""Named locks: one holder at a time among all that share a store; the promise of every kind of lock."""

from contextlib import AbstractContextManager
from typing import Protocol


class Held(Protocol):
    """A lock that its holder has."""

    def check(self) -> None:
        """Raise StoreBusy if the lock was lost, as one is that its holder cannot renew.

        Call it inside the transaction of a write that nobody else may make meanwhile: from here to
        the transaction's end the lock stays the holder's.
        """


class NamedLocks(Protocol):
    """Locks by name, for one holder each; a holder that dies loses its locks."""

    def hold(self, name: str, wait: float = 0.0) -> AbstractContextManager[Held | None]:
        """Hold the lock of a name meanwhile; None where another still has it after `wait` seconds.

        Do not hold a lock inside itself. Raises StoreError if the locks cannot be reached.
        """

    def is_held(self, name: str) -> bool:
        """Tell whether another holds the lock of a name now."""
