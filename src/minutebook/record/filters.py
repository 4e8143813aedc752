"""Filters of records: those visible to the caller, those that hold at an instant, those with certain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from minutebook.record.caller import Caller
from minutebook.record.errors import Forbidden
from minutebook.record.origin import Origin, as_client
from minutebook.record.policy import Scope
from minutebook.record.records import (
    DEFAULT_ORGANIZATION,
    SYSTEM_ORGANIZATION,
    Decision,
    Memory,
    MemoryType,
    ProjectCommit,
    Proposal,
    Record,
    ScopeLevel,
    Status,
    Summary,
    Turn,
)
from minutebook.record.writing.validity import holds_at

KEPT_AT: Mapping[type[Record], str] = {
    Memory: "ingestion_time",
    Decision: "created_at",
    Proposal: "created_at",
    Turn: "at",
    Summary: "at",
    ProjectCommit: "at",
}
"""The field with the instant since which a record is kept, by class; other classes have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A selection of one organization's records.

    `repositories` and `users`: None lets every record pass; a set lets pass what belongs to none
    or to one of them. `valid_at` keeps the memories true at that instant, `differs_between` those
    that are true at one of two instants and not at the other. `equal` keeps records
    whose field of that name equals the value, `starts` those whose text field begins with it (ASCII
    case ignored), `ids` those with one of these ids (None: any), `client` those that this program
    wrote first (ASCII case ignored), `since` and `until` those kept at since ≤ instant < until,
    by the field that `KEPT_AT` names.
    Soft-deleted memories pass only `with_deleted`.
    Conditions on fields that a kind of record does not have are met by each record of that kind,
    except those of `equal`, `starts` and `client`.
    """

    organization: str
    repositories: frozenset[str] | None = None
    users: frozenset[str] | None = None
    valid_at: datetime | None = None
    differs_between: tuple[datetime, datetime] | None = None
    equal: Mapping[str, object] = field(default_factory=dict)
    starts: Mapping[str, str] = field(default_factory=dict)
    ids: frozenset[str] | None = None
    client: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    with_deleted: bool = False

    def passes(self, record: Record) -> bool:
        """Tell whether the record is selected."""
        return (
            record.organization == self.organization
            and (self.ids is None or record.id in self.ids)
            and _is_free_or_in(self.repositories, getattr(record, "repository", None))
            and _is_free_or_in(self.users, getattr(record, "user", None))
            and all(getattr(record, name) == value for name, value in self.equal.items())
            and all(_begins(getattr(record, name), value) for name, value in self.starts.items())
            and (self.client is None or _is_by(getattr(record, "origin", None), self.client))
            and self._is_kept_in_span(record)
            and (not isinstance(record, Memory) or self._passes_memory(record))
        )

    def _is_kept_in_span(self, record: Record) -> bool:
        if type(record) not in KEPT_AT:
            return True
        kept: datetime = getattr(record, KEPT_AT[type(record)])
        is_before = self.until is None or kept < self.until
        return is_before and (self.since is None or self.since <= kept)

    def _passes_memory(self, memory: Memory) -> bool:
        return (
            (self.with_deleted or memory.deleted_at is None)
            and (self.valid_at is None or holds_at(memory, self.valid_at))
            and len({holds_at(memory, each) for each in self.differs_between or ()}) != 1
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuery:
    """The memories that a question asks for, among those visible to the caller; None asks for any.

    A repository stands for its own memories and the wider ones that apply to it. `metadata` names keys and the values that
    a memory's metadata must have, `tags` those that must all be among the metadata's `tags`.
    `client` is the program that wrote it first; `since` and `until` are as in a Filter.
    """

    organization: str | None = None
    repository: str | None = None
    scope: ScopeLevel | None = None
    type: MemoryType | None = None
    status: Status | None = None
    client: str | None = None
    author: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)

    @property
    def equal(self) -> dict[str, object]:
        """The fields that are named, as conditions of a Filter."""
        named = {
            "scope": self.scope,
            "type": self.type,
            "status": self.status,
            "author": self.author,
        }
        return {name: value for name, value in named.items() if value is not None}

    def narrow(self, where: Filter) -> Filter:
        """Return a filter with these conditions added, except metadata and tags, which no engine can ask for."""
        return replace(
            where,
            equal={**where.equal, **self.equal},
            client=self.client and as_client(self.client),
            since=self.since,
            until=self.until,
        )

    @property
    def is_narrow(self) -> bool:
        """Whether it names a condition that only memories have: any but an organization, a repository and times."""
        common = ("organization", "repository", "since", "until")
        return self != MemoryQuery(**{name: getattr(self, name) for name in common})

    @property
    def is_timed(self) -> bool:
        """Whether it asks for records kept from an instant on, or before one."""
        return self.since is not None or self.until is not None

    @property
    def asks_metadata(self) -> bool:
        """Whether each memory's metadata has to be looked at."""
        return bool(self.tags or self.metadata)

    def fits_metadata(self, memory: Memory) -> bool:
        """Tell whether the memory's metadata has all that is named."""
        tags = memory.metadata.get("tags")
        return set(self.tags) <= set(_texts(tags)) and all(
            key in memory.metadata and _is_same(memory.metadata[key], value)
            for key, value in self.metadata.items()
        )


