"""Recalls: which records each question got, by session, client and memory."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.errors import NotFound
from minutebook.domain.records import Kind, Memory, Record
from minutebook.features.pages.frame.catalogue import later
from minutebook.features.pages.frame.page import WHAT_HAPPENS, MenuEntry, Page, Pages, View, Visit
from minutebook.features.pages.views.find import offset
from minutebook.features.pages.views.sessions import address as session_address
from minutebook.features.recall_log.services import RecallLogServices

LISTED = 20
"""Questions on a page."""

LAST = 20_000
"""How far back pages lead."""

SESSIONS = 30
"""Sessions to choose from: the latest."""

CHOICES = ("session", "client", "memory")
"""What the address may name."""


def show(visit: Visit) -> Page:
    """Show questions and their hits: of a session, a client, about a memory, or the latest.

    Raises NotFound if the caller may not see the memory.
    """
    app, caller, at = visit.app, visit.caller, min(offset(visit.query), LAST)
    given = {name: value for name in CHOICES if (value := visit.query.get(name, "").strip())}
    session, client, id = (given.get(name) for name in CHOICES)
    memory = None if id is None else _memory(visit, id)
    names = None if session is None else app.sessions.connections(caller, session)
    found = app.get(RecallLogServices).recalls.entries(
        caller, sessions=names, client=client, record=memory, limit=LISTED + 1, offset=at
    )
    facts: dict[str, Any] = {
        "mode": app.get(RecallLogServices).recalls.mode,
        "reads_all": app.get(RecallLogServices).recalls.may_read_all(caller),
        "given": given,
        "memory": memory,
        "journal": session if session is not None and app.sessions.all(caller, session) else None,
        "recalls": found[:LISTED],
        "has_more": len(found) > LISTED,
        "offset": at,
        "size": LISTED,
        "sessions": app.get(RecallLogServices).recalls.sessions(caller, SESSIONS),
        "address": address,
        "page_of": page_of,
        "session_address": session_address,
    }
    return Page("recall_log/recalls.html", facts)


VIEWS: dict[tuple[str, str], tuple[str, View]] = {("GET", "/recalls"): ("recalls", show)}


def address(given: Mapping[str, str], first: int = 0) -> str:
    """Return the address of the list of questions, from one on."""
    parts = {**given, **({"from": str(first)} if first else {})}
    return "/recalls" + (f"?{urlencode(parts)}" if parts else "")


def page_of(record: Record) -> str | None:
    """Return the address of a record's page; None if it has none."""
    held: Any = record
    match record.kind:
        case Kind.MEMORY:
            return f"/memories/{record.id}"
        case Kind.DECISION | Kind.PROPOSAL:
            return f"/decisions/{record.id}"
        case Kind.TURN | Kind.SUMMARY:
            return session_address(held.session)
        case _:
            return None


def _memory(visit: Visit, id: str) -> Memory:
    memory = visit.app.memories.read_any(visit.caller, id)
    if memory.deleted_at is not None:
        raise NotFound(Kind.MEMORY, id)
    return memory


def recalls_of(app: App, caller: Caller, memory: Memory) -> Mapping[str, Any]:
    """Return how often a memory was recalled, and by whom."""
    recalls = app.get(RecallLogServices).recalls
    return {"uses": recalls.uses(caller, memory), "is_logged": recalls.mode != "off"}


PAGES = Pages(
    views=(VIEWS,),
    menu=(
        MenuEntry(
            85,
            "/recalls",
            later("Questions"),
            WHAT_HAPPENS,
            later("What agents asked, and what they were told."),
        ),
    ),
)
