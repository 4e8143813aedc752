"""What the contract `knowledge` promises."""

from collections.abc import Iterator, Mapping

from tests.serve.contracts.promises import Divergence, Requirement, promised


def _tool(name: str, sentences: Mapping[str, str]) -> Iterator[Requirement]:
    return promised(f"knowledge.md, {name}", f"knowledge/{name}", sentences)


def _resolved(name: str, sentences: Mapping[str, str]) -> Iterator[Requirement]:
    return promised("RESOLUTIONS §2", f"knowledge/{name}", sentences)


_SERVER = [
    *promised(
        "knowledge.md",
        "knowledge",
        {
            "server/info": "The server is memory-mcp 0.1.0; its instructions begin with the published ones.",
            "server/protocol": "It speaks MCP 2024-11-05, JSON-RPC 2.0 over stdio, with tools.",
            "tools/listed": "It lists twenty-one tools.",
            "tools/published": "Each tool has the published name, description and input schema.",
            "errors/form": "A tool's error is one text with `isError: true`.",
            "errors/embedding-not-ready": '"Embedding service not ready. Please try again.": the model is loading.',
            "errors/memory-not-found": '"Memory not found: {id}": no such memory.',
            "errors/database": '"Database error. Please try again.": the store failed.',
            "errors/invalid-path": '"Invalid path: {path}": the file system failed.',
        },
    ),
]

_MEMORIES = [
    *_tool(
        "store_memory",
        {
            "store": "Store a new memory with automatic embedding generation.",
            "content": "`content` is the content to store as a memory.",
            "memory_type": "`memory_type` is episodic, semantic or procedural.",
            "user_id": "`user_id` isolates one user's memories.",
            "metadata": "`metadata` is an optional JSON object.",
            "output": "The answer is the id: 20 alphanumerics.",
            "not-ready": 'Error "Embedding service not ready. Please try again." while the model loads.',
        },
    ),
    *_tool(
        "get_memory",
        {
            "get": "Get a memory by its ID.",
            "output": "The answer is the memory object of the example, without its embedding.",
            "not-found": 'Error "Memory not found: {id}".',
        },
    ),
    *_tool(
        "update_memory",
        {
            "only-given": "Update an existing memory. Only provided fields will be updated.",
            "re-embeds": "New content re-embeds if changed.",
            "output": "The answer is the updated memory object.",
            "not-found": 'Error "Memory not found: {id}".',
            "not-ready": 'Error "Embedding service not ready" if content changed.',
        },
    ),
    *_tool(
        "delete_memory",
        {
            "hard": "Delete a memory by ID (hard delete).",
            "output": 'The answer is {"deleted": true}.',
        },
    ),
    *_tool(
        "list_memories",
        {
            "newest-first": "List memories, sorted by newest first.",
            "pagination": "`limit` (default 20, max 100) and `offset` (default 0) page through them.",
            "output": "The answer holds memories, total, limit and offset.",
        },
    ),
    *_resolved(
        "memory",
        {
            "long-id": "Whole memory objects carry the id in the long form, everything else the bare string.",
            "both-ids": "Every input takes both forms of an id.",
            "default-type": "`memory_type` is semantic by default; another value than the three is refused.",
            "importance": "`importance_score` is 1.0.",
            "content-bounds": "`content` has 1 character to 100 KB.",
            "empty-fields": "`valid_until: null` and `metadata: {}` show when empty, `user_id` only when set, the embedding never.",
            "re-embeds-only-content": "`update_memory` re-embeds only when the content changed.",
            "delete-unknown": '`delete_memory` of an unknown id: {"deleted": false}.',
            "unknown": "`get_memory`, `update_memory`, `invalidate` of an unknown id: Memory not found: {id}.",
        },
    ),
]

