"""Secrets that stand in records, and which of them were masked."""

from dataclasses import dataclass

from minutebook.domain.records import Kind


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A stored secret: its record, field and kind, and the part of it that is shown.

    `is_proven` by its check digits. `remedy` says what helps where it cannot be replaced.
    """

    organization: str
    kind: Kind
    id: str
    field: str
    secret: str
    shown: str
    is_proven: bool
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Masked:
    """The replaced occurrences and the remaining ones, each with its reason as its remedy."""

    masked: list[Occurrence]
    left: list[Occurrence]
