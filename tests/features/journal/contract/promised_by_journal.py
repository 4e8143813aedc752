"""What the contract `journal` promises."""

from collections.abc import Iterator, Mapping

from tests.serve.contracts.promises import Divergence, Requirement, promised


def _part(section: str, name: str, sentences: Mapping[str, str]) -> Iterator[Requirement]:
    return promised(f"journal.md, {section}", f"journal/{name}", sentences)


def _resolved(name: str, sentences: Mapping[str, str]) -> Iterator[Requirement]:
    return promised("RESOLUTIONS §5", f"journal/{name}", sentences)


_PUBLISHED = [
    *_part(
        "Overview",
        "published",
        {
            "persistent": "Agents keep memory across sessions through a collection of tools.",
            "clear-errors": "Clear error messages within the tool's response.",
            "schemas": "Tool inputs and outputs are defined by a schema.",
        },
    ),
    *_part(
        "Architecture",
        "published",
        {
            "stdio": "The server speaks MCP over standard input and output.",
            "openapi-source": "The tools and an OpenAPI specification come from one source.",
            "tools": "Twelve tools, each by its name and description.",
            "turn-shape": "A turn is {id, sessionId, timestamp, prompt, thought, response, type}.",
            "summary-shape": "A summary is {id, sessionId, timestamp, title, summary, category, memoryCount, quality, productivity, impact, complexity, technologies}.",
        },
    ),
    *_part(
        "Tool Specifications",
        "published",
        {
            "parameters": "Each parameter by its name, type, default, description, and whether needed."
        },
    ),
    *_part(
        "OpenAPI Specification",
        "openapi",
        {
            "complete": "The complete API specification is available in OpenAPI 3 format.",
            "usable": "It can generate clients and be used for automated tests: it is valid.",
        },
    ),
]

_TOOLS = [
    *_part(
        "Health Tools",
        "healthcheck",
        {"confirms": "Confirms that the server runs and reaches its database; no parameters."},
    ),
    *_part(
        "Database Lifecycle Tools",
        "lifecycle",
        {
            "starts": "start_database starts the database; no parameters.",
            "background": "start_database starts it as a background process.",
            "stops": "stop_database stops it; no parameters.",
        },
    ),
    *_part(
        "Memory Tools",
        "memories",
        {
            "add": "add_memory adds an interaction: prompt, thought, response, all required.",
            "generated": "Without sessionId one is generated.",
            "session": "get_session_memories gives all memories of a session, chronologically.",
            "paged": "limit (100) is the most to return, offset (0) where to begin.",
            "query": "query_raw_memories searches all memories by meaning.",
            "query-scoped": "sessionId scopes the search.",
            "query-count": "nResults (10) is how many to return.",
        },
    ),
    *_part(
        "Summary Tools",
        "summaries",
        {
            "listed": "get_all_summaries lists all summaries, sorted by time; limit 50, offset 0.",
            "by-category": "category filters them.",
            "query": "query_summaries searches them by meaning; nResults 10, category filters.",
            "delete": "delete_all_summaries deletes all summaries; raw memories are preserved.",
        },
    ),
    *_part(
        "Session Tools",
        "sessions",
        {
            "one": "With sessionId only this session is summarised.",
            "batch": "Without it all unsummarised sessions are.",
        },
    ),
    *_part(
        "Database Tools",
        "database",
        {
            "export": "export_database writes the memory database to a JSONL file.",
            "include": "include names the collections: memories, summaries, or both.",
            "import": "import_database takes in a file that was exported.",
            "mode": "mode is merge (default) or replace.",
        },
    ),
]

_ERRORS = [
    *_part(
        "Error Handling",
        "errors",
        {
            "form": "A failed call is a result with isError and a descriptive message.",
            "text": "Its text is `Tool Error: {error}. Message: {message}`.",
        },
    ),
    *_part(
        "Implementation Considerations",
        "considered",
        {
            "pagination": "Pagination for all list-based tools.",
            "batch": "summarize_sessions has a batch mode.",
            "validation": "All inputs are validated before database operations.",
            "atomic": "Operations are atomic.",
            "idempotent": "Operations are idempotent where appropriate.",
            "caching": "Consider caching frequently accessed summaries.",
            "rate-limits": "Future versions should consider keys and rate limits for remote access.",
            "calls-logged": "Log all tool calls with timing information.",
            "stack-traces": "Capture and log all errors with stack traces.",
            "metrics": "Track memory growth, query performance and summarization success rates.",
        },
    ),
]

