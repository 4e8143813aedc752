"""What the contract `catalog` promises."""

from collections.abc import Iterator, Mapping

from tests.serve.contracts.promises import Divergence, Requirement, promised


def _part(section: str, name: str, sentences: Mapping[str, str]) -> Iterator[Requirement]:
    return promised(f"catalog.md, {section}", f"catalog/{name}", sentences)


def _resolved(name: str, sentences: Mapping[str, str]) -> Iterator[Requirement]:
    return promised("RESOLUTIONS §1", f"catalog/{name}", sentences)


_SERVER = [
    *_part(
        "1. Server Manifest",
        "server",
        {
            "info": "The server is Memory MCP Server 1.0.0 with the published description.",
            "versioning": "It supports hierarchical searching and versioning.",
        },
    ),
    *_part(
        "2. Tools Contract",
        "tools",
        {
            "listed": "It offers the tools of the document.",
            "schemas": "Each tool takes the arguments of its request schema: types, enums, ranges, what is required.",
            "examples": "Each JSON-RPC example of the document is answered as it shows.",
        },
    ),
    *_part(
        "5. Enum Definitions",
        "enums",
        {
            "scope": "Scope: system, organization, repository, user.",
            "status": "Status: draft, verified, locked, deprecated, active.",
            "type": "Type: the twelve values of the document.",
        },
    ),
    *_resolved(
        "errors",
        {
            "not-found": "An unknown or already deleted id: JSON-RPC error, code 404.",
            "invalid": "Invalid parameters: −32602.",
            "locked": "A locked memory: −32001.",
            "forbidden": "What the caller may not: −32003.",
            "data": "`data` of an error names the argument, the id or the item.",
        },
    ),
]

_WRITING = [
    *_part(
        "2.1 memory-write",
        "memory-write",
        {
            "creates": "Create a new memory entry.",
            "types": "Supports facts, preferences, and business rules.",
            "response": "The tool returns the created memory object as a JSON string.",
            "new-uuid": "If `id` is omitted, the server generates a new UUID: not idempotent.",
            "upsert": "If `id` is provided, it acts as an update (if exists) or create (if not): idempotent.",
            "default-status": "`status` defaults to draft.",
            "default-importance": "`importance` is 1 to 10 and defaults to 1.",
        },
    ),
    *_resolved(
        "memory-write",
        {
            "unknown-id": "An unknown `id` creates the memory with that id.",
            "restores": "A soft-deleted `id` is restored.",
            "business-rule": "`business_rule` may be written.",
            "warnings": "A title of more than 12 words or metadata beyond 5 flat keys is accepted, with `warnings` that say which index rule it breaks.",
        },
    ),
    *_part(
        "2.2 memory-update",
        "memory-update",
        {
            "updates": "Update an existing memory entry by its UUID.",
            "idempotent": "Calling multiple times with same data results in same state.",
            "partial": "Only provided fields are updated.",
        },
    ),
    *_resolved(
        "memory-update",
        {
            "null-clears": "An explicit `null` clears an optional field.",
            "empty": "An empty update is an error.",
            "versions": "Every content change keeps the earlier version.",
        },
    ),
    *_part(
        "2.3 memory-delete",
        "memory-delete",
        {
            "soft": "Soft-delete a memory entry.",
            "text": "Returns a plain text confirmation message.",
            "again": "Called on an already deleted or non-existent ID, it returns a 404 error at JSON-RPC level.",
        },
    ),
    *_part(
        "2.5 memory-link",
        "memory-link",
        {
            "links": "Create relationships.",
            "default": "`relation_type` defaults to related.",
            "text": "Returns a text confirmation.",
            "idempotent": "Linking A to B multiple times has no extra effect.",
        },
    ),
    *_resolved(
        "memory-link",
        {
            "free-text": "`relation_type` is free text.",
            "both-ways": "`related` is stored both ways, any other one-way.",
            "unknown": "Unknown ids: 404.",
            "self": "A self-link is refused.",
        },
    ),
    *_resolved(
        "memory-batch-write",
        {
            "all-or-nothing": "One transaction, all or nothing.",
            "index": "The error names the item's index, from 0.",
            "order": "The result is the array of memories in input order.",
            "shared": "Missing organization, scope_type, memory_type of an item come from the first item that has them.",
            "alias": "It is also called as memory-bulk-write.",
        },
    ),
]

