"""Recalls: which records answered a question, for which caller, and through which door."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from minutebook.domain.caller import Caller
from minutebook.domain.records import Kind


@dataclass(frozen=True, slots=True)
class Got:
    """A record that a question got, and its score as the tool gave it; relevance in [0, 1] but for code."""

    kind: Kind
    id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedRecall:
    """One question, and its hits of one organization, best first.

    `asker` tells who asked, with their scopes, from all others (`asker_of`); `actor` is their name.
    `act` is the tool, `contract` and `client` what it came through, `session` the connection's. The
    question is None where its text is not kept.
    """

    id: str
    organization: str
    at: datetime
    asker: str
    actor: str
    client: str
    contract: str
    act: str
    session: str
    question: str | None
    got: tuple[Got, ...]


@dataclass(frozen=True, slots=True)
class RecallCount:
    """How often the same name asked through the same client, and when last."""

    actor: str
    client: str
    count: int
    last: datetime


def asker_of(caller: Caller) -> str:
    """Return the key that tells a caller, with the scopes that bind it, from every other."""
    repositories = "*" if caller.repositories is None else repr(sorted(caller.repositories))
    parts = (caller.principal, caller.name, caller.organization, repositories, caller.user)
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
