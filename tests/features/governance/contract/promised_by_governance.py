"""What the contract `governance` promises."""

from collections.abc import Iterator, Mapping

from tests.serve.contracts.promises import Divergence, Requirement, promised


def _part(section: str, name: str, sentences: Mapping[str, str]) -> Iterator[Requirement]:
    return promised(f"governance.md, {section}", f"governance/{name}", sentences)


def _resolved(name: str, sentences: Mapping[str, str]) -> Iterator[Requirement]:
    return promised("RESOLUTIONS §3", f"governance/{name}", sentences)


_CONTEXT = [
    *_part(
        "1. Common Request Context",
        "context",
        {
            "required": "Every request carries the object `context`.",
            "agent_id": "`agent_id`: unique id of the AI agent that makes the request.",
            "organization_id": "`organization_id`: UUID of the organization.",
            "repository_id": "`repository_id`: UUID of the active repository.",
            "intent": "`intent`: read, write or admin.",
            "request_id": "`request_id`: unique id of the request, to trace it in the audit.",
        },
    ),
    *_resolved(
        "context",
        {
            "malformed": "Anything missing, empty or malformed: INVALID_CONTEXT.",
            "intent-fits": "An intent that does not fit the tool: INVALID_CONTEXT.",
            "first": "The context is checked before anything is looked up.",
            "intents": "memory-write takes write; search and read read; lock admin; deprecate write or admin.",
        },
    ),
]

_TOOLS = [
    *_part(
        "2.A memory-write",
        "memory-write",
        {
            "stores": "Stores a new fact or decision log.",
            "callers": "Allowed: AI agent and human admin.",
            "required": "`content` and `type` are required.",
            "protected": "`type` may not be business_rule or system_constraint when an AI sends it.",
            "not-locked": "A locked memory is not edited.",
            "response": "The answer is `memory_id` and the status unverified.",
            "audit": "It always leaves a `created` audit record and version 1.",
        },
    ),
    *_resolved(
        "memory-write",
        {
            "edits": "With `memory_id` it edits: a new version; a locked one: MEMORY_LOCKED.",
            "own-repository": "An AI may not write into another repository, the organization's or the system's scope.",
        },
    ),
    *_part(
        "2.B memory-search",
        "memory-search",
        {
            "searches": "Searches relevant memories.",
            "callers": "Allowed: AI agent and human admin.",
            "required": "`query` is required.",
            "limit": "`limit` is 5 by default and 10 at most.",
            "type_filter": "`type_filter` keeps one type.",
            "repository": "A valid `repository_id` must be carried.",
            "response": "The answer is a list of memories: content, status, type, scope_origin.",
            "audit": "It is entered as a `read` in the audit log.",
        },
    ),
    *_resolved(
        "memory-search",
        {
            "limit-refused": "A limit of more than 10 is refused.",
            "fields": "Each memory has memory_id, content, status, type and scope_origin.",
            "scopes": "It finds this repository's memories and what its organization and the system say.",
            "other-repository": "Another repository's memories are not found: empty, not an error.",
            "hidden": "Deprecated and deleted memories never show.",
        },
    ),
    *_part(
        "2.C memory.read",
        "memory.read",
        {
            "reads": "Gives the full detail of one memory.",
            "required": "`memory_id` is required.",
            "response": "The answer is the full memory with its latest version history.",
        },
    ),
    *_resolved(
        "memory.read",
        {
            "not-leaked": "Outside the caller's repository: MEMORY_NOT_FOUND; existence is not leaked."
        },
    ),
    *_part(
        "2.D memory.lock",
        "memory.lock",
        {
            "locks": "Locks a memory so that it is immutable to AI.",
            "callers": "Allowed: a human admin with the role architect or manager.",
            "not-ai": "An AI agent may not call it.",
            "response": "The answer confirms the status locked and the timestamp.",
        },
    ),
    *_resolved(
        "memory.lock",
        {
            "refused": "An AI that calls it gets WRITE_NOT_ALLOWED.",
            "immutable": "A locked memory is immutable.",
        },
    ),
    *_part(
        "2.E memory.deprecate",
        "memory.deprecate",
        {
            "marks": "Marks a memory as outdated.",
            "required": "`memory_id` and `reason` are required.",
            "response": "The status becomes deprecated.",
        },
    ),
]