ANY_MEMORY = MemoryQuery()
"""Asks for every memory that the caller may see."""


def default_organization(caller: Caller) -> str:
    """Return the organization into which the caller writes."""
    return caller.organization or DEFAULT_ORGANIZATION


def repository_of(caller: Caller) -> str | None:
    """Return the repository into which the caller writes: the one that they are bound to, or their folder's.

    Returns None if neither sets one.
    Raises Forbidden if they are bound to several: a record would show in one they did not mean.
    """
    if caller.repositories is None:
        return None if caller.folder_scope is None else caller.folder_scope.repository
    if not caller.repositories:
        return None
    if len(caller.repositories) > 1:
        raise Forbidden("write", "this connection is held to several repositories; name one")
    return next(iter(caller.repositories))


def scope_of_writes(caller: Caller) -> Scope:
    """Return the scope of a record that the caller writes without naming one.

    Raises Forbidden if the caller is bound to several repositories.
    """
    return Scope(default_organization(caller), repository_of(caller), caller.user)


def open_organizations(caller: Caller) -> frozenset[str] | None:
    """Return the organizations that are open to a caller: their own and the system's; None if all are."""
    if caller.organization is None:
        return None
    return frozenset((caller.organization, SYSTEM_ORGANIZATION))


def sees(caller: Caller, record: Record) -> bool:
    """Tell whether a caller may see a record."""
    organizations = open_organizations(caller)
    is_open = organizations is None or record.organization in organizations
    return is_open and visible_filter(caller, record.organization).passes(record)


def visible_filter(caller: Caller, organization: str) -> Filter:
    """Select the records visible to the caller in an organization open to them, within their folder's view."""
    shown = None if caller.folder_scope is None else caller.folder_scope.shown
    return Filter(
        organization=organization,
        repositories=shown if caller.repositories is None else caller.repositories,
        users=None if caller.user is None else frozenset({caller.user}),
    )


def folded(text: str) -> str:
    """Return a text with A to Z as a to z and nothing else changed: how every engine can compare texts."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _is_free_or_in(allowed: frozenset[str] | None, owner: str | None) -> bool:
    return allowed is None or owner is None or owner in allowed


def _begins(text: str | None, start: str) -> bool:
    return text is not None and folded(text).startswith(folded(start))


def _is_by(origin: Origin | None, client: str) -> bool:
    """Tell whether the client is known and is this one."""
    known = "" if origin is None else origin.client
    return known != "" and folded(known) == folded(client)


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _is_same(one: object, other: object) -> bool:
    """Compare JSON values: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return one == other
