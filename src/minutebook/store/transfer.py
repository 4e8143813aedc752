"""How the records of one store go into another, of whatever engine, as `features/migration/migration.py` has them."""

from collections.abc import Collection, Sequence
from typing import Protocol

from minutebook.domain.errors import StoreError
from minutebook.domain.records import TextRecord
from minutebook.store.protocol import Tended
from minutebook.store.values import Carried, Embedding, Gone


class Transferable(Tended, Protocol):
    """A store that gives its records to another store, or takes those of another.

    A store into which records are being moved notes from which, and how far each organization has
    come; until the move has ended nobody else can open it.
    """

    @property
    def identity(self) -> str:
        """The identity of this store among all others, wherever it is moved."""

    def embeddings(
        self, of: type[TextRecord], organization: str, ids: Collection[str]
    ) -> dict[str, Embedding]:
        """Return, by id, the vectors and token states of those records that have vectors."""

    def begin_receiving(self, source: str) -> None:
        """Note that the records of a store, named by its identity, are being moved here.

        It may have been noted before. Raises StoreError if other records are here, or were written
        here since an earlier move had ended.
        """

    def has_all_of(self, source: str) -> bool:
        """Tell whether a move from a store, named by its identity, has ended and nobody wrote here since."""

    def received(self, organization: str) -> int:
        """Return the sequence of the source up to which an organization's changes were transferred."""

    def receive(
        self, organization: str, carried: Sequence[Carried], gone: Sequence[Gone], up_to: int
    ) -> None:
        """Keep and remove records of an organization, and note how far that goes, in one transaction."""

    def end_receiving(self) -> None:
        """Note that all is here, so that the store may be opened."""


def check_may_receive(
    place: str, source: str, noted: tuple[str, bool] | None, written: Sequence[str]
) -> None:
    """Raise StoreError unless a store may take the records of another.

    `noted` is the source of which records were moved here before, and whether that move ended;
    `written` are the organizations that hold what no move has brought.
    """
    if noted is None:
        if written:
            reason = (
                "{place} holds records already; name an empty database or another data directory"
            )
            raise StoreError(reason, place=place)
        return
    if noted[0] != source:
        reason = "{place} has records that were moved from another store; name an empty database or another data directory"
        raise StoreError(reason, place=place)
    if noted[1] and written:
        raise StoreError(
            "{place} has all records that were moved here and was written to since ({names}); nothing was "
            "changed. What the other store was given meanwhile is brought in with `minutebook export` and "
            "`minutebook import`",
            place=place,
            names=", ".join(sorted(written)[:3]),
        )


def being_filled(place: str) -> StoreError:
    """Return the error for opening a store into which records are still being moved."""
    reason = "{place}: records are being moved here, or a move was cut short; the same `minutebook migrate` ends it"
    return StoreError(reason, place=place)
