"""Wire words to domain words and back, for the `catalog` contract."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from minutebook.app import App
from minutebook.features.catalog.contract.shapes import Shape, after_write, find_id, id_in, whole
from minutebook.memory.knowledge.similar import similar_field
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import InBatch, InvalidInput, MinutebookError, ScopeViolation
from minutebook.record.filters import MemoryQuery
from minutebook.record.ids import uuid_of
from minutebook.record.records import Memory, MemoryType, ScopeLevel, Status
from minutebook.record.writing.drafts import Draft
from minutebook.serve.contracts.contract import Admitted, Operation, Tool

_SHARED = ("organization", "scope_type", "memory_type")
"""The fields that an item of a batch takes from the first item that has it."""

_MOST_NOTED = 50
"""Hits that are noted as the answer to a search."""

_FIELDS = {
    "title": "title",
    "current_content": "content",
    "status": "status",
    "scope_type": "scope",
    "memory_type": "type",
    "importance": "importance",
    "metadata": "metadata",
}
"""A memory's fields by the names that the contract gives them."""

_ENUMS = {"status": Status, "scope_type": ScopeLevel, "memory_type": MemoryType}


@contextmanager
def admit(app: App, caller: Caller, tool: Tool, arguments: Mapping[str, Any]) -> Iterator[Admitted]:
    """Admit every call; in an open store its caller may write scope and status as fields."""
    yield policy.with_field_writes(caller, app.rules()), arguments


def memory_write(app: App, caller: Caller, **arguments: Any) -> Shape:
    """Store a new memory, or change the one with the given id."""
    shape = after_write(app.memories.write(*_draft(app, caller, arguments)))
    return shape | similar_field(caller, "uuid")


def memory_batch_write(app: App, caller: Caller, items: Sequence[Shape]) -> Iterator[Shape]:
    """Write several memories, all or none.

    Raises InvalidInput if no item has a field of _SHARED, InBatch if an item cannot be written.
    """
    shared = {name: next((item[name] for item in items if name in item), None) for name in _SHARED}
    drafts = []
    for index, item in enumerate(items):
        complete = {name: value for name, value in shared.items() if value is not None} | item
        for name in _SHARED:
            if name not in complete:
                raise InvalidInput(f"items[{index}].{name}", "is required in one of the items")
        try:
            drafts.append(_draft(app, caller, complete))
        except MinutebookError as error:
            raise InBatch(index, error) from error
    return map(after_write, app.memories.write_all(drafts))


def memory_update(app: App, caller: Caller, id: str, **arguments: Any) -> Shape:
    """Change the given fields of a memory. Raises InvalidInput if none is given."""
    if not arguments:
        raise InvalidInput(" or ".join(_FIELDS), "is required: there is nothing to change")
    changes = {_FIELDS[name]: _typed(name, value) for name, value in arguments.items()}
    if changes.get("metadata", ...) is None:
        changes["metadata"] = {}
    changed = app.memories.update(caller, find_id(app, caller, id), changes)
    return after_write(changed) | similar_field(caller, "uuid")


def memory_delete(app: App, caller: Caller, id: str) -> str:
    """Hide a memory."""
    return f"Memory {app.memories.remove(caller, find_id(app, caller, id)).uuid} has been soft-deleted."


def memory_search(
    app: App, caller: Caller, query: str = "", filters: Mapping[str, Any] | None = None
) -> Iterator[Shape]:
    """Find every memory that matches, by relevance if there is a query."""
    question = query.strip() or None
    first: list[tuple[Memory, float]] = []
    with suppress(ScopeViolation):  # Nothing is found in a scope that is not the caller's.
        for found in app.filtered_search.rank_all(caller, question, _query(filters or {})):
            if len(first) < _MOST_NOTED:
                first.append((found.memory, found.score))
            shape = whole(found.memory)
            yield shape if question is None else shape | {"relevance": found.score}
    if question is not None:
        app.note_answer(caller, "memory-search", question, first)


def memory_vector_search(
    app: App,
    caller: Caller,
    threshold: float | None = None,
    query: str | None = None,
    vector: Sequence[float] | None = None,
    repository: str | None = None,
    filters: Mapping[str, Any] | None = None,
    limit: int | None = None,
) -> list[Shape]:
    """Rank memories by meaning, importance and freshness.

    Raises InvalidInput if query and vector are both given or both missing, or repositories differ.
    """
    if (query is None) is (vector is None):
        raise InvalidInput("query", "is required, or `vector` in its place; not both")
    conditions = dict(filters or {})
    if repository is not None and conditions.setdefault("repository", repository) != repository:
        raise InvalidInput("filters.repository", "must be the same as repository, or left out")
    question = vector if query is None else query
    assert question is not None
    try:
        hits = app.filtered_search.by_vector(caller, question, _query(conditions), threshold, limit)
    except ScopeViolation:
        return []
    app.note_answer(
        caller, "memory-vector-search", query or "", ((hit.memory, hit.similarity) for hit in hits)
    )
    return [
        whole(hit.memory) | {"similarity": hit.similarity, "rank_score": hit.score} for hit in hits
    ]


def memory_link(
    app: App, caller: Caller, source_id: str, target_id: str, relation_type: str
) -> str:
    """Link one memory to another."""
    source, target = (find_id(app, caller, each) for each in (source_id, target_id))
    app.links.link(caller, source, target, relation_type)
    return f"Memories linked successfully as '{relation_type}'."


OPERATIONS: Mapping[str, Operation] = {
    "memory-write": memory_write,
    "memory-update": memory_update,
    "memory-delete": memory_delete,
    "memory-search": memory_search,
    "memory-link": memory_link,
    "memory-batch-write": memory_batch_write,
    "memory-vector-search": memory_vector_search,
}


def _draft(app: App, caller: Caller, arguments: Mapping[str, Any]) -> tuple[Caller, Draft]:
    """Return the caller narrowed to the named organization, and the draft."""
    text = arguments.get("id")
    id = None if text is None else id_in(text)
    narrowed = app.memories.narrowed(caller, arguments["organization"], id)
    fields = {
        _FIELDS[name]: _typed(name, value) for name, value in arguments.items() if name in _FIELDS
    }
    return narrowed, Draft(
        **fields,
        id=id,
        given_uuid=text if id is not None and text not in (id, str(uuid_of(id))) else None,
        repository=arguments.get("repository"),
        initial=Status.DRAFT,
    )


def _query(filters: Mapping[str, Any]) -> MemoryQuery:
    """Return the query for filters by the contract's names."""
    criteria = {name: _typed(name, value) for name, value in filters.items()}
    return MemoryQuery(
        organization=criteria.get("organization"),
        repository=criteria.get("repository"),
        scope=criteria.get("scope_type"),
        type=criteria.get("memory_type"),
        status=criteria.get("status"),
        metadata=criteria.get("metadata", {}),
    )


def _typed(name: str, value: Any) -> Any:
    """Return a field's value, as a member of its enumeration if it has one."""
    enum = _ENUMS.get(name)
    return value if enum is None or value is None else enum(value)
