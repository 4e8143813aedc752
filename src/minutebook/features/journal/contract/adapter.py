"""Wire words to domain words and back, for the `journal` contract, and the admission of calls."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from minutebook import __version__
from minutebook.app import App, now
from minutebook.features.archives.archive_lines import Mode
from minutebook.features.journal.contract.wording import named
from minutebook.memory.intake import Outcome
from minutebook.memory.maintenance.database import Counts, Health, HealthStatus, health_unopened
from minutebook.memory.search.sessions import JournalHit
from minutebook.record.caller import Caller
from minutebook.record.errors import MinutebookError
from minutebook.record.instants import rfc3339
from minutebook.record.records import Category, Kind, Summary, Turn
from minutebook.record.rights.redaction import redacted_for
from minutebook.serve.contracts.contract import Admitted, Operation, Tool, Unopened


@contextmanager
def admit(app: App, caller: Caller, tool: Tool, arguments: Mapping[str, Any]) -> Iterator[Admitted]:
    """Admit a call if its tool needs no store, or its connection has it open. Raises StoreClosed."""
    if tool.promise.get("needsStore", True):
        app.database.check_open(caller)
    yield caller, arguments


Shape = dict[str, Any]

COLLECTIONS = {"memories": Kind.TURN, "summaries": Kind.SUMMARY}
"""The kinds of the journal, by the contract's names."""

STORED_AS = {"memories": "neo-agent-memory", "summaries": "neo-agent-sessions"}
"""The names of their collections in Memory Core."""


def healthcheck(app: App, caller: Caller) -> Shape:
    """Return the health of the store, and its faults."""
    return _health(app.database.health(caller), app.clock())


def healthcheck_unopened(error: MinutebookError) -> Shape:
    """Return the health of a store that could not be opened."""
    return _health(health_unopened(named(error)[1]), now())


def start_database(app: App, caller: Caller) -> Shape:
    """Open the store again."""
    done = app.database.start(caller)
    message = "The store is open." if done else "The store was open already."
    return _process_state(app, caller, "started" if done else "already_running", message)


def stop_database(app: App, caller: Caller) -> Shape:
    """Close the store."""
    done = app.database.stop(caller)
    message = "The store is closed to this connection." if done else "It was closed already."
    message += " start_database opens it again."
    return _process_state(app, caller, "stopped" if done else "not_running", message)


def add_memory(
    app: App, caller: Caller, prompt: str, thought: str, response: str, sessionId: str | None = None
) -> Shape:
    """Append a turn to a session."""
    turn = app.sessions.add(caller, sessionId, prompt, thought, response)
    return {
        "id": turn.id,
        "sessionId": turn.session,
        "timestamp": rfc3339(turn.at),
        "message": f"Memory added to the session {turn.session}.",
    }


def get_session_memories(
    app: App, caller: Caller, sessionId: str, limit: int, offset: int
) -> Shape:
    """Return a session's turns, oldest first."""
    page = app.sessions.page(caller, sessionId, limit, offset)
    return {
        "sessionId": sessionId,
        "count": len(page.turns),
        "total": page.total,
        "memories": [_turn(each) for each in page.turns],
    }


def query_raw_memories(
    app: App, caller: Caller, query: str, nResults: int, sessionId: str | None = None
) -> Shape:
    """Find turns by meaning and by words."""
    hits = app.journal_search.turns(caller, query, nResults, sessionId)
    app.note_answer(caller, "query_raw_memories", query, ((hit.record, hit.score) for hit in hits))
    return _found(query, [_turn(hit.record) | _similarity(hit) for hit in hits])


def get_all_summaries(
    app: App, caller: Caller, limit: int, offset: int, category: str | None = None
) -> Shape:
    """Return the summaries, newest first."""
    page = app.summaries.page(caller, limit, offset, _category(category))
    return {
        "count": len(page.summaries),
        "total": page.total,
        "summaries": [_summary(each) for each in page.summaries],
    }


def delete_all_summaries(app: App, caller: Caller) -> Shape:
    """Delete every summary that the caller may delete."""
    done = app.summaries.delete_all(caller)
    message = f"Deleted {_several(done.deleted, 'summary', 'summaries')}"
    if done.kept:
        message += f"; {done.kept} stay, which an agent may not delete because others wrote them"
    return {"deleted": done.deleted, "message": f"{message}."}


def query_summaries(
    app: App, caller: Caller, query: str, nResults: int, category: str | None = None
) -> Shape:
    """Find summaries by meaning and by words."""
    hits = app.journal_search.summaries(caller, query, nResults, _category(category))
    app.note_answer(caller, "query_summaries", query, ((hit.record, hit.score) for hit in hits))
    return _found(query, [_summary(hit.record) | _similarity(hit) for hit in hits])


def summarize_sessions(app: App, caller: Caller, sessionId: str | None = None) -> Shape:
    """Summarise one session, or all that have no up-to-date summary."""
    if sessionId is None:
        batch = app.summaries.summarize_all(caller)
        done, failed = batch.done, batch.failed
    else:
        done, failed = app.summaries.summarize(caller, sessionId), []
    return {
        "processed": len(done),
        "sessions": [
            {
                "sessionId": each.session,
                "memoryCount": each.turn_count,
                "summaryId": _summary_id(each),
                "title": each.title,
            }
            for each in done
        ],
        "failed": [
            {"sessionId": each.session.name, "reason": named(redacted_for(caller, each.error))[1]}
            for each in failed
        ],
    }