_SEARCHES = [
    *_tool(
        "search",
        {
            "semantic": "Semantic vector search over memories.",
            "hnsw": "It uses an HNSW index.",
            "limit": "`limit`: default 10, max 50.",
            "output": "The answer holds results (id, content, memory_type, score), count and query.",
            "not-ready": 'Error "Embedding service not ready. Please try again."',
        },
    ),
    *_tool(
        "search_text",
        {
            "bm25": "Full-text keyword search using the BM25 algorithm.",
            "limit": "`limit`: default 10, max 50.",
            "output": "The answer holds results, count and query.",
            "no-model": "It does not require the embedding model.",
        },
    ),
    *_tool(
        "recall",
        {
            "hybrid": "Hybrid search combining vector similarity, BM25 keywords and graph context (PPR).",
            "limit": "`limit`: default 10, max 50.",
            "include_memories": "`include_memories`: default true.",
            "include_code": "`include_code` adds code chunks; default false.",
            "project-and-language": "`project_id` and `language` filter code results.",
            "weights": "`vector_weight` 0.40, `bm25_weight` 0.15, `ppr_weight` 0.45 by default.",
            "output": "Each result has id, content, source, score and the three signals' scores; the answer query, subgraph_nodes and the counts.",
            "code-fields": "A code result has file_path, start_line and end_line.",
            "z-score": "Scores of memories and code are Z-score normalised before merging.",
        },
    ),
    *_resolved(
        "search",
        {
            "only-valid": "Search, recall and get_valid show only what is valid now.",
            "cosine": "`search`: cosine in [−1, 1] as `score`.",
            "text-parts": "in_progress, camelCase, path/to/file.py, v1.2.3 and non-English words are findable whole and by part.",
            "text-any-term": "Any term may match, more is better.",
            "text-phrases": "Quoted phrases match as phrases.",
            "text-while-loading": "`search_text` works while the model loads.",
        },
    ),
    *_resolved(
        "recall",
        {
            "candidates": "Candidates come from vector (50) and BM25 (50).",
            "ppr": "PPR over entities, mentions, relations and links: damping 0.5, 15 iterations, 1e-6, result ÷ √degree.",
            "ppr-seeds": "The walk is seeded by the best candidates.",
            "normalised": "Each signal is brought to [0, 1].",
            "weighted-mean": "The score is the weighted mean of the signals that can fire.",
            "empty-graph": "A graph that holds nothing costs the other signals nothing.",
            "weights-relative": "Weights are relative; all zero or any negative is refused.",
            "z-normalised": "Each source's scores are z-normalised (population σ, < 1e-6 → 0) before merging.",
            "subgraph_nodes": "`subgraph_nodes` is the size of the graph walked.",
            "code-filters": "`project_id` or `language` without `include_code` is refused.",
            "follows-supersession": "Recall of the text of a superseded memory leads to the new one.",
        },
    ),
]

_GRAPH = [
    *_tool(
        "create_entity",
        {
            "create": "Create a knowledge graph entity with a name and optional type and description.",
            "user_id": "`user_id` isolates one user's entities.",
            "output": "The answer is the id.",
        },
    ),
    *_tool(
        "create_relation",
        {
            "directed": "Create a directed relation between two entities.",
            "weight": "`weight`: 0.0–1.0, default 1.0.",
            "output": "The answer is the id.",
        },
    ),
    *_tool(
        "get_related",
        {
            "traversal": "Get entities related to a given entity via graph traversal.",
            "depth": "`depth`: 1–3, default 1.",
            "direction": "`direction`: outgoing (default), incoming or both.",
            "output": "The answer holds entities, relations and their counts.",
        },
    ),
    *_resolved(
        "graph",
        {
            "mentions": "A memory mentions an entity when its text has the entity's name or alias as whole words; no model is called.",
            "edges": "Explicit links and supersessions are edges too.",
            "derived": "The index of mentions is derived and can be rebuilt at will.",
            "same-entity": "`create_entity` with the same name, type and user returns the existing id.",
            "needs-entities": "`create_relation` needs both entities, else Entity not found: {id}.",
            "same-triple": "The same source, type and target again updates the weight.",
            "without-start": "`get_related` leaves out the start entity.",
        },
    ),
]

_TIME = [
    *_tool(
        "get_valid",
        {
            "current": "Get all currently valid memories.",
            "user_id": "`user_id` filters by user.",
            "limit": "`limit`: default 20, max 100.",
            "output": "The answer holds results and count.",
        },
    ),
    *_tool(
        "get_valid_at",
        {
            "at": "Get memories valid at a specific point in time, in ISO 8601 format.",
            "user_id": "`user_id` filters by user.",
            "limit": "`limit`: default 20, max 100.",
            "output": "The answer holds results, count and timestamp.",
        },
    ),
    *_tool(
        "invalidate",
        {
            "ends": "Invalidate (soft-delete) a memory: valid_until becomes now.",
            "reason": "`reason` is optional.",
            "superseded_by": "`superseded_by` names the memory that supersedes this one.",
            "output": 'The answer is {"invalidated": true}.',
        },
    ),
    *_resolved(
        "time",
        {
            "keeps": "`invalidate` keeps `reason` and `superseded_by`; the new memory must exist.",
            "idempotent": "`invalidate` is idempotent.",
            "half-open": "`get_valid_at`: valid_from ≤ t < valid_until.",
            "bad-timestamp": "A bad timestamp is refused with an example of a good one.",
        },
    ),
]

