"""Erased records in the tables of features."""

from collections.abc import Sequence

from minutebook.domain.records import Key
from minutebook.feature import loaded
from minutebook.store.protocol import Tended


def forget_erased(store: Tended, records: Sequence[Key]) -> None:
    """Have each feature remove its rows of records that are about to be erased, in their transaction."""
    for forget in loaded("on_erase"):
        forget(store, records)