_RESOLVED = [
    *_resolved(
        "results",
        {
            "turn": "type is `agent-interaction`.",
            "category": "Category: bugfix, feature, refactoring, documentation, new-app, analysis, other.",
            "scores": "The four scores are integers 0..100.",
            "add": "add_memory: {id, sessionId, timestamp, message}.",
            "session": "get_session_memories: {sessionId, count, total, memories}, chronological.",
            "query": "query_*: {query, count, results} with distance (cosine, lower is nearer) and relevanceScore = 1/(1+distance).",
            "list": "get_all_summaries: {count, total, summaries}, newest first.",
            "delete": "delete_all_summaries: {deleted, message}.",
            "summarize": "summarize_sessions: {processed, sessions: [{sessionId, memoryCount, summaryId, title}]}.",
            "export": "export_database: {message, files, counts}.",
            "import": "import_database: {imported, skipped, mode, message}.",
            "lifecycle": "start/stop_database: {status: started|stopped|already_running|not_running, pid, detail}.",
            "health": "healthcheck: status, timestamp, database, features, startup, details, version, uptime; collections neo-agent-memory and neo-agent-sessions.",
            "schemas": "All of these have output schemas.",
        },
    ),
    *_resolved(
        "calls",
        {
            "n-results": "nResults is 1..100; out of range it is refused.",
            "connection-session": "Without sessionId add_memory uses the connection's session, one generated per connection.",
            "unknown-session": "An unknown session in get_session_memories: count 0.",
            "unknown-summarized": "An unknown session in summarize_sessions: an error.",
            "annotations": "readOnlyHint on the queries and healthcheck, destructiveHint on delete_all_summaries.",
            "unknown-category": "An unknown category is refused.",
            "no-key": "It serves without any key or model service.",
            "degraded": "degraded never blocks a tool that could work.",
        },
    ),
    *_resolved(
        "summarizing",
        {
            "sampling": "By the client's own model where the client offers it.",
            "endpoint": "Else by an OpenAI-compatible endpoint where one is configured.",
            "built-in": "Else by the built-in summarizer: deterministic, and it names itself in the record.",
            "rules": "Its scores follow documented rules.",
            "active": "The session being written is not summarised in batch mode.",
            "grown": "A session that grew since its summary is summarised again.",
            "failing": "One failing session does not stop the batch.",
            "taken-back": "A summary never states what a later turn took back.",
        },
    ),
    *_resolved(
        "lifecycle",
        {
            "server-engine": "With a server engine a database process is started in the background and stopped.",
            "embedded": "With the embedded engine they open and close the store.",
            "after-stop": "After a stop every data tool answers `Tool Error: Database connection failed. Message: …` until started.",
        },
    ),
    *_resolved(
        "archives",
        {
            "jsonl": "Export: JSONL, one record a line, under `backups/` in the data directory, streamed.",
            "include": "include chooses; both kinds by default.",
            "merge": "merge keeps what exists, counted as skipped.",
            "replace": "replace swaps the included kinds in one transaction.",
            "bad-line": "A bad line aborts with its number and nothing changed.",
            "data-model": "Import also reads, and export can write, turns and summaries with the fields of the data model, one JSON object a line.",
            "foreign": "Also reads the {id, embedding, metadata, document} lines of Memory Core's own exports.",
            "paths": "Paths outside the allowed roots are refused.",
        },
    ),
    *_resolved(
        "openapi",
        {
            "generated": "An OpenAPI 3 document of the twelve operations is generated from the contract data.",
            "served": "It is served at /openapi.json, and the operations answer there over plain HTTP.",
            "yaml": "It is served at /openapi.yaml too.",
            "3.0": "As 3.1 and, with ?version=3.0, as 3.0.",
        },
    ),
]

MANIFEST: tuple[Requirement, ...] = (*_PUBLISHED, *_TOOLS, *_ERRORS, *_RESOLVED)


DIVERGENCES: tuple[Divergence, ...] = (
    Divergence(
        "journal/summarizing/taken-back",
        "The built-in summarizer repeats 22 of the 77 statements that are taken back in the sessions of an "
        "author who did not know its rules (docs/benchmarks.md); a client's model is asked first.",
    ),
    Divergence(
        "journal/lifecycle/background",
        "The embedded engine is a file that the server's process opens; there is no process of its "
        "own to start.",
    ),
    Divergence(
        "journal/lifecycle/server-engine",
        "With PostgreSQL the database's own server is run by whoever runs it, for many processes; "
        "start_database and stop_database open and close this process's connections to it.",
    ),
    Divergence(
        "journal/considered/caching",
        "No cache is needed: summaries are read from the store in a millisecond.",
    ),
)
