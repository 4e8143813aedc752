"""Which organizations a transaction may write to, and a snapshot read."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from minutebook.domain.errors import StoreError


class TransactionNames(threading.local):
    """Keeps, for each thread, the organizations that its transaction names.

    Every engine has one, so that a write which a transaction does not name is refused by each of
    them, whatever the engine locks.
    """

    _named: frozenset[str] | None = None

    @contextmanager
    def within(self, organizations: tuple[str, ...]) -> Iterator[None]:
        """Allow the thread to write to these organizations only.

        Raises StoreError if it is in a transaction that does not name them all.
        """
        outer, named = self._named, frozenset(organizations)
        if outer is not None and not named <= outer:
            raise StoreError(
                f"a transaction that names {_listed(outer)} cannot hold one that names "
                f"{_listed(named - outer)} too"
            )
        self._named = named
        try:
            yield
        finally:
            self._named = outer

    def check(self, organization: str) -> None:
        """Raise StoreError if the thread is in a transaction that does not name an organization."""
        if self._named is not None and organization not in self._named:
            raise StoreError(
                f"a transaction that names {_listed(self._named)} cannot write to {organization!r}"
            )


def check_in_snapshot(named: frozenset[str], organization: str) -> None:
    """Raise StoreError if a snapshot does not name an organization."""
    if organization not in named:
        raise StoreError(f"a snapshot that names {_listed(named)} cannot read {organization!r}")


def _listed(organizations: frozenset[str]) -> str:
    return ", ".join(map(repr, sorted(organizations))) or "no organization"
