"""The organizations that a transaction may write to, or a snapshot read."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from minutebook.record.errors import StoreError


class TransactionNames(threading.local):
    """Keeps, for each thread, the organizations that its transaction names.

    Every engine has one, so that each refuses a write to an organization that the transaction does not name,
    whatever the engine locks.
    """

    _named: frozenset[str] | None = None

    @contextmanager
    def within(self, organizations: tuple[str, ...]) -> Iterator[None]:
        """Allow the thread to write to these organizations only.

        Raises StoreError if it is in a transaction that does not name them all.
        """
        outer, named = self._named, frozenset(organizations)
        if outer is not None and not named <= outer:
            reason = "a transaction that names {outer} cannot hold one that names {names} too"
            raise StoreError(reason, outer=_listed(outer), names=_listed(named - outer))
        self._named = named
        try:
            yield
        finally:
            self._named = outer

    def check(self, organization: str) -> None:
        """Raise StoreError if the thread is in a transaction that does not name an organization."""
        if self._named is not None and organization not in self._named:
            reason = "a transaction that names {names} cannot write to {name!r}"
            raise StoreError(reason, names=_listed(self._named), name=organization)


def check_in_snapshot(named: frozenset[str], organization: str) -> None:
    """Raise StoreError if a snapshot does not name an organization."""
    if organization not in named:
        reason = "a snapshot that names {names} cannot read {name!r}"
        raise StoreError(reason, names=_listed(named), name=organization)


def _listed(organizations: frozenset[str]) -> str:
    return ", ".join(map(repr, sorted(organizations))) or "no organization"
