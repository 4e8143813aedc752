"""Every act of a walk by its name, with how often it comes."""

from minutebook.record.records import Turn
from tests.faults.isolation.acts import (
    TYPES,
    Act,
    accept,
    completion,
    decide,
    decision,
    decisions_index,
    entity,
    everything_of_catalog,
    export,
    found_by_word,
    governed,
    imported,
    index,
    linked,
    list_memories,
    listing,
    marked,
    memory_resource,
    on_memory,
    place,
    project,
    projects,
    put,
    related,
    relation,
    reset,
    searched,
    session,
    status,
    summaries,
    summarize,
    supersede,
    superseded,
    turn,
    typed,
    typed_on,
    write,
)
from tests.faults.isolation.house import ANA, BEN, ONE, TWO

ACTS: dict[str, tuple[int, Act]] = {
    "store_memory": (3, write),
    "remember": (2, put),
    "get_memory": (3, on_memory("knowledge", "get_memory", "see", lambda h, m: {"id": m.id})),
    "read_memory": (
        2,
        on_memory("knowledge", "/operations/read_memory", "see", lambda h, m: {"id": m.id}),
    ),
    "update_memory": (
        3,
        on_memory(
            "knowledge", "update_memory", "change", lambda h, m: {"id": m.id, "content": h.words()}
        ),
    ),
    "change_memory": (
        2,
        on_memory(
            "knowledge",
            "/operations/change_memory",
            "change",
            lambda h, m: {"id": m.id, "title": f"Title {h.canary()}"},
        ),
    ),
    "delete_memory": (
        2,
        on_memory("knowledge", "delete_memory", "delete", lambda h, m: {"id": m.id}),
    ),
    "invalidate": (
        2,
        on_memory(
            "knowledge", "invalidate", "change", lambda h, m: {"id": m.id, "reason": h.words()}
        ),
    ),
    "invalidate in favour": (1, superseded),
    "list_memories": (1, list_memories),
    "get_status": (1, status),
    "search": (1, searched("knowledge", "search", lambda h: {"query": h.query(), "limit": 50})),
    "search_text": (2, found_by_word),
    "recall": (
        2,
        searched("knowledge", "recall", lambda h: {"query": h.query(), "include_code": True}),
    ),
    "search_memory": (
        1,
        searched("knowledge", "search_memory", lambda h: {"query": h.query(), "mode": "bm25"}),
    ),
    "get_valid": (1, searched("knowledge", "get_valid", lambda h: {"limit": 100})),
    "get_valid_at": (
        1,
        searched(
            "knowledge",
            "get_valid_at",
            lambda h: {"timestamp": "2026-01-06T12:01:00Z", "user_id": h.chance.choice((ANA, BEN))},
        ),
    ),
    "create_entity": (2, entity),
    "create_relation": (2, relation),
    "get_related": (2, related),
    "find_entities": (
        1,
        searched(
            "knowledge",
            "/operations/find_entities",
            lambda h: {"name": "Thing", "limit": 20, "offset": 0},
        ),
    ),
    "search by program": (
        1,
        searched("knowledge", "/operations/search", lambda h: {"query": h.query(), "limit": 20}),
    ),
    "list by program": (
        1,
        searched(
            "knowledge",
            "/operations/list_memories",
            lambda h: {"where": {}, "limit": 100, "offset": 0},
        ),
    ),
    "decisions by program": (
        1,
        searched(
            "ledger",
            "/operations/search_decisions",
            lambda h: {"query": h.query(), "limit": 20, "mode": "audit"},
        ),
    ),
    "turns by program": (
        1,
        searched(
            "journal", "/operations/search_turns", lambda h: {"query": h.query(), "limit": 20}
        ),
    ),
    "summaries by program": (
        1,
        searched(
            "journal", "/operations/search_summaries", lambda h: {"query": h.query(), "limit": 20}
        ),
    ),
    "detect_communities": (1, searched("knowledge", "detect_communities", lambda h: {})),
    "search_code": (1, searched("knowledge", "search_code", lambda h: {"query": "brew door"})),
    "project": (1, project),
    "list_projects": (1, projects),
    "memory-write": (3, place),
    "memory-update": (
        2,
        on_memory(
            "catalog",
            "memory-update",
            "change",
            lambda h, m: {"id": m.uuid, "current_content": h.words()},
        ),
    ),
    "memory-update unlock": (
        1,
        on_memory(
            "catalog", "memory-update", "unlock", lambda h, m: {"id": m.uuid, "status": "active"}
        ),
    ),
    "memory-delete": (
        1,
        on_memory("catalog", "memory-delete", "change", lambda h, m: {"id": m.uuid}),
    ),
    "memory-search all": (1, everything_of_catalog),
    "memory-search": (
        1,
        searched(
            "catalog",
            "memory-search",
            lambda h: {"query": h.query(), "filters": {"repository": h.chance.choice((ONE, TWO))}},
        ),
    ),
    "memory-vector-search": (
        1,
        searched(
            "catalog", "memory-vector-search", lambda h: {"query": h.query(), "threshold": -1}
        ),
    ),
    "link": (2, linked),
    "memory resource": (2, memory_resource),
    "memory index": (1, index),
    "resources list": (1, listing),
    "completion": (1, completion),
    "governance write": (
        2,
        governed(
            "memory-write",
            "free",
            lambda h, m: {"content": h.words(), "type": h.chance.choice(TYPES)},
        ),
    ),
    "governance edit": (
        2,
        governed(
            "memory-write",
            "change",
            lambda h, m: {"memory_id": m.uuid, "content": h.words(), "type": "fact"},
        ),
    ),
    "governance search": (2, governed("memory-search", "free", lambda h, m: {"query": h.query()})),
    "memory.read": (2, governed("memory.read", "see", lambda h, m: {"memory_id": m.uuid})),
    "memory.lock": (1, governed("memory.lock", "lock", lambda h, m: {"memory_id": m.uuid})),
    "memory.deprecate": (
        1,
        governed(
            "memory.deprecate", "change", lambda h, m: {"memory_id": m.uuid, "reason": h.words()}
        ),
    ),
    "decide": (2, decide),
    "supersede": (1, supersede),
    "accept": (1, accept),
    "decision": (1, decision),
    "decisions index": (1, decisions_index),
    "search_decisions": (
        1,
        searched("ledger", "search_decisions", lambda h: {"query": h.query(), "mode": "audit"}),
    ),
    "add_memory": (2, turn),
    "session": (2, session),
    "summarize": (1, summarize),
    "summaries": (1, summaries),
    "query_summaries": (1, searched("journal", "query_summaries", lambda h: {"query": h.query()})),
    "query_raw_memories": (
        1,
        searched("journal", "query_raw_memories", lambda h: {"query": h.query()}),
    ),
    "healthcheck": (1, searched("journal", "healthcheck", lambda h: {})),
    "export": (1, export),
    "import": (1, imported),
    "delete_all_summaries": (1, lambda hand: hand.tool("journal", "delete_all_summaries", {})),
    "reset": (1, reset),
    "start_database": (1, lambda hand: hand.tool("journal", "start_database", {})),
    "command show": (2, typed_on("show", "see", "--json")),
    "command invalidate": (1, typed_on("invalidate", "change", "--reason", "old")),
    "command forget": (1, typed_on("forget", "delete", "--yes")),
    "command mark": (4, marked),
    "command remember": (1, lambda hand: hand.command("remember", hand.words())),
    "command search": (1, lambda hand: hand.command("search", hand.query(), reads=True)),
    "command list": (1, typed("list", "--limit", "100")),
    "command list --alike": (1, typed("list", "--alike")),
    "command decisions": (1, typed("decisions", "--json")),
    "command graph": (1, typed("decisions", "--graph", "dot")),
    "command decisions --proposed": (1, typed("decisions", "--proposed", "--json")),
    "command sessions": (1, typed("sessions")),
    "command audit": (1, typed("audit")),
    "command session": (
        1,
        lambda hand: (
            None
            if (turn := hand.one(Turn)) is None
            else hand.command("sessions", turn.session, reads=True)
        ),
    ),
}
"""Every act by its name, with how often it comes."""

AT_KEYBOARD = tuple(name for name in ACTS if name.startswith("command ") or name == "link")
