"""What the contract `ledger` promises."""

from collections.abc import Iterator, Mapping

from tests.serve.contracts.promises import Divergence, Requirement, promised


def _part(section: str, name: str, sentences: Mapping[str, str]) -> Iterator[Requirement]:
    return promised(f"ledger.md, {section}", f"ledger/{name}", sentences)


def _resolved(name: str, sentences: Mapping[str, str]) -> Iterator[Requirement]:
    return promised("RESOLUTIONS §4", f"ledger/{name}", sentences)


_PUBLISHED = [
    *_part(
        "Industrial Design Goals",
        "published",
        {
            "contract-first": "The API is defined by JSON Schemas, not by the implementation.",
            "version": "The API has version 1.0.0, which is immutable.",
            "breaking": "Breaking changes will result in v2.0.0.",
            "any-client": "Any MCP client can work with the server by the exported document.",
        },
    ),
    *_part(
        "Machine-Readable Specification",
        "published",
        {
            "shipped": "The canonical schema is at schema/mcp_api_v1.json in the package.",
            "exported": "The command line exports it: `export-schema`.",
        },
    ),
    *_resolved(
        "published",
        {
            "document": "It is one JSON document: mcp_api_version, info, tools.{name}.{description, input_schema, output_schema}, errors.",
            "limits": "title, target, query ≥ 1 character; rationale ≥ 10 (record), ≥ 15 (supersede); old_decision_ids ≥ 1; consequences a list of strings, default empty; limit 1..20, default 5; mode default balanced.",
            "ids": "Ids are `decision_<UTC time>_<8 hex>`; a `.md` suffix is accepted on input.",
        },
    ),
]

_TOOLS = [
    *_part(
        "record_decision",
        "record_decision",
        {
            "records": "Records a strategic rule or fact, immutably.",
            "rationale": "The rationale has at least 10 characters.",
            "commit": "Side effect: an atomic Git commit.",
            "indexed": "Side effect: the vector index is updated.",
        },
    ),
    *_resolved(
        "record_decision",
        {
            "taken": "On a target with an active decision it is refused (−32000), naming that decision."
        },
    ),
    *_part(
        "supersede_decision",
        "supersede_decision",
        {
            "replaces": "Replaces old active decisions.",
            "rationale": "The rationale has at least 15 characters.",
            "existing": "It must target at least one existing id.",
            "isolation": "An agent cannot supersede a decision that a human wrote.",
        },
    ),
    *_resolved(
        "supersede_decision",
        {
            "active": "Every old id must be active and on the same target.",
            "complete": "The old ids must include all that are active on the target.",
            "agents": "An agent can supersede an agent's decision, its own included.",
        },
    ),
    *_part(
        "search_decisions",
        "search_decisions",
        {
            "hybrid": "Searches by vectors and by the graph of decisions.",
            "strict": "`strict`: only active decisions, guaranteed.",
            "balanced": "`balanced`: active prioritized, deduplicated by target.",
            "audit": "`audit`: the full history, unfiltered.",
        },
    ),
    *_part(
        "accept_proposal",
        "accept_proposal",
        {
            "promotes": "Promotes an agent's proposal to truth.",
            "admin": "It takes the role admin and AGENT_MEMORY_SECRET.",
            "window": "The proposal must be outside its review window of one hour.",
        },
    ),
    *_resolved(
        "accept_proposal",
        {
            "secret": "The secret is compared in constant time with the hash pinned for this store.",
            "pinned": "The first admin start pins the secret.",
            "review_window": "The length of the window is a setting, one hour by default.",
            "once": "A proposal that was accepted before is not accepted again.",
            "supersedes": "The proposal becomes the active decision and supersedes what stood on its target.",
            "guesses": "A failed guess is audited and slowed down.",
        },
    ),
    *_resolved(
        "propose_decision",
        {
            "proposes": "Stores a proposal: the same input as record_decision, and optionally `supersedes`.",
            "beside": "A proposal changes nothing that holds until it is accepted.",
        },
    ),
]

