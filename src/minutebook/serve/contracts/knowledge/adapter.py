"""Wire words to domain words and back, for the `knowledge` contract."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from minutebook.app import App
from minutebook.feature import Event
from minutebook.memory.access.provenance import attribute
from minutebook.memory.knowledge.similar import similar_field
from minutebook.memory.search.combined import Ranked, Ranking
from minutebook.memory.search.recall import Found
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput
from minutebook.record.instants import rfc3339
from minutebook.record.listed import Direction
from minutebook.record.records import Kind, Memory, MemoryType
from minutebook.record.sources import SOURCES, Source
from minutebook.record.writing.drafts import Draft
from minutebook.serve.contracts.contract import Operation
from minutebook.serve.contracts.knowledge import shapes
from minutebook.serve.contracts.knowledge.wording import TEXTS
from minutebook.text.calibration import strength_of_bm25
from minutebook.text.fusion import Signal

VERSION = "0.1.0"
"""The version of the contract, which its status shows."""

Shape = dict[str, Any]


def store_memory(
    app: App,
    caller: Caller,
    content: str,
    memory_type: str | None = None,
    user_id: str | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Shape:
    """Keep a new memory."""
    type = MemoryType(memory_type or MemoryType.SEMANTIC)
    draft = Draft(content=content, type=type, user=user_id, metadata=metadata or {})
    return {"id": app.memories.store(caller, draft).id, **similar_field(caller, "id")}


def get_memory(app: App, caller: Caller, id: str) -> Shape:
    """Show one memory."""
    memory = app.memories.read(caller, id)
    attribute(caller, [memory])
    return _shape(app, caller, memory)


def update_memory(
    app: App,
    caller: Caller,
    id: str,
    content: str | None = None,
    memory_type: str | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Shape:
    """Change the given fields of a memory."""
    changes: dict[str, object] = {}
    if content is not None:
        changes["content"] = content
    if memory_type is not None:
        changes["type"] = MemoryType(memory_type)
    if metadata is not None:
        changes["metadata"] = metadata
    if not changes:
        return get_memory(app, caller, id)
    changed = app.memories.update(caller, id, changes)
    return _shape(app, caller, changed) | similar_field(caller, "id")


def delete_memory(app: App, caller: Caller, id: str) -> Shape:
    """Remove a memory for good."""
    return {"deleted": app.memories.delete(caller, id)}


def list_memories(app: App, caller: Caller, limit: int, offset: int) -> Shape:
    """Show a page of all memories, newest first."""
    page = app.memories.page(caller, limit, offset)
    return {
        "memories": [_shape(app, caller, memory) for memory in page.memories],
        "total": page.total,
        "limit": limit,
        "offset": offset,
    }


def search(app: App, caller: Caller, query: str, limit: int) -> Shape:
    """Rank memories by meaning."""
    found = app.recall.by_meaning(caller, query, limit)
    app.note_answer(caller, "search", query, ((each.memory, each.score) for each in found))
    return _results(query, found, is_likelihood=True)


def search_text(app: App, caller: Caller, query: str, limit: int) -> Shape:
    """Rank memories by words."""
    found = app.recall.by_words(caller, query, limit)
    app.note_answer(
        caller,
        "search_text",
        query,
        ((each.memory, strength_of_bm25(each.score)) for each in found),
    )
    return _results(query, found)


def recall(
    app: App,
    caller: Caller,
    query: str,
    limit: int,
    include_memories: bool,  # noqa: FBT001
    include_code: bool,  # noqa: FBT001
    vector_weight: float,
    bm25_weight: float,
    ppr_weight: float,
    project_id: str | None = None,
    language: str | None = None,
) -> Shape:
    """Rank memories by all signals.

    Raises InvalidInput if code is narrowed but not included, or the weights do not fit.
    """
    for name, value in (("project_id", project_id), ("language", language)):
        if value is not None and not include_code:
            raise InvalidInput(name, "needs include_code = true")
    weights = _weights(vector_weight, bm25_weight, ppr_weight)
    sources = [*(app.recall_sources if include_memories else ()), *[Source.CODE] * include_code]
    ranking = app.combined.recall(
        *(caller, query, limit, weights, sources),
        tokens=app.recall_tokens,
        project=project_id,
        language=language,
    )
    app.note_answer(
        caller, "recall", query, ((each.record, each.hit.score) for each in ranking.results)
    )
    return {
        "results": [_recall_result(each) for each in ranking.results],
        "query": query,
        "subgraph_nodes": ranking.subgraph_nodes,
        **_counts(ranking),
    }


def _counts(ranking: Ranking) -> Shape:
    """Return the counts of results by source; memories and code also if there are none."""
    usual = {
        "memories_count": ranking.count(Kind.MEMORY, Kind.RELATION),
        "code_count": ranking.count(Kind.CHUNK),
    }
    further = {
        "decisions_count": ranking.count(Kind.DECISION),
        "sessions_count": ranking.count(Kind.TURN, Kind.SUMMARY),
        "commits_count": ranking.count(Kind.COMMIT),
    }
    return usual | {name: count for name, count in further.items() if count}


def create_entity(
    app: App,
    caller: Caller,
    name: str,
    entity_type: str = "unknown",
    description: str | None = None,
    user_id: str | None = None,
) -> Shape:
    """Keep an entity, or find the same one."""
    entity = app.entities.create_entity(caller, name, entity_type, description, user_id)
    return {"id": entity.id}


def create_relation(
    app: App, caller: Caller, from_entity: str, to_entity: str, relation_type: str, weight: float
) -> Shape:
    """Join two entities."""
    relation = app.entities.create_relation(caller, from_entity, to_entity, relation_type, weight)
    return {"id": relation.id}


def get_related(app: App, caller: Caller, entity_id: str, depth: int, direction: str) -> Shape:
    """Show the neighbourhood of an entity."""
    neighbours = app.entities.related(caller, entity_id, depth, Direction(direction))
    return {
        "entities": [shapes.entity(entity) for entity in neighbours.entities],
        "relations": [shapes.relation(relation) for relation in neighbours.relations],
        "entity_count": len(neighbours.entities),
        "relation_count": len(neighbours.relations),
    }


def get_valid(
    app: App,
    caller: Caller,
    limit: int,
    user_id: str | None = None,
    timestamp: datetime | None = None,
) -> Shape:
    """Show the memories true now (or, under the later name's argument, at an instant)."""
    memories = app.memories.valid_at(caller, timestamp, user_id, limit)
    return {"results": [_shape(app, caller, each) for each in memories], "count": len(memories)}


def get_valid_at(
    app: App, caller: Caller, timestamp: datetime, limit: int, user_id: str | None = None
) -> Shape:
    """Show the memories true at an instant."""
    valid = get_valid(app, caller, limit, user_id, timestamp)
    return valid | {"timestamp": rfc3339(timestamp)}


def invalidate(
    app: App, caller: Caller, id: str, reason: str | None = None, superseded_by: str | None = None
) -> Shape:
    """End a memory now."""
    app.memories.invalidate(caller, id, reason, superseded_by)
    return {"invalidated": True}


def get_status(app: App, caller: Caller) -> Shape:
    """Tell how the server is."""
    counts = app.overview.counts(caller, (Kind.MEMORY, Kind.ENTITY, Kind.CHUNK))
    model, cache = app.embedding.model, app.embedding.cache_stats
    app.tell(Event.STATUS, caller)
    return {
        "version": VERSION,
        "status": "healthy" if app.embedding.state == "ready" else "degraded",
        "memories_count": counts[Kind.MEMORY],
        "entities_count": counts[Kind.ENTITY],
        "code_chunks_count": counts[Kind.CHUNK],
        "embedding": {
            "status": app.embedding.state,
            "model": model.name,
            "dimensions": model.dimensions,
            "cache_stats": {"hits": cache.hits, "misses": cache.misses, "size": cache.size},
        },
        "db_dimension": model.dimensions,
    }


def reset_all_memory(app: App, caller: Caller, confirm: object = None) -> Shape:
    """Remove everything, once confirmed."""
    if confirm is not True:
        return {"reset": False, "message": TEXTS["unconfirmed"]}
    outcome = app.overview.reset(caller)
    shape: Shape = {
        "reset": True,
        "deleted": {
            "memories": outcome.deleted[Kind.MEMORY],
            "entities": outcome.deleted[Kind.ENTITY],
            "relations": outcome.deleted[Kind.RELATION],
            "code_chunks": outcome.deleted[Kind.CHUNK],
        },
        "kept_locked": outcome.kept_locked,
    }
    if outcome.kept_others:
        shape["kept_others"] = outcome.kept_others
    return shape


def detect_communities(app: App, caller: Caller) -> Shape:
    """Show the entities in groups that are densely related."""
    communities = app.entities.communities(caller)
    return {
        "communities": [[shapes.entity(entity) for entity in each] for each in communities],
        "community_count": len(communities),
    }


OPERATIONS: Mapping[str, Operation] = {
    "store_memory": store_memory,
    "get_memory": get_memory,
    "update_memory": update_memory,
    "delete_memory": delete_memory,
    "list_memories": list_memories,
    "search": search,
    "search_text": search_text,
    "recall": recall,
    "create_entity": create_entity,
    "create_relation": create_relation,
    "get_related": get_related,
    "get_valid": get_valid,
    "get_valid_at": get_valid_at,
    "invalidate": invalidate,
    "get_status": get_status,
    "reset_all_memory": reset_all_memory,
    "detect_communities": detect_communities,
}


def _weights(vector: float, bm25: float, graph: float) -> Mapping[Signal, float]:
    """Return the weights of the signals. Raises InvalidInput if one is negative or all are 0."""
    given = {"vector_weight": vector, "bm25_weight": bm25, "ppr_weight": graph}
    for name, weight in given.items():
        if weight < 0:
            raise InvalidInput(name, "must be at least 0 (got {given})", given=weight)
    if not any(given.values()):
        raise InvalidInput(" and ".join(given), "must not all be 0")
    return {Signal.VECTOR: vector, Signal.LEXICAL: bm25, Signal.GRAPH: graph}


def _shape(app: App, caller: Caller, memory: Memory) -> Shape:
    """Show a memory, with its id in the long form `{"tb": …, "id": …}`."""
    shape: Shape = {
        "id": {"tb": "memories", "id": {"String": memory.id}},
        "content": memory.content,
        "memory_type": memory.type,
        "event_time": rfc3339(memory.event_time),
        "ingestion_time": rfc3339(memory.ingestion_time),
        "valid_from": rfc3339(memory.valid_from),
        "valid_until": None if memory.valid_until is None else rfc3339(memory.valid_until),
        "importance_score": memory.importance,
        "metadata": dict(memory.metadata),
    }
    further = {
        "user_id": memory.user,
        "reason": memory.reason,
        "superseded_by": app.browsing.successor(caller, memory),
    }
    return shape | {name: value for name, value in further.items() if value is not None}


def _results(query: str, found: Sequence[Found], *, is_likelihood: bool = False) -> Shape:
    results = [
        {
            "id": each.memory.id,
            "content": each.memory.content,
            "memory_type": each.memory.type,
            "score": round(each.score, 3),
            **({"relevance": round(each.score, 2)} if is_likelihood else {}),
            **shapes.provenance(each.memory),
        }
        for each in found
    ]
    return {"results": results, "count": len(results), "query": query}


def _recall_result(ranked: Ranked) -> Shape:
    """Show a result of `recall`, with each signal's normalised score and, of code, its place."""
    record = ranked.record
    normalised = {share.signal: share.normalised for share in ranked.hit.shares}
    return {
        "id": record.id,
        "content": ranked.text,
        "source": SOURCES[record.kind],
        "score": round(ranked.score, 3),
        "vector_score": round(normalised.get(Signal.VECTOR, 0.0), 3),
        "bm25_score": round(normalised.get(Signal.LEXICAL, 0.0), 3),
        "ppr_score": round(normalised.get(Signal.GRAPH, 0.0), 3),
        **shapes.hit_details(ranked),
    }