_SEARCHING = [
    *_part(
        "2.4 memory-search",
        "memory-search",
        {
            "array": "Returns a JSON array of complete memory objects.",
            "unbounded": "Pagination is not supported; the server returns ALL matching records.",
            "sorting": "Sorted by relevance (if a query is provided), then importance, then created at, both descending.",
            "filters": "`filters` may hold repository, memory_type, status, scope_type, metadata.",
        },
    ),
    *_resolved(
        "memory-search",
        {
            "matches": "A record matches when one of its terms does, or when its meaning stands out from the store's background similarity.",
            "relevance": "With a query each result has `relevance`, a float, higher is better.",
            "no-query": "Without a query: importance, then created_at, both descending.",
            "equality": "The filters are equality; `metadata` matches when every given key equals.",
            "organization": "`organization` in `filters` is accepted too.",
            "deleted": "Soft-deleted records never show.",
            "deprecated": "Every status shows; deprecated ones rank last.",
            "repository": "With filters.repository: that repository's memories and the organization- and system-wide ones, never another repository's.",
            "user": "A user-scoped memory shows to its user only.",
        },
    ),
    *_resolved(
        "memory-vector-search",
        {
            "one-of": "One of `query` and `vector`.",
            "length": "A vector of the wrong length is refused with both lengths.",
            "rank-score": "rank_score = 0.6·cosine + 0.3·importance/10 + 0.1·max(0.5, 1 − age_days/60).",
            "threshold": "Results have a cosine of at least `threshold`, 0.5 by default.",
            "shape": "Each result has `similarity` and `rank_score`.",
            "narrowed": "`repository`, `filters` and `limit` narrow it.",
        },
    ),
]

_READING = [
    *_part(
        "3.1 memory://index",
        "index",
        {
            "light": "A JSON array of lightweight objects.",
            "no-content": "`current_content` is ALWAYS excluded.",
            "limit": "Hardcoded to the 50 most recent items.",
        },
    ),
    *_resolved(
        "resources",
        {
            "index-order": "memory://index is ordered by `updated_at`, newest first.",
            "metadata-order": "`metadata` keeps its order.",
            "made-title": "An index entry without a title shows one made from the text.",
            "withheld": "memory://index and the list of resources show the titles of all that the caller may see, but no title and "
            "no metadata that reads as instructions unless a person said it; memory://{id} says which read so.",
            "index-metadata": "It shows the first 5 scalar values of metadata, long strings cut at 50 characters.",
            "memory": "memory://{id} is the whole memory.",
            "history": "memory://{id}/history holds versions and audit entries.",
            "docs": "docs://mcp-overview, tools-guide, memory-rules and behavior-rules can be read.",
            "schema": "schema://schema holds the enums and limits.",
            "completion": "`{id}` is completed by title prefix.",
            "subscribe": "Subscribing to memory://index notifies on change.",
        },
    ),
    *_part(
        "4. Prompts Contract",
        "prompts",
        {"texts": "The three prompts have the full text of the document."},
    ),
    *_resolved("prompts", {"no-arguments": "The prompts take no arguments."}),
    *_resolved(
        "http",
        {
            "plain": "Over HTTP a single JSON-RPC message with a bearer token, without initialize and session, is answered with one JSON object."
        },
    ),
]

MANIFEST: tuple[Requirement, ...] = (*_SERVER, *_WRITING, *_SEARCHING, *_READING)

_BY_RELEVANCE = (
    "Where a model gives token states, as the built-in one does, `similarity` is the calibrated "
    "relevance in [0, 1], so that the default threshold leaves out what is unrelated (decision 0027)."
)

DIVERGENCES: tuple[Divergence, ...] = (
    Divergence("catalog/memory-vector-search/rank-score", _BY_RELEVANCE),
    Divergence("catalog/memory-vector-search/threshold", _BY_RELEVANCE),
)