_RULES = [
    *_resolved(
        "authors",
        {
            "caller": "Author is `human` or `agent`, from the caller, never from the text.",
            "viewer": "A viewer can only search.",
        },
    ),
    *_resolved(
        "invariants",
        {
            "one-active": "At most one decision is active on a target.",
            "immutable": "Target, title, rationale and author of a decision never change.",
            "mirrored": "supersedes and superseded_by are mirror images.",
            "no-cycles": "There are no cycles.",
            "ends": "Every chain ends in an active or a withdrawn decision.",
            "read-only": "A broken ledger is served read-only with the reason, never repaired silently.",
        },
    ),
    *promised(
        "RESOLUTIONS §7",
        "ledger/invariants",
        {
            "spelling": "Two targets are one when they agree after NFKC, case folding and taking runs of blanks, `-` and `_` as one; the first spelling is shown.",
        },
    ),
    *promised(
        "RESOLUTIONS §7",
        "ledger/resources",
        {
            "whole": "A decision can be read whole, with all its reasons and consequences: decision://{id}.",
            "history": "Every decision on its target can be read: decision://{id}/history.",
            "index": "An index shows what holds: decision://index.",
            "withheld": "The index and the list of resources show the titles of all that the caller may see, but not one of an "
            "agent that reads as instructions; decision://{id} says which read so.",
            "completion": "Ids of decisions are completed by id, target and title.",
            "scopes": "A resource shows what a search may show the caller, and no more.",
        },
    ),
    *promised(
        "RESOLUTIONS §7",
        "ledger/git",
        {"author": "The Git author of an act is who acted."},
    ),
    *promised(
        "RESOLUTIONS §8",
        "ledger/git",
        {
            "committer": "What Git brings is its committer's, and a proposal until accepted here, unless signed, "
            "known to the trail or `ledger_trust = everyone`."
        },
    ),
    *_resolved(
        "git",
        {
            "one-commit": "Each act is one commit.",
            "markdown": "Each decision is one Markdown file with YAML front matter, readable in a review.",
            "place": "The repository is under the data directory, or one that the user names.",
            "concurrent": "Commits are made by compare-and-swap of the branch head: concurrent writers both succeed.",
            "rebuild": "The tables are rebuilt from Git where they disagree.",
            "crash": "A crash between Git and the tables is healed at next start.",
            "tampered": "A tampered history is detected.",
        },
    ),
]

_SEARCH = [
    *_part(
        "Search & Ranking Policy",
        "search",
        {
            "graph-decides": "Vectors choose candidates; the graph of decisions decides what is returned.",
            "truth": "A query that matches a superseded decision leads to the active one.",
            "strict": "In strict mode what is not active is never returned, however near it is.",
            "boost": "Active decisions get +1.0 and stand above historical data.",
            "deduplicated": "Results are deduplicated by target, the most relevant version shown.",
        },
    ),
    *_resolved(
        "search",
        {
            "candidates": "Candidates come from cosine and BM25.",
            "superseded": "A superseded decision's score counts a tenth.",
            "audit": "`audit` gives everything with its true status, not deduplicated.",
            "preview": "A preview has at most 200 characters.",
        },
    ),
]

_ANSWERS = [
    *_part(
        "Error Handling",
        "errors",
        {
            "-32602": "−32602: invalid params.",
            "-32000": "−32000: an execution error: integrity violation or Git failure.",
            "403": "403: permission denied.",
        },
    ),
    *_resolved(
        "errors",
        {
            "form": "Failures are JSON-RPC errors; only successes are results.",
            "data": "`data` holds the reason and the ids concerned.",
        },
    ),
    *_resolved(
        "results",
        {
            "written": "record_decision and supersede_decision answer {status, message, decision_id}.",
            "searched": "search_decisions answers {status, message, results: [{id, score, status, preview, kind}]}.",
            "accepted": "accept_proposal answers {status, message}.",
        },
    ),
]

MANIFEST: tuple[Requirement, ...] = (*_PUBLISHED, *_TOOLS, *_RULES, *_SEARCH, *_ANSWERS)

DIVERGENCES: tuple[Divergence, ...] = ()
