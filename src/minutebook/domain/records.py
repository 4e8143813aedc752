"""The records that a store keeps: frozen values, each with an organization, a kind and an id.

`origin` tells of those that have one by which program, contract and session they were first written.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from minutebook.domain.ids import uuid_of
from minutebook.domain.origin import Origin
from minutebook.domain.targets import target_key

SYSTEM_ORGANIZATION = "~system"
"""The organization that holds system-wide records; every caller may read it."""

DEFAULT_ORGANIZATION = "default"
"""Where a personal store writes when nobody named an organization."""

DEFAULT_USER = "default"
"""Whose a memory of user scope is when nobody named the user."""


class Kind(StrEnum):
    """The class of a record."""

    MEMORY = "memory"
    VERSION = "version"
    ENTITY = "entity"
    RELATION = "relation"
    LINK = "link"
    MENTION = "mention"
    ENTRY = "entry"
    HEAD = "head"
    DECISION = "decision"
    PROPOSAL = "proposal"
    TURN = "turn"
    SUMMARY = "summary"
    PROJECT = "project"
    FILE = "file"
    CHUNK = "chunk"
    LEDGER = "ledger"
    TOKEN = "token"  # noqa: S105


class ScopeLevel(StrEnum):
    """Whom a memory concerns."""

    SYSTEM = "system"
    ORGANIZATION = "organization"
    REPOSITORY = "repository"
    USER = "user"


class MemoryType(StrEnum):
    """What sort of memory it is."""

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
    """Where in its life a memory is."""

    DRAFT = "draft"
    ACTIVE = "active"
    UNVERIFIED = "unverified"
    VERIFIED = "verified"
    LOCKED = "locked"
    DEPRECATED = "deprecated"
    SUPERSEDED = "superseded"


class Role(StrEnum):
    """What a caller is trusted with, from least to most."""

    VIEWER = "viewer"
    AGENT = "agent"
    HUMAN = "human"
    MANAGER = "manager"
    ARCHITECT = "architect"
    ADMIN = "admin"


def text_of(title: str | None, content: str) -> str:
    """Give what search reads of a memory."""
    return content if title is None else f"{title}\n{content}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing that is remembered, valid from `valid_from` until (not including) `valid_until`.

    `event_time` is when it happened, `ingestion_time` when the store learned of it.
    `user` and `repository` are None for what concerns everyone in the organization.
    `given_uuid` is the UUID under which it was created, where the id does not give it back.
    `reason` tells why it ended or was deprecated; `superseded_by` names the memory that took its
    place. `deleted_at` marks a soft-deleted memory, `locked_by` the role of whoever locked it,
    `unlocks_to` the status that it had before.
    """

    kind: ClassVar[Kind] = Kind.MEMORY

    organization: str
    id: str
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
        """What search reads: the title, if there is one, and the content."""
        return text_of(self.title, self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A memory's text as it was after one change; its id is the memory's id, a dot, the number."""

    kind: ClassVar[Kind] = Kind.VERSION

    organization: str
    id: str
    memory: str
    number: int
    content: str
    title: str | None
    changed_by: str
    changed_at: datetime
    request: str
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A node of the knowledge graph."""

    kind: ClassVar[Kind] = Kind.ENTITY

    organization: str
    id: str
    name: str
    type: str
    author: str
    created_at: datetime
    description: str | None = None
    aliases: tuple[str, ...] = ()
    repository: str | None = None
    user: str | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A directed, typed, weighted edge from `source` to `target`.

    Its kind says between what: a *relation* joins two entities, a *link* two memories, a *mention*
    leads from a memory to an entity that it names (derived, can be rebuilt).
    """

    organization: str
    id: str
    kind: Kind
    source: str
    target: str
    type: str
    created_at: datetime
    weight: float = 1.0
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One act on the audit trail; `digest` covers every other field, `previous` the entry before.

    The first entry of an organization has number 1 and an empty `previous`. `before` and `after`
    are digests of the record's text, never the text. `outcome` is `done` or the refusal's name.
    `token` is the id of the token with which the actor came, empty where they came without one.
    `origin` is by which program and contract, in which session; None if unknown.
    """

    kind: ClassVar[Kind] = Kind.ENTRY

    organization: str
    id: str
    number: int
    at: datetime
    actor: str
    role: Role
    act: str
    subject_kind: Kind
    subject: str
    request: str
    outcome: str
    before: str
    after: str
    previous: str
    digest: str
    token: str = ""
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where an organization's trail ends: the number and digest of its last entry.

    Kept apart from the entries, so that the last ones cannot go unnoticed.
    """

    kind: ClassVar[Kind] = Kind.HEAD

    organization: str
    id: str
    number: int
    digest: str


class IndexState(StrEnum):
    """How far a project's index is."""

    PENDING = "pending"
    INDEXING = "indexing"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A folder of code that was indexed under a name, its id; `path` is where the folder is.

    Of the files found, `indexed_files` have been read, and at `read_at` all; the state is completed
    when their chunks have vectors as well. `skipped` counts what was left out, by reason. `reason`
    tells why the state is failed.
    """

    kind: ClassVar[Kind] = Kind.PROJECT

    organization: str
    id: str
    path: str
    author: str
    state: IndexState
    started_at: datetime
    read_at: datetime | None = None
    completed_at: datetime | None = None
    total_files: int = 0
    indexed_files: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None
    repository: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of a project as it was when last read: the digest of its bytes, its stamp on disk."""

    kind: ClassVar[Kind] = Kind.FILE

    organization: str
    id: str
    project: str
    path: str
    stamp: str
    digest: str
    repository: str | None = None
    user: str | None = None


MAX_CHUNK_TEXT = 6000
"""Characters of a chunk that search reads; the rest of an endless line means nothing."""


_PARTS = re.compile(r"\.|::|#|/")
_HUMPS = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeChunk:
    """Lines of a project's file, from `start_line` to `end_line`, counted from 1, both included.

    `type` is function, class, struct, module, impl or other; `name` holds the enclosing names
    (`Outer.method`); it and `signature` are empty outside of any definition.
    """

    kind: ClassVar[Kind] = Kind.CHUNK

    organization: str
    id: str
    project: str
    path: str
    language: str
    type: str
    name: str
    signature: str
    start_line: int
    end_line: int
    content: str
    repository: str | None = None
    user: str | None = None

    @property
    def text(self) -> str:
        """What search reads: where it is and what it is, then its lines.

        A name of several words stands there in words as well; the signature is left out where the
        lines begin with it.
        """
        facts = [self.path, self.name]
        own = _PARTS.split(self.name)[-1]
        in_words = " ".join(filter(None, _HUMPS.split(own)))
        if in_words != own:
            facts.append(in_words)
        opening = " ".join(self.content[:MAX_CHUNK_TEXT].split())
        if self.signature not in opening:
            facts.append(self.signature)
        head = "\n".join(fact for fact in facts if fact)
        return f"{head}\n{self.content.strip()}"[:MAX_CHUNK_TEXT]


class DecisionStatus(StrEnum):
    """Where in its life a decision is."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


class Authorship(StrEnum):
    """Whether a person or an agent decided."""

    HUMAN = "human"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A choice on the record about a target, with its reasons and its place in a chain.

    Only `status`, `superseded_by` and `commit_id` ever change. `supersedes` names what it replaced,
    `superseded_by` what replaced it: one, or one of each branch where colleagues superseded it on
    two and then merged. `author` is the caller's name, `proposal` the proposal that was accepted,
    `commit_id` the commit that last wrote it.
    """

    kind: ClassVar[Kind] = Kind.DECISION

    organization: str
    id: str
    target: str
    title: str
    rationale: str
    status: DecisionStatus
    authorship: Authorship
    author: str
    created_at: datetime
    consequences: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: tuple[str, ...] = ()
    proposal: str | None = None
    repository: str | None = None
    user: str | None = None
    commit_id: str | None = None
    origin: Origin | None = None

    @property
    def target_key(self) -> str:
        """What all spellings of the target share: decisions on one target have the same."""
        return target_key(self.target)

    @property
    def text(self) -> str:
        """What search reads: title, target, rationale, consequences."""
        return "\n".join((self.title, self.target, self.rationale, *self.consequences))


class ProposalStatus(StrEnum):
    """What became of a proposal."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    DECLINED = "declined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A decision that is not yet accepted; `supersedes` names what its author means to replace.

    `settled_by` accepted or declined it at `settled_at`; `decision` is what an accepted one became.
    """

    kind: ClassVar[Kind] = Kind.PROPOSAL

    organization: str
    id: str
    target: str
    title: str
    rationale: str
    status: ProposalStatus
    author: str
    created_at: datetime
    consequences: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    settled_at: datetime | None = None
    settled_by: str | None = None
    decision: str | None = None
    repository: str | None = None
    user: str | None = None
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """What search reads: title, target, rationale, consequences."""
        return "\n".join((self.title, self.target, self.rationale, *self.consequences))


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerMark:
    """How far the tables have followed a ledger: up to this commit, found sound at that instant."""

    kind: ClassVar[Kind] = Kind.LEDGER

    organization: str
    id: str
    commit_id: str
    verified_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What lets a caller in: a secret of which only the SHA-256 is kept, in hexadecimal.

    `name`, `role` and the scopes that bind are those of the caller it makes; a scope that is None
    binds to none. `organization` is the system's for every token. `last_used_at` is right to the
    hour; a token whose `revoked_at` is set lets nobody in again.
    """

    kind: ClassVar[Kind] = Kind.TOKEN

    organization: str
    id: str
    name: str
    role: Role
    digest: str
    author: str
    created_at: datetime
    bound_organization: str | None = None
    bound_repositories: tuple[str, ...] | None = None
    bound_user: str | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One prompt, the thought about it and the response, at an instant of a session.

    Turns of one session never share an instant.
    """

    kind: ClassVar[Kind] = Kind.TURN

    organization: str
    id: str
    session: str
    at: datetime
    prompt: str
    thought: str
    response: str
    author: str
    repository: str | None = None
    user: str | None = None
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """What search reads: prompt, thought, response."""
        return "\n".join((self.prompt, self.thought, self.response))


class Category(StrEnum):
    """What sort of work a session was."""

    BUGFIX = "bugfix"
    FEATURE = "feature"
    REFACTORING = "refactoring"
    DOCUMENTATION = "documentation"
    NEW_APP = "new-app"
    ANALYSIS = "analysis"
    OTHER = "other"


SCORES = ("quality", "productivity", "impact", "complexity")
"""The fields of a summary that are whole numbers from 0 to MOST_SCORE."""

MOST_SCORE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a session came to, as it stood when `last_turn` (empty: not known) was its last turn.

    `at` is when it was summarised. `reasons` tells of the SCORES, of the category and of who made it,
    why. `made_by` names the summarizer. `author` asked for it.
    """

    kind: ClassVar[Kind] = Kind.SUMMARY

    organization: str
    id: str
    session: str
    at: datetime
    title: str
    summary: str
    category: Category
    turn_count: int
    quality: int
    productivity: int
    impact: int
    complexity: int
    technologies: tuple[str, ...]
    made_by: str
    reasons: Mapping[str, str]
    last_turn: str
    author: str
    repository: str | None = None
    user: str | None = None
    origin: Origin | None = None

    @property
    def text(self) -> str:
        """What search reads: title, summary, technologies."""
        return "\n".join((self.title, self.summary, ", ".join(self.technologies)))


TextRecord = Memory | CodeChunk | Decision | Proposal | Turn | Summary
"""What has a text that search reads."""

Record = (
    Memory
    | Version
    | Entity
    | Edge
    | Entry
    | Head
    | Project
    | File
    | CodeChunk
    | Decision
    | Proposal
    | LedgerMark
    | Token
    | Turn
    | Summary
)
"""What a store keeps."""
