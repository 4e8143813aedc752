"""Memories and their versions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from minutebook.record.ids import uuid_of
from minutebook.record.origin import Origin
from minutebook.record.records.access import Role
from minutebook.record.records.record import Kind, Record, TextRecord


class ScopeLevel(StrEnum):
    """The scope level of a memory: system, organization, repository or user."""

    SYSTEM = "system"
    ORGANIZATION = "organization"
    REPOSITORY = "repository"
    USER = "user"


class MemoryType(StrEnum):
    """The type of a memory."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    FACT = "fact"
    BUSINESS_RULE = "business_rule"
    DECISION_LOG = "decision_log"
    PREFERENCE = "preference"
    SYSTEM_CONSTRAINT = "system_constraint"
    DOCUMENTATION = "documentation"
    TECH_STACK = "tech_stack"
    TASK = "task"
    ARCHITECTURE = "architecture"
    USER_CONTEXT = "user_context"
    CONVENTION = "convention"
    RISK = "risk"


class Status(StrEnum):
    """The state of a memory."""

    DRAFT = "draft"
    ACTIVE = "active"
    UNVERIFIED = "unverified"
    VERIFIED = "verified"
    LOCKED = "locked"
    DEPRECATED = "deprecated"
    SUPERSEDED = "superseded"


def text_of(title: str | None, content: str) -> str:
    """Return the text of a memory, which search reads: the title, if there is one, and the content."""
    return content if title is None else f"{title}\n{content}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(TextRecord):
    """One thing that is remembered, valid from `valid_from` until (not including) `valid_until`.

    `event_time` is when it happened, `ingestion_time` when the store learned of it.
    `user` and `repository` are None for what concerns everyone in the organization.
    `given_uuid` is the UUID under which it was created, if that cannot be computed from the id.
    `reason` tells why it ended or was deprecated; `superseded_by` is the id of the memory that
    replaced it. `deleted_at` marks a soft-deleted memory, `locked_by` is the role that locked it,
    `unlocks_to` the status that it had before.
    """

    kind: ClassVar[Kind] = Kind.MEMORY

    content: str
    scope: ScopeLevel
    type: MemoryType
    status: Status
    author: str
    event_time: datetime
    ingestion_time: datetime
    updated_at: datetime
    valid_from: datetime
    valid_until: datetime | None = None
    repository: str | None = None
    user: str | None = None
    title: str | None = None
    importance: float = 1.0
    metadata: Mapping[str, object] = field(default_factory=dict)
    version: int = 1
    reason: str | None = None
    superseded_by: str | None = None
    deleted_at: datetime | None = None
    locked_by: Role | None = None
    unlocks_to: Status | None = None
    given_uuid: str | None = None
    origin: Origin | None = None

    @property
    def uuid(self) -> str:
        """The UUID by which contracts that speak UUIDs show it."""
        return self.given_uuid or str(uuid_of(self.id))

    @property
    def text(self) -> str:
        """The text that search reads: the title, if there is one, and the content."""
        return text_of(self.title, self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version(Record):
    """A memory's text as it was after one change; its id is the memory's id, a dot, the number."""

    kind: ClassVar[Kind] = Kind.VERSION

    memory: str
    number: int
    content: str
    title: str | None
    changed_by: str
    changed_at: datetime
    request: str
    origin: Origin | None = None
