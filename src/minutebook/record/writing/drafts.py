"""A caller's draft of a memory, and the memory that it makes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, InvalidInput, ScopeViolation
from minutebook.record.filters import default_organization, repository_of
from minutebook.record.origin import Origin
from minutebook.record.policy import Policy
from minutebook.record.records import (
    DEFAULT_USER,
    SYSTEM_ORGANIZATION,
    Memory,
    MemoryType,
    ScopeLevel,
    Status,
)
from minutebook.record.writing.metadata import check_content, check_metadata
from minutebook.record.writing.validity import ended, reopened


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A caller's draft of a memory; None stands for a field not given.

    A new memory has the status `initial`, importance 1, and the narrowest scope that the caller, `repository` and
    `user` allow; one that is written again keeps the fields that are not given.
    """

    content: str
    type: MemoryType
    id: str | None = None
    given_uuid: str | None = None
    scope: ScopeLevel | None = None
    repository: str | None = None
    user: str | None = None
    title: str | None = None
    importance: float | None = None
    status: Status | None = None
    metadata: Mapping[str, object] | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    initial: Status = Status.ACTIVE


@dataclass(frozen=True, slots=True)
class ScopeKey:
    """The scope of a memory: its level, and the repository or user that it concerns."""

    organization: str
    scope: ScopeLevel
    repository: str | None
    user: str | None


def resolve_scope(
    caller: Caller, scope: ScopeLevel | None, repository: str | None, user: str | None
) -> ScopeKey:
    """Return the scope of a record that a caller writes.

    A scope that is None follows from the organization, the user and the repository. A
    repository that is named narrows a wider scope to itself; user scope without a user is
    `DEFAULT_USER`'s. Raises ScopeViolation for a repository or user that is not the caller's, InvalidInput if
    a repository must be named, Forbidden if the caller is bound to several and names none.
    """
    if repository is not None and not _is_open(caller.repositories, repository):
        raise ScopeViolation(
            "write", "the repository {name!r} is not the caller's", name=repository
        )
    if user is not None and caller.user not in (None, user):
        raise ScopeViolation(
            "write", "this connection is held to the user {name!r}", name=caller.user
        )
    home = default_organization(caller)
    if scope is ScopeLevel.SYSTEM or home == SYSTEM_ORGANIZATION:
        if scope not in (None, ScopeLevel.SYSTEM):
            raise InvalidInput("scope", "must be system in the organization {home}", home=home)
        own = repository_of(caller) if scope is None else None
        owner = (user or caller.user) if scope is None else None
        return ScopeKey(SYSTEM_ORGANIZATION, ScopeLevel.SYSTEM, repository or own, owner)
    if scope is None:
        owner = user if user is not None else caller.user
        own = repository if repository is not None else repository_of(caller)
        return ScopeKey(home, _narrowest(own, owner), own, owner)
    match scope:
        case ScopeLevel.REPOSITORY:
            own = repository if repository is not None else repository_of(caller)
            if own is None:
                raise InvalidInput("repository", "must be named for a memory of repository scope")
            return ScopeKey(home, scope, own, None)
        case ScopeLevel.USER:
            return ScopeKey(home, scope, repository, user or caller.user or DEFAULT_USER)
        case _:
            return ScopeKey(home, scope, repository, None)


def build_memory(caller: Caller, rules: Policy, draft: Draft, id: str, now: datetime) -> Memory:
    """Return the memory that a draft describes.

    Raises Refused if the caller may not write it, InvalidInput if it has no visible sign, its metadata is
    not sound or it ends before it begins to hold.
    """
    scope = resolve_scope(caller, draft.scope, draft.repository, draft.user)
    policy.check_may_write(caller, rules, draft.type, scope.scope)
    policy.check_may_write_to(caller, "write", scope)
    check_content(draft.content)
    check_metadata(draft.metadata or {})
    since = draft.valid_from or now
    if draft.valid_until is not None and draft.valid_until <= since:
        raise InvalidInput("valid_until", "must be later than the memory begins to hold")
    memory = Memory(
        organization=scope.organization,
        id=id,
        given_uuid=draft.given_uuid,
        content=draft.content,
        scope=scope.scope,
        type=draft.type,
        status=draft.initial,
        author=caller.name,
        event_time=now,
        ingestion_time=now,
        updated_at=now,
        valid_from=since,
        valid_until=draft.valid_until,
        repository=scope.repository,
        user=scope.user,
        title=draft.title,
        importance=1.0 if draft.importance is None else draft.importance,
        metadata=draft.metadata or {},
        origin=_origin(caller, scope),
    )
    return memory if draft.status is None else with_status(caller, memory, draft.status, now)


def _origin(caller: Caller, scope: ScopeKey) -> Origin | None:
    """Return the origin of a memory that the caller writes; in system scope it names the caller's organization."""
    organization = default_organization(caller)
    if scope.organization == organization:
        return caller.call.origin
    return replace(caller.call.origin or Origin(), organization=organization)