_CODE = [
    *_tool(
        "index_project",
        {
            "index": "Index a codebase for semantic search.",
            "watch": "`watch` re-indexes changed files.",
            "output": "The answer holds project_id, files_indexed and chunks_created.",
            "not-ready": 'Error "Embedding service not ready".',
            "invalid-path": 'Error "Invalid path: {path}".',
        },
    ),
    *_tool(
        "search_code",
        {
            "search": "Semantic search over indexed code.",
            "project_id": "`project_id` filters by project.",
            "limit": "`limit`: default 10, max 50.",
            "output": "Each result has id, file_path, content, language, lines, chunk_type, name and score.",
        },
    ),
    *_tool(
        "get_index_status",
        {
            "status": "Get the indexing status of a project: pending, indexing, completed or failed.",
            "output": "The answer holds counts, progress_percent, eta_seconds, started_at and completed_at.",
            "eta": "`eta_seconds` is calculated from elapsed time and progress.",
        },
    ),
    *_tool(
        "list_projects",
        {"list": "List all indexed projects.", "output": "The answer holds projects and count."},
    ),
    *_tool(
        "delete_project",
        {
            "delete": "Delete all indexed code chunks for a project.",
            "output": "The answer holds chunks_deleted.",
        },
    ),
    *_resolved(
        "code",
        {
            "project_id": "`project_id` is the directory's name, made unique by a short suffix.",
            "ignored": ".gitignore and .memoryignore are honoured; hidden, binary and > 1 MB files skipped.",
            "incremental": "Indexing is incremental by content hash.",
            "progress": "Progress notifications are sent; a second call while one runs returns its status; cancel leaves a consistent index.",
            "chunks": "Chunks follow the syntax tree; every line of a file is in exactly one.",
            "languages": "Fifteen languages and five formats by structure.",
            "watch-delay": "`watch: true` re-indexes 500 ms after the last change.",
            "chunk_type": "`chunk_type`: function, class, struct, module, impl, other.",
            "unknown-language": "`language` unknown: refused with the known ones.",
            "unknown-project": "`get_index_status` of an unknown project: Project not found: {id}.",
        },
    ),
]

_SYSTEM = [
    *_tool(
        "get_status",
        {
            "health": "Get server status and health information: version, status.",
            "counts": "memories_count and entities_count.",
            "code-count": "code_chunks_count.",
            "loading": 'Embedding status "loading": the model is initializing.',
            "ready": 'Embedding status "ready": the model is ready for use.',
            "error": 'Embedding status "error": the model failed to load.',
            "cache_stats": "cache_stats: hits, misses and size.",
            "dimensions": "The model is e5_multi with 768 dimensions, as is the store.",
        },
    ),
    *_tool(
        "reset_all_memory",
        {
            "all": "Delete all data: memories, entities, relations.",
            "code-chunks": "Delete all code chunks.",
            "confirmed": "With confirm=true the answer holds reset: true and what was deleted.",
            "unconfirmed": "With confirm=false or missing: reset: false and the message.",
            "no-error": "It does not err; it answers reset: false if not confirmed.",
        },
    ),
    *_resolved(
        "system",
        {
            "kept_locked": "`reset_all_memory` spares records locked by a higher role than the caller's, and says how many.",
            "true-model": "`get_status.embedding` tells the real name and dimension of the model in use.",
            "later-search_memory": "Hidden alias search_memory(query, mode = vector|bm25|hybrid).",
            "later-get_valid": "Hidden argument get_valid(timestamp).",
            "later-knowledge_graph": "Hidden alias knowledge_graph(action = create_entity|create_relation|get_related|detect_communities).",
            "later-project_info": "Hidden alias project_info(action = list|status|delete).",
            "later-recall_code": "Hidden alias recall_code.",
        },
    ),
]

MANIFEST: tuple[Requirement, ...] = (
    *_SERVER,
    *_MEMORIES,
    *_SEARCHES,
    *_GRAPH,
    *_TIME,
    *_CODE,
    *_SYSTEM,
)


DIVERGENCES: tuple[Divergence, ...] = (
    Divergence(
        "knowledge/index_project/not-ready",
        "Indexing does not need the model: files can be found by words at once, and by meaning as "
        "soon as it is there.",
    ),
    Divergence(
        "knowledge/search/hnsw",
        "Binary codes are scanned exactly and the best rescored: nothing to build, and no loss "
        "where a filter leaves few records.",
    ),
    Divergence(
        "knowledge/search/cosine",
        "Where a model gives token states, as the built-in one does, the score is the calibrated "
        "relevance in [0, 1]: a cosine of this model says 0.7 of what is unrelated (decision 0027).",
    ),
    Divergence(
        "knowledge/recall/candidates",
        "A hundred and fifty each: fifty leave out too much of what token by token comparison finds (decision 0027).",
    ),
    Divergence(
        "knowledge/get_status/dimensions",
        "The built-in model is multilingual-e5-small with all-MiniLM-L6-v2 beside it, in 768 dimensions; the status says so.",
    ),
)