def export_database(app: App, caller: Caller, include: list[str]) -> Shape:
    """Write the turns and summaries that the caller may see to a file."""
    from minutebook.features.archives.archives import Archives

    kinds = {name: kind for name, kind in COLLECTIONS.items() if name in include}
    done = app.get(Archives).export(caller, kinds.values())
    counts = {name: done.counts.get(kind, 0) for name, kind in kinds.items()}
    message = ", ".join(f"{count} {name}" for name, count in counts.items())
    return {"message": f"Exported {message}.", "files": [done.called], "counts": counts}


def import_database(app: App, caller: Caller, file: str, mode: str) -> Shape:
    """Take in the turns and summaries of a file."""
    from minutebook.features.archives.archives import Archives

    done = app.get(Archives).import_(caller, file, Mode(mode))
    imported, skipped = done.imported.total(), done.counts[Outcome.HERE].total()
    removed, kept = done.displaced.total(), done.counts[Outcome.LEFT_OUT].total()
    message = f"Imported {_several(imported, 'record', 'records')}"
    if skipped:
        message += f"; {skipped} were there already and stay as they are"
    if removed:
        message += f"; {removed} made way"
    if kept:
        message += f"; {kept} stay, which are not yours to remove"
    return {"imported": imported, "skipped": skipped, "mode": mode, "message": f"{message}."}


OPERATIONS: Mapping[str, Operation] = {
    "healthcheck": healthcheck,
    "start_database": start_database,
    "stop_database": stop_database,
    "add_memory": add_memory,
    "get_session_memories": get_session_memories,
    "query_raw_memories": query_raw_memories,
    "get_all_summaries": get_all_summaries,
    "delete_all_summaries": delete_all_summaries,
    "query_summaries": query_summaries,
    "summarize_sessions": summarize_sessions,
    "export_database": export_database,
    "import_database": import_database,
}


UNOPENED: Mapping[str, Unopened] = {"healthcheck": healthcheck_unopened}
"""The tools that are answered also if the store could not be opened."""


def _health(health: Health, at: datetime) -> Shape:
    counts = health.counts
    return {
        "status": health.pulse,
        "timestamp": rfc3339(at),
        "database": {
            "process": {
                "running": health.pid is not None,
                "pid": health.pid,
                "managed": True,
                "strategy": "embedded",
            },
            "connection": {"connected": counts is not None, "collections": _collections(counts)},
        },
        "features": {"summarization": health.pulse is not HealthStatus.UNHEALTHY},
        "startup": {
            "summarizationStatus": "not_attempted",
            "summarizationDetails": "Sessions are summarised when summarize_sessions is called.",
        },
        "details": list(health.details),
        "version": __version__,
        "uptime": health.uptime,
    }


def _process_state(app: App, caller: Caller, status: str, detail: str) -> Shape:
    return {"status": status, "pid": app.database.pid(caller), "detail": detail}


def _collections(counts: Counts | None) -> Shape:
    return {
        name: {
            "name": STORED_AS[name],
            "exists": counts is not None,
            "count": 0 if counts is None else counts[kind],
        }
        for name, kind in COLLECTIONS.items()
    }


def _category(name: str | None) -> Category | None:
    return None if name is None else Category(name)


def _found(query: str, results: Sequence[Shape]) -> Shape:
    return {"query": query, "count": len(results), "results": results}


def _similarity(hit: JournalHit[Turn] | JournalHit[Summary]) -> Shape:
    """Return how likely a record is about the question, and its distance if it has a vector."""
    relevance = {"relevance": round(hit.relevance, 2)}
    if hit.distance is None:
        return relevance
    # The rounding error of a cosine may lead beyond the range of a distance.
    clipped = min(2.0, max(0.0, hit.distance))
    return {"distance": clipped, "relevanceScore": 1 / (1 + clipped), **relevance}


def _turn(turn: Turn) -> Shape:
    return {
        "id": turn.id,
        "sessionId": turn.session,
        "timestamp": rfc3339(turn.at),
        "prompt": turn.prompt,
        "thought": turn.thought,
        "response": turn.response,
        "type": "agent-interaction",
    }


def _summary_id(summary: Summary) -> str:
    return f"summary_{summary.session}"


def _summary(summary: Summary) -> Shape:
    return {
        "id": _summary_id(summary),
        "sessionId": summary.session,
        "timestamp": rfc3339(summary.at),
        "title": summary.title,
        "summary": summary.summary,
        "category": summary.category,
        "memoryCount": summary.turn_count,
        "quality": summary.quality,
        "productivity": summary.productivity,
        "impact": summary.impact,
        "complexity": summary.complexity,
        "technologies": list(summary.technologies),
        "madeBy": summary.made_by,
        "reasons": dict(summary.reasons),
    }


def _several(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