_SCOPES = [
    *_part(
        "3. Scope & Type Enforcement",
        "scope",
        {
            "validated": "`repository_id` must be one that the token or session may use.",
            "no-cross-repository": "A request with repository A does not read the data of repository B.",
            "system-read-only": "System scope is read and searched only; it is not written through MCP.",
        },
    ),
    *_resolved(
        "scope",
        {
            "violation": "A `repository_id` that the caller may not use: SCOPE_VIOLATION.",
            "unnamed": "A caller whose start-up names no organization or repository may use any on stdio; one that names them is held to them.",
            "agent_id": "An `agent_id` that contradicts the start-up identity or token is a SCOPE_VIOLATION.",
            "role": "What a human admin is, the token or the start-up identity says, never the arguments.",
        },
    ),
]

_RESULTS = [
    *_part(
        "4. Result Limitation & Trimming",
        "results",
        {
            "at-most-10": "memory-search gives at most 10 records.",
            "order": "Exact match in the repository, semantic match in the repository, verified organization rules.",
            "trimmed": "Metadata of no use to an AI (internal database ids, internal timestamps) is left out.",
        },
    ),
    *_resolved(
        "results", {"verified-first": "Human-verified before unverified at equal relevance."}
    ),
]

_ERRORS = [
    *_part(
        "5. Error Code Contract",
        "errors",
        {
            "INVALID_CONTEXT": "The request does not bring the least context (repo_id, agent_id).",
            "SCOPE_VIOLATION": "It tries to reach data outside the active repository.",
            "WRITE_NOT_ALLOWED": "An AI tries to write a protected type (business_rule).",
            "MEMORY_LOCKED": "It tries to modify a record that is locked.",
            "MEMORY_NOT_FOUND": "The memory's identifier is unknown or not available in this scope.",
        },
    ),
    *_resolved(
        "errors",
        {
            "numbers": "INVALID_CONTEXT −32602, MEMORY_LOCKED −32001, SCOPE_VIOLATION −32002, WRITE_NOT_ALLOWED −32003, MEMORY_NOT_FOUND −32004.",
            "form": "A refusal is a result with isError: true, text `CODE: sentence`, structuredContent {error: {code, number, message, request_id}}.",
            "audited": "Refusals are themselves audited.",
        },
    ),
]

_SECURITY = [
    *_part(
        "6. Security & Audit Notes",
        "security",
        {
            "explicit": "All writes are explicit; the server never learns from conversation by itself.",
            "no-inference": "The server does not infer or change a memory's content by itself.",
            "transparent": "Every act leaves an audit entry that ties `agent_id` to `memory_id`.",
        },
    ),
    *_resolved(
        "security",
        {
            "tied": "Every action leaves an audit entry that ties agent_id, memory_id and request_id together.",
            "unlock": "An unlock exists for the locker's role or higher, as a command and an audited act, not as a tool.",
            "log-lines": "Log lines never hold memory content.",
        },
    ),
]

_PUBLISHED = [
    *promised(
        "RESOLUTIONS §0 and governance.md, 2.",
        "governance",
        {
            "published/tools": "The five tools are memory-write, memory-search, memory.read, memory.lock and memory.deprecate, each with its purpose as written.",
            "published/safe-spelling": "Calls also take the safe spellings (`memory_read` for `memory.read`).",
            "published/ids": "Ids on the wire are UUIDs.",
            "published/bad-input": "An argument that is missing, ill-typed, unlisted, out of range or unknown gets the contract's own error form, with the argument named.",
            "published/one-store": "What another contract wrote is found, what was locked here is locked in all.",
        },
    ),
    *promised(
        "Isolation acceptance",
        "acceptance",
        {
            "cross-repository": "A read across repositories is empty.",
            "cross-organization": "A read across organizations is empty.",
            "agents-rule": "An agent's business_rule is refused, audited, and nothing is stored.",
            "locked": "A locked memory refuses write and delete, through every contract.",
            "missing-context": "A missing context is refused before any look-up.",
            "deprecated-hidden": "A deprecated memory is hidden.",
            "update-makes-version": "An update makes a version.",
            "entry-for-each-act": "Each act leaves an entry with actor, time and request id.",
            "shared": "A memory written through one contract is found by the others.",
        },
    ),
]

MANIFEST: tuple[Requirement, ...] = (
    *_CONTEXT,
    *_TOOLS,
    *_SCOPES,
    *_RESULTS,
    *_ERRORS,
    *_SECURITY,
    *_PUBLISHED,
)

DIVERGENCES: tuple[Divergence, ...] = ()
