"""Roles, tokens, and the audit trail."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from minutebook.record.origin import Origin
from minutebook.record.records.record import Kind, Record


class Role(StrEnum):
    """The trust given to a caller, from least to most."""

    VIEWER = "viewer"
    AGENT = "agent"
    HUMAN = "human"
    MANAGER = "manager"
    ARCHITECT = "architect"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(Record):
    """A credential for a caller: a secret of which only the SHA-256 is kept, in hexadecimal.

    `name`, `role` and the scopes `bound_…` are those of the caller that shows it; None does not
    bind. `organization` is the system's for every token. A token whose `revoked_at` is set
    is no longer accepted.
    """

    kind: ClassVar[Kind] = Kind.TOKEN

    name: str
    role: Role
    digest: str = field(repr=False)
    author: str
    created_at: datetime
    bound_organization: str | None = None
    bound_repositories: tuple[str, ...] | None = None
    bound_user: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Record):
    """One act on the audit trail; `digest` covers every other field, `previous` the entry before.

    The first entry of an organization has number 1 and an empty `previous`. `before` and `after`
    are digests of the record's text, never the text. `outcome` is `done` or the refusal's name.
    `token` is the id of the actor's token, empty without one.
    `origin` names the program, contract and session; None if unknown. `reason` is the actor's reason in
    their words, empty if they gave none. `fingerprints` are those of the records that the act
    changed, each a `Fingerprinted` as text.
    """

    kind: ClassVar[Kind] = Kind.ENTRY

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
    reason: str = ""
    fingerprints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Head(Record):
    """The end of an organization's trail: the number and digest of its last entry.

    It is kept apart from the entries, so that a removal of the last ones is noticed.
    """

    kind: ClassVar[Kind] = Kind.HEAD

    number: int
    digest: str
