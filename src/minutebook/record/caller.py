"""Callers: the identity and rights behind a request; and the request itself, which no rule looks at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from minutebook.record.origin import Origin
from minutebook.record.records import Role

SIGNED = "jwt:"
"""The prefix of a signed token's id (`jti`), which tells it from one of our own."""

OWNER = "owner"
"""The principal of every caller without a token: the owner of the machine."""

ANYBODY = "agent"
"""The name of a caller whose start-up named none: a client may then give its own."""

Progress = Callable[[float, str], None]
"""Reports which part of an act is done, in [0, 1], and what is next; raises to end the act."""


def no_progress(part: float, what: str) -> None:
    """Report nothing."""


Sample = Callable[[str, str, int], str]
"""Asks the client's model: the system prompt, the question, the most tokens of the answer.

Raises Unanswered if the client or its user declines, or if the answer is of no use.
"""


@dataclass(frozen=True, slots=True)
class Note:
    """A note beside an answer: facts for programs, a sentence for readers (empty: none).

    One that `leads` is the first line of an answer in lines.
    """

    facts: Mapping[str, object]
    text: str
    leads: bool = False


@dataclass(frozen=True, slots=True)
class WorkTree:
    """The folder of code that a caller of this machine works in, and the names of its repository."""

    root: str
    repositories: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request: its identity, and how to reach its client while it runs.

    `request` is its id in the log and on the audit trail, `reason` why a person does what it asks for,
    which the trail keeps. `session` is the connection's own session,
    which keeps turns that name no other. `origin` is the client's program, the contract and the
    session: provenance. `progress` reports how far a long act is. `sample` asks the client's model;
    None if the client offers none. `notes` collects the notes beside the answer, by name. `in_lines` tells
    whether the answer is written as lines of text for a model. `work_tree` is the folder of code that the caller works in, None
    if it is unknown or on another machine. `patience` is how many seconds the answer may wait for files outside the store.
    """

    request: str = ""
    reason: str = ""
    session: str = ""
    origin: Origin | None = None
    progress: Progress = field(default=no_progress, repr=False)
    sample: Sample | None = field(default=None, repr=False)
    notes: dict[str, Note] = field(default_factory=dict, repr=False)
    in_lines: bool = False
    work_tree: WorkTree | None = None
    patience: float = 0.5


@dataclass(frozen=True, slots=True)
class FolderScope:
    """The repository of the folder that a caller works in; None outside of any.

    A record that names no repository is written to it. Searches and lists show its records, those of the repositories
    in `also`, and those of no repository. A default, never a right: a caller who names another
    repository, or a record by its id, is not limited by it.
    """

    repository: str | None = None
    also: frozenset[str] = frozenset()

    @property
    def shown(self) -> frozenset[str]:
        """The repositories that searches and lists show."""
        return self.also if self.repository is None else self.also | {self.repository}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An identity with its rights. None for organization, repositories or user means any.

    `token` is the id of the token that the caller showed, empty without one. `writes_system` permits
    writes to system scope: for the command line, and for `catalog` in an open store. `sets_status`
    permits the statuses `locked` and `verified` as plain fields: for `catalog` in an open store.
    `governed` protects rules and shared scopes from agents whatever the store's policy: for
    `governance`. `repository_bound` callers have a token that names repositories: they only read
    what belongs to a whole organization. `folder_scope` is the default of callers whose `repositories`
    are any; None if no folder sets one. `as_of` is the instant as of which questions are answered; None: now. `call` is the request,
    which does not count when callers are compared.
    """

    name: str
    role: Role
    organization: str | None = None
    repositories: frozenset[str] | None = None
    user: str | None = None
    token: str = ""
    writes_system: bool = False
    sets_status: bool = False
    governed: bool = False
    repository_bound: bool = False
    folder_scope: FolderScope | None = None
    as_of: datetime | None = None
    call: Call = field(default_factory=Call, compare=False)

    @property
    def principal(self) -> str:
        """The name under which limits and sessions are kept; it stays the same when a secret or token is renewed."""
        if self.token.startswith(SIGNED):
            return f"subject {self.name}"
        return f"token {self.token}" if self.token else OWNER


def without_folder_scope(caller: Caller) -> Caller:
    """Return the caller without the default of the folder that they work in."""
    return caller if caller.folder_scope is None else replace(caller, folder_scope=None)


def with_call(caller: Caller, **changes: Any) -> Caller:
    """Return the caller with some fields of the call changed."""
    return replace(caller, call=replace(caller.call, **changes))
