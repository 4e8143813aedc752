"""The output of a reader of another program's files: drafts of records, and the parts that could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from minutebook.record.ids import derived_id
from minutebook.record.records import Kind, MemoryType

IMPORTED = "import"
"""The contract that the origin of an imported record names."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A place in a source: the file, and the line, counted from 1; 0 for none."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDraft:
    """The fields of all drafts: a key that stays the same while the source grows, and the place.

    `program` and `version` are those of the program that wrote it. `folder` is the folder that it is
    about, as the source has it; empty if it names none.
    """

    key: str
    place: SourcePlace
    program: str
    version: str = ""
    folder: str = ""

    def id_in(self, repository: str | None, user: str | None) -> str:
        """Return the id of the record in a scope: the same whenever the same source is read."""
        return derived_id(self.key, self.program, repository or "", user or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDraft(SourceDraft):
    """A turn of a session; turns of one session never share an instant."""

    session: str
    at: datetime
    prompt: str
    thought: str
    response: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneTurn(SourceDraft):
    """A turn that its session has taken back: it is not imported, and removed if it was imported earlier."""

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDraft(SourceDraft):
    """A memory. `at` is when the source says that it was written or began to hold, None if it does not say.

    `until` is when it ceased to hold, None if it holds. `user` is the user whose memory it is; empty if it says none.
    """

    content: str
    type: MemoryType
    title: str | None = None
    at: datetime | None = None
    until: datetime | None = None
    user: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDraft(SourceDraft):
    """An entity; its key is made of its name and type, which identify an entity in the store too."""

    name: str
    type: str
    description: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationDraft(SourceDraft):
    """A relation between two entities of the source, by their names; the latest entity of a name is meant."""

    source: str
    target: str
    type: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDraft(SourceDraft):
    """A decision that the source says was made or proposed; a person decides here whether to accept it."""

    title: str
    target: str
    rationale: str
    consequences: tuple[str, ...] = ()


Draft: TypeAlias = TurnDraft | GoneTurn | MemoryDraft | EntityDraft | RelationDraft | ProposalDraft


@dataclass(frozen=True, slots=True)
class UnreadPart:
    """Something that could not be read, and why."""

    place: SourcePlace
    reason: str


Found: TypeAlias = Draft | UnreadPart

KIND_OF: Mapping[type[SourceDraft], Kind] = {
    EntityDraft: Kind.ENTITY,
    RelationDraft: Kind.RELATION,
    MemoryDraft: Kind.MEMORY,
    TurnDraft: Kind.TURN,
    GoneTurn: Kind.TURN,
    ProposalDraft: Kind.PROPOSAL,
}
"""The kind of record that a draft becomes, in the order in which a batch is written."""
