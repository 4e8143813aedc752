"""Values that a store takes and returns, other than the records themselves."""

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
"""A unit-length row for each part of a text; shape (parts, dimensions)."""


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The space of the vectors of one model. Vectors of different spaces are never compared."""

    name: str
    digest: str
    dimensions: int
    states: str = field(default="", compare=False)
    """The form in which token states are kept beside the vectors; empty if none are."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that one signal found; a higher score is better."""

    id: str
    score: float


class Tie(NamedTuple):
    """An edge with only the fields that a graph walk needs, which is quicker to read."""

    of: type[Edge]
    """The class of the edge."""
    id: str
    source: str
    target: str
    type: str
    weight: float


@dataclass(frozen=True, slots=True)
class Group:
    """Records that agree in some fields: the fields' values, the number of records, their first and last instants."""

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
    """The number of writing transactions of this process, the seconds that they took, and the seconds that they waited."""

    count: int = 0
    seconds: float = 0.0
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Placement:
    """The spread of the records on a server over machines; those of an organization are on one of them.

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
        """Tell whether two embeddings are the same, byte by byte."""
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


RemovedRecord: TypeAlias = tuple[type[Record], str]
"""The class and id of a record that was removed from its store."""


class Moment(Protocol):
    """The content of a whole store at one moment."""

    def copy_to(self, path: Path) -> None:
        """Copy all of it to a new file. Raises StoreError if that cannot be written."""
