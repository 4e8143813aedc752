"""Values that a store takes and gives beside the records themselves."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from minutebook.record.records import Edge, Kind, Record, TextRecord

R = TypeVar("R", bound=Record)
T = TypeVar("T", bound=TextRecord)

Vectors: TypeAlias = NDArray[np.float32]
"""One unit-length row a part of a text; shape (parts, dimensions)."""


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """Which model made a vector. Vectors of different spaces are never compared."""

    name: str
    digest: str
    dimensions: int
    states: str = field(default="", compare=False)
    """The form in which token states are kept beside the vectors; empty where none are."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that one signal found; a higher score is better."""

    id: str
    score: float


class Tie(NamedTuple):
    """An edge as a graph walk needs it, at a fraction of the record's cost."""

    of: type[Edge]
    """The class of the edge, which says what it joins."""
    id: str
    source: str
    target: str
    type: str
    weight: float


@dataclass(frozen=True, slots=True)
class Group:
    """Records that agree in some fields: the fields' values, how many, from when to when."""

    values: tuple[str | None, ...]
    count: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """The latest change of one record; `sequence` grows with each change in its organization."""

    sequence: int
    kind: Kind
    id: str
    deleted: bool


@dataclass(frozen=True, slots=True)
class Writes:
    """Transactions of this process that wrote, their seconds, and the seconds they had to wait."""

    count: int = 0
    seconds: float = 0.0
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Placement:
    """How the records on a server are spread over machines, those of an organization on one of them.

    Without a cluster there is one node, and no shards.
    """

    nodes: int = 1
    shards: int = 0


@dataclass(frozen=True, slots=True)
class TextVectors:
    """The embedding stored beside a text: its vectors as stored, float16 rows, and its token states.

    `space` names the form of the states, and no form if there are none.
    """

    space: VectorSpace
    vectors: NDArray[np.float16]
    states: bytes | None = None

    def same_as(self, other: "TextVectors | None") -> bool:
        """Tell whether two are the same, byte by byte."""
        return (
            other is not None
            and (self.space, self.space.states, self.states)
            == (other.space, other.space.states, other.states)
            and np.array_equal(self.vectors, other.vectors)
        )


@dataclass(frozen=True, slots=True)
class Carried:
    """A record on its way into another store, and the embedding stored beside its text, if any."""

    record: Record
    embedding: TextVectors | None = None


Gone: TypeAlias = tuple[type[Record], str]
"""The class and id of a record that its store no longer has."""


class Moment(Protocol):
    """The content of a whole store at one moment."""

    def copy_to(self, path: Path) -> None:
        """Copy all of it to a new file. Raises StoreError if that cannot be written."""
