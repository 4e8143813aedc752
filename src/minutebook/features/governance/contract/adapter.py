"""Wire words to domain words and back, for the `governance` contract."""

from collections.abc import Mapping, Sequence
from typing import Any

from minutebook.app import App
from minutebook.features.governance.governed import GovernedMemories
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput
from minutebook.record.filters import repository_of
from minutebook.record.instants import rfc3339
from minutebook.record.origin import byline
from minutebook.record.records import Memory, MemoryType, ScopeLevel, Status, Version
from minutebook.record.writing.drafts import Draft
from minutebook.serve.contracts.contract import Operation

LATEST = 10
"""Versions of a memory that are shown."""

Shape = dict[str, Any]


def memory_write(
    app: App,
    caller: Caller,
    content: str,
    type: str,
    memory_id: str | None = None,
    scope: str | None = None,
) -> Shape:
    """Write a new memory, or edit one; its text is unverified until a person verifies it.

    Raises InvalidInput if an edit names a scope.
    """
    if memory_id is None:
        level = ScopeLevel(scope or ScopeLevel.REPOSITORY)
        draft = Draft(
            content=content,
            type=MemoryType(type),
            scope=level,
            repository=repository_of(caller) if level is ScopeLevel.REPOSITORY else None,
            status=Status.UNVERIFIED,
        )
        return _state(app.memories.store(caller, draft))
    if scope is not None:
        raise InvalidInput("scope", "must be left out with memory_id: an edit moves no memory")
    return _state(app.get(GovernedMemories).edit(caller, memory_id, content, MemoryType(type)))


def memory_search(
    app: App, caller: Caller, query: str, limit: int, type_filter: str | None = None
) -> Shape:
    """Find the records of this repository, its organization and the system on a subject."""
    types = None if type_filter is None else frozenset({MemoryType(type_filter)})
    found = app.get(GovernedMemories).search(caller, query, types, limit)
    app.note_answer(caller, "memory_search", query, ((each.memory, each.score) for each in found))
    return {"memories": [_summary(each.memory) for each in found], "count": len(found)}


def memory_read(app: App, caller: Caller, memory_id: str) -> Shape:
    """Show one memory whole, with its latest versions."""
    memory, versions = app.get(GovernedMemories).read(caller, memory_id)
    return _memory(memory, versions[-LATEST:])


def memory_lock(app: App, caller: Caller, memory_id: str) -> Shape:
    """Lock a memory."""
    locked = app.status.lock(caller, memory_id)
    return _state(locked) | {"locked_at": rfc3339(locked.updated_at)}


def memory_deprecate(app: App, caller: Caller, memory_id: str, reason: str) -> Shape:
    """Mark a memory as outdated."""
    return _state(app.status.deprecate(caller, memory_id, reason))


OPERATIONS: Mapping[str, Operation] = {
    "memory-write": memory_write,
    "memory-search": memory_search,
    "memory.read": memory_read,
    "memory.lock": memory_lock,
    "memory.deprecate": memory_deprecate,
}


def _state(memory: Memory) -> Shape:
    return {"memory_id": memory.uuid, "status": memory.status}


def _summary(memory: Memory) -> Shape:
    """Return the fields of a memory that an agent needs."""
    return {
        "memory_id": memory.uuid,
        "content": memory.content,
        "status": memory.status,
        "type": memory.type,
        "scope_origin": memory.scope,
    }


def _memory(memory: Memory, versions: Sequence[Version]) -> Shape:
    """Return all fields of a memory, with its latest versions, the newest first.

    It has both forms of the id, since the audit trail has the short one.
    """
    further = {
        "title": memory.title,
        "reason": memory.reason,
        "locked_by": memory.locked_by,
        "metadata": dict(memory.metadata) or None,
    }
    return {
        **_summary(memory),
        "short_id": memory.id,
        **{name: value for name, value in further.items() if value is not None},
        "importance": memory.importance,
        "author": byline(memory.author, memory.origin),
        "updated_at": rfc3339(memory.updated_at),
        "version": memory.version,
        "versions": [_version(each) for each in reversed(versions)],
    }


def _version(version: Version) -> Shape:
    shape: Shape = {
        "version": version.number,
        "content": version.content,
        "changed_by": byline(version.changed_by, version.origin),
        "changed_at": rfc3339(version.changed_at),
        "request_id": version.request,
    }
    return shape if version.title is None else {**shape, "title": version.title}
