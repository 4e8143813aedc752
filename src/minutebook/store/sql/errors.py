"""Errors of a driver as errors of the store, whichever the engine."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import ClassVar, Generic, TypeVar

from minutebook.domain.errors import StoreDamaged, StoreError
from minutebook.domain.reason import Reason
from minutebook.store.sql.tables import DamagedRow

Place = TypeVar("Place")


class Translation(ABC, Generic[Place]):
    """Turns errors of a driver into StoreErrors that name the database; mistakes in our code stay visible."""

    shows_cause: ClassVar[bool]
    """Whether the driver's own error stays behind ours: what some say of a row has the row's content in it."""

    __slots__ = ("_place",)

    def __init__(self, place: Place) -> None:
        self._place = place

    @abstractmethod
    def fault(self, error: BaseException | None) -> StoreError | None:
        """Return the StoreError that an error of the driver amounts to; None for any other."""

    @abstractmethod
    def damage(self, what: Reason) -> StoreDamaged:
        """Return the error that names the damage and the remedy."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, DamagedRow):
            raise self.damage(error.what) from error
        fault = self.fault(error)
        if fault is not None:
            raise fault from (error if self.shows_cause else None)
