"""Decisions, proposals, and the last commit of the ledger that the tables have taken in."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from minutebook.record.origin import Origin
from minutebook.record.records.record import Kind, Record, TextRecord
from minutebook.record.writing.targets import target_key


class DecisionStatus(StrEnum):
    """The state of a decision."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


class Authorship(StrEnum):
    """Whether a person or an agent decided."""

    HUMAN = "human"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(TextRecord):
    """A choice on the record about a target, with its reasons and its place in a chain.

    Only `status`, `superseded_by` and `commit_id` ever change. `supersedes` names the decisions that it replaced,
    `superseded_by` those that replaced it: one, or several where colleagues superseded it on
    different branches and then merged. `author` is the caller's name, `proposal` the proposal that was accepted,
    `commit_id` the commit that last wrote it.
    """

    kind: ClassVar[Kind] = Kind.DECISION

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
        """The key of the target, the same for all its spellings."""
        return target_key(self.target)

    @property
    def text(self) -> str:
        """The text that search reads: title, target, rationale, consequences."""
        return "\n".join((self.title, self.target, self.rationale, *self.consequences))


class ProposalStatus(StrEnum):
    """The outcome of a proposal."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    DECLINED = "declined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(TextRecord):
    """A decision that is not yet accepted; `supersedes` names the decisions that it is to replace.

    `settled_by` accepted or declined it at `settled_at`. `decision` is the id of the decision that an accepted one became, or
    of the one in the ledger's Git that waits here to be accepted.
    """

    kind: ClassVar[Kind] = Kind.PROPOSAL

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
        """The text that search reads: title, target, rationale, consequences."""
        return "\n".join((self.title, self.target, self.rationale, *self.consequences))


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerMark(Record):
    """The last commit of a ledger that the tables have taken in, found sound at `verified_at`."""

    kind: ClassVar[Kind] = Kind.LEDGER

    commit_id: str
    verified_at: datetime
