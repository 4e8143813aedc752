"""The unlisted tools of the `knowledge` contract: whole records, for programs instead of models."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from minutebook.app import App
from minutebook.contracts.contract import Operation
from minutebook.contracts.knowledge import shapes
from minutebook.domain import policy
from minutebook.domain.caller import Caller
from minutebook.domain.errors import InvalidInput
from minutebook.domain.filters import MemoryQuery, default_organization
from minutebook.domain.ids import id_apart
from minutebook.domain.instants import rfc3339
from minutebook.domain.origin import by_whom
from minutebook.domain.records import (
    Entity,
    Memory,
    MemoryType,
    ScopeLevel,
    Status,
    Version,
)
from minutebook.domain.sources import Source
from minutebook.domain.writing.drafts import Draft
from minutebook.services.access.provenance import attribute
from minutebook.services.search.combined import Ranked
from minutebook.services.search.recall import WEIGHTS, Selection

Shape = dict[str, Any]


def put_memory(
    app: App,
    caller: Caller,
    content: str,
    key: str | None = None,
    memory_type: str | None = None,
    user_id: str | None = None,
    supersedes: Sequence[str] = (),
    reason: str | None = None,
    **fields: Any,
) -> Shape:
    """Keep a memory; with a key, write over the one that the caller kept under it.

    Raises InvalidInput if a memory under a key is to supersede others.
    """
    if key is not None and supersedes:
        raise InvalidInput("supersedes", "must be left out with key, which writes over a memory")
    draft = Draft(
        content=content,
        type=MemoryType(memory_type or MemoryType.SEMANTIC),
        user=user_id,
        id=None if key is None else _id_of_key(caller, key),
        **fields,
    )
    if key is not None:
        return {"memory": whole(app, caller, app.memories.write(caller, draft))}
    kept = app.memories.store_joined(caller, draft, [], list(dict.fromkeys(supersedes)), reason)
    return {"memory": whole(app, caller, kept)}


def change_memory(
    app: App,
    caller: Caller,
    id: str,
    content: str | None = None,
    title: str | None = None,
    memory_type: str | None = None,
    importance: float | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Shape:
    """Change the given fields of a memory. Raises InvalidInput if there are none."""
    given: dict[str, object | None] = {
        "content": content,
        "title": title,
        "type": None if memory_type is None else MemoryType(memory_type),
        "importance": importance,
        "metadata": metadata,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if not changes:
        raise InvalidInput("content", "or another field is required: there is nothing to change")
    return {"memory": whole(app, caller, app.memories.update(caller, id, changes))}


def read_memory(app: App, caller: Caller, id: str | None = None, key: str | None = None) -> Shape:
    """Show a memory with its versions, oldest first. Raises InvalidInput without id or key."""
    if (id is None) is (key is None):
        raise InvalidInput("id", "is required, or `key` in its place; not both")
    named = id if key is None else _id_of_key(caller, key)
    assert named is not None
    memory = app.memories.read(caller, named)
    attribute(caller, [memory])
    versions = app.memories.history(caller, memory).versions
    return {
        "memory": whole(app, caller, memory),
        "versions": [_version(each) for each in versions],
    }


def find_answers(
    app: App,
    caller: Caller,
    query: str,
    limit: int,
    tokens: int,
    as_of: datetime | None = None,
    sources: Sequence[str] | None = None,
    filters: Mapping[str, Any] | None = None,
) -> Shape:
    """Rank the records that a caller may see by a query, as `recall` does, each hit with its record if that is a memory.

    Conditions that only memories have leave out all else.
    """
    held, where = _narrowed(caller, filters)
    wanted = app.recall_sources if sources is None else tuple(map(Source, sources))
    if where.is_narrow:
        wanted = tuple(each for each in wanted if each is Source.MEMORY)
    selection = Selection(where, as_of or caller.as_of)
    ranked = app.combined.recall(
        held, query, limit, WEIGHTS, wanted, selection=selection, tokens=tokens
    ).results
    app.note_answer(caller, "recall", query, ((each.record, each.hit.score) for each in ranked))
    return {"results": [_ranked(app, caller, each) for each in ranked]}


def find_memories(
    app: App,
    caller: Caller,
    limit: int,
    offset: int,
    as_of: datetime | None = None,
    filters: Mapping[str, Any] | None = None,
) -> Shape:
    """List the memories, the newest first."""
    held, where = _narrowed(caller, filters)
    page = app.memories.page(held, limit, offset, where, as_of)
    return {
        "memories": [whole(app, caller, each) for each in page.memories],
        "total": page.total,
    }


def find_entities(
    app: App, caller: Caller, limit: int, offset: int, name: str | None = None
) -> Shape:
    """List the entities with a name that begins so, by name."""
    found, total = app.surroundings.entities(caller, name or "", limit, offset)
    return {"entities": [shapes.entity(each) for each in found], "total": total}


def describe_entity(app: App, caller: Caller, entity_id: str, limit: int) -> Shape:
    """Show an entity, its relations and the memories that name it, the heaviest first."""
    entity = app.entities.read(caller, entity_id)
    around = app.surroundings.around(caller, entity, limit)
    relations, memories = [], []
    for step in around.steps:
        if isinstance(step.node, Memory):
            memories.append(whole(app, caller, step.node))
        elif isinstance(step.node, Entity):
            relations.append({**shapes.relation(step.edge), "entity": shapes.entity(step.node)})
    return {
        "entity": shapes.entity(entity),
        "relations": relations,
        "memories": memories,
        "has_more": around.has_more,
    }


def whole(app: App, caller: Caller, memory: Memory) -> Shape:
    """Show all that a program may want of a memory; fields that have no value are left out."""
    origin = memory.origin
    shape: Shape = {
        "id": memory.id,
        "content": memory.content,
        "memory_type": memory.type,
        "title": memory.title,
        "status": memory.status,
        "scope_type": memory.scope,
        "organization": memory.organization,
        "repository": memory.repository,
        "user_id": memory.user,
        "importance": memory.importance,
        "metadata": dict(memory.metadata),
        "author": by_whom(memory.author, origin),
        "client": None if origin is None else origin.program or None,
        "contract": None if origin is None else origin.contract or None,
        "version": memory.version,
        "created_at": rfc3339(memory.ingestion_time),
        "updated_at": rfc3339(memory.updated_at),
        "valid_from": rfc3339(memory.valid_from),
        "valid_until": None if memory.valid_until is None else rfc3339(memory.valid_until),
        "reason": memory.reason,
        "superseded_by": app.browsing.successor(caller, memory),
    }
    return {name: value for name, value in shape.items() if value is not None}


def _id_of_key(caller: Caller, key: str) -> str:
    """Return the id under which a caller keeps a keyed record: each scope has keys of its own."""
    repositories = ("any",) if caller.repositories is None else sorted(caller.repositories)
    return id_apart(key, default_organization(caller), caller.user or "", *repositories)


def _narrowed(caller: Caller, filters: Mapping[str, Any] | None) -> tuple[Caller, MemoryQuery]:
    """Return the caller bound to the repository that filters name, if any, and their other conditions."""
    named = dict(filters or {})
    held = policy.narrowed_to(caller, repository=named.pop("repository", None))
    type, status, scope = (named.get(each) for each in ("memory_type", "status", "scope_type"))
    return held, MemoryQuery(
        type=None if type is None else MemoryType(type),
        status=None if status is None else Status(status),
        scope=None if scope is None else ScopeLevel(scope),
        author=named.get("author"),
        metadata=named.get("metadata") or {},
    )


def _ranked(app: App, caller: Caller, ranked: Ranked) -> Shape:
    record = ranked.record
    shape: Shape = {
        **shapes.hit(ranked),
        "signals": {
            share.signal: {"rank": share.rank, "share": share.share} for share in ranked.hit.shares
        },
    }
    return shape | ({"memory": whole(app, caller, record)} if isinstance(record, Memory) else {})


def _version(version: Version) -> Shape:
    shape: Shape = {
        "version": version.number,
        "content": version.content,
        "changed_by": by_whom(version.changed_by, version.origin),
        "changed_at": rfc3339(version.changed_at),
    }
    return shape if version.title is None else {**shape, "title": version.title}


OPERATIONS: Mapping[str, Operation] = {
    "put_memory": put_memory,
    "change_memory": change_memory,
    "read_memory": read_memory,
    "find_answers": find_answers,
    "find_memories": find_memories,
    "find_entities": find_entities,
    "describe_entity": describe_entity,
}