def apply_changes(
    caller: Caller, rules: Policy, memory: Memory, changes: Mapping[str, Any], now: datetime
) -> Memory:
    """Return the memory with some of its fields changed, or the same one if every field has its value already.

    `scope`, `repository` and `user` are changed together: one that is not given stays if it fits the
    scope. A status that unlocks must be the only change. A text that an agent changed is unverified.
    Raises Refused if the caller may not change it so, InvalidInput if text or metadata are not sound,
    Conflict if the status cannot follow the present one.
    """
    after = _changed(caller, rules, memory, changes, now)
    return memory if _is_same(memory, after) else after


def _changed(
    caller: Caller, rules: Policy, memory: Memory, changes: Mapping[str, Any], now: datetime
) -> Memory:
    other_changes = dict(changes)
    status = other_changes.pop("status", None)
    if memory.locked_by is not None and status not in (None, Status.LOCKED) and not other_changes:
        policy.check_may_unlock(caller, memory)
        memory = unlocked(memory, now)
    policy.check_may_change(caller, rules, memory)
    scope_changes = {
        name: other_changes.pop(name) for name in _SCOPE_FIELDS if name in other_changes
    }
    if scope_changes:
        memory = _moved(caller, memory, scope_changes)
    after = replace(memory, **other_changes, updated_at=now)
    check_content(after.content)
    check_metadata(after.metadata)
    policy.check_may_write(caller, rules, after.type, after.scope)
    policy.check_may_write_to(caller, "write", after)
    if status is not None:
        return with_status(caller, after, status, now)
    is_agents_text = after.text != memory.text and not policy.may_verify(caller)
    if memory.status is Status.VERIFIED and is_agents_text:
        return replace(after, status=Status.UNVERIFIED)
    return after


def _is_same(memory: Memory, after: Memory) -> bool:
    """Tell whether at most the instant of the change differs; another order of the metadata's keys is a change."""
    return replace(after, updated_at=memory.updated_at) == memory and json.dumps(
        dict(after.metadata)
    ) == json.dumps(dict(memory.metadata))


def overwrite(caller: Caller, rules: Policy, memory: Memory, draft: Draft, now: datetime) -> Memory:
    """Return the memory with the fields that a draft gives; a soft-deleted one is restored."""
    changes = {name: value for name in _DRAFTED if (value := getattr(draft, name)) is not None}
    after = apply_changes(caller, rules, memory, changes, now)
    return after if after.deleted_at is None else replace(after, deleted_at=None, updated_at=now)


def with_status(caller: Caller, memory: Memory, status: Status, now: datetime) -> Memory:
    """Return an unlocked memory with another status; deprecating ends it, undoing that reopens it.

    Raises Forbidden if the caller may not, Conflict if another memory superseded it.
    """
    policy.check_may_set_status(caller, memory.status, status)
    if status is Status.LOCKED:
        return locked(memory, caller, now)
    if memory.superseded_by is not None and status is not memory.status:
        # The error does not name the other one: the caller may not see it.
        raise Conflict(memory.id, "another memory took its place")
    if status is Status.DEPRECATED:
        return replace(ended(memory, now, None, None), status=status)
    if memory.status is Status.DEPRECATED:
        memory = reopened(memory)
    return replace(memory, status=status, updated_at=now)


def locked(memory: Memory, caller: Caller, now: datetime) -> Memory:
    """Lock a memory for the caller's role, keeping the status it had."""
    return replace(
        memory,
        status=Status.LOCKED,
        locked_by=caller.role,
        unlocks_to=memory.status,
        updated_at=now,
    )


def unlocked(memory: Memory, now: datetime) -> Memory:
    """Unlock a memory, giving it the status that it had before."""
    return replace(
        memory,
        status=memory.unlocks_to or Status.ACTIVE,
        locked_by=None,
        unlocks_to=None,
        updated_at=now,
    )


_SCOPE_FIELDS = ("scope", "repository", "user")
_DRAFTED = tuple(f.name for f in fields(Draft) if f.name not in ("id", "given_uuid", "initial"))


def _moved(caller: Caller, memory: Memory, changes: Mapping[str, Any]) -> Memory:
    scope = changes.get("scope") or memory.scope
    changed = {name: getattr(memory, name) for name in ("repository", "user")} | dict(changes)
    if scope is not memory.scope:
        changed |= {name: changes.get(name) for name in changed}
    writer = replace(caller, organization=memory.organization)
    if (scope is ScopeLevel.SYSTEM) is not (memory.organization == SYSTEM_ORGANIZATION):
        raise Conflict(memory.id, "no memory moves into system scope or out of it; write it anew")
    scope = resolve_scope(writer, scope, changed["repository"], changed["user"])
    return replace(memory, scope=scope.scope, repository=scope.repository, user=scope.user)


def _narrowest(repository: str | None, user: str | None) -> ScopeLevel:
    if user is not None:
        return ScopeLevel.USER
    return ScopeLevel.ORGANIZATION if repository is None else ScopeLevel.REPOSITORY


def _is_open(allowed: frozenset[str] | None, name: str) -> bool:
    return allowed is None or name in allowed
