"""Secrets that stand in records, and which of them were masked."""

from dataclasses import dataclass

from minutebook.domain.records import Kind


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A secret that is kept: in which field of which record, of which kind, and what is shown of it.

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
    """What was replaced, and what was left, each with its reason as its remedy."""

    masked: list[Occurrence]
    left: list[Occurrence]
