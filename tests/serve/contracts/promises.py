"""What a promise is: a sentence with an id and its source; and what is not kept of it, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promised sentence."""

    id: str
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Divergence:
    """A promise that is not kept, or not yet, and why."""

    id: str
    why: str


def promised(source: str, prefix: str, sentences: Mapping[str, str]) -> Iterator[Requirement]:
    """Yield the sentences of one part of a source, each with its id."""
    for name, text in sentences.items():
        yield Requirement(f"{prefix}/{name}", source, text)
