"""The records that a reset removes and leaves."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from minutebook.record.caller import Caller
from minutebook.record.records import Kind


@dataclass(frozen=True, slots=True)
class Reset:
    """The records that a reset removed, by kind, and those it left: locked, or not the caller's to remove."""

    deleted: Counter[Kind]
    kept_locked: int = 0
    kept_others: int = 0

    def __add__(self, other: "Reset") -> "Reset":
        """Return the sum of both."""
        return Reset(
            self.deleted + other.deleted,
            self.kept_locked + other.kept_locked,
            self.kept_others + other.kept_others,
        )


Removal = Callable[[Caller, str], Reset]
"""Removes what a feature keeps of an organization and the caller may remove, for a reset."""
