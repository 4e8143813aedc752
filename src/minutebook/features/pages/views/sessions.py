"""Sessions: prompts, thoughts and answers, in order, with their summary and a search inside."""

from typing import Any
from urllib.parse import urlencode

from minutebook.domain.errors import NotFound
from minutebook.domain.records import SCORES
from minutebook.features.pages.explained import EXCERPT
from minutebook.features.pages.frame.page import Page, View, Visit
from minutebook.features.pages.frame.register import parts
from minutebook.features.pages.views.find import offset
from minutebook.search.excerpt import excerpt, sought_terms

LISTED = 20
"""Sessions on a page of the list."""

TURNS = 20
"""Turns on a page of a session."""

FOUND = 10
"""Turns that a search inside a session shows."""


def listed(visit: Visit) -> Page:
    """List sessions, the one written last first, with their titles."""
    at = offset(visit.query)
    page = visit.app.sessions.overview(visit.caller, LISTED, at)
    rows = [(each, visit.app.summaries.of(each)) for each in page.sessions]
    facts = {"rows": rows, "total": page.total, "offset": at, "address": address}
    return Page("sessions.html", facts)


def show(visit: Visit) -> Page:
    """Show a session: its summaries, a page of its turns, or the hits of a search inside it.

    Raises NotFound if there is no session of that name.
    """
    app, caller, name = visit.app, visit.caller, visit.query.get("name", "")
    sessions = app.sessions.all(caller, name)
    if not sessions:
        raise NotFound("session", name)
    at, question = offset(visit.query), visit.query.get("q", "").strip()
    facts: dict[str, Any] = {
        "name": name,
        "sessions": sessions,
        "summaries": [each for one in sessions if (each := app.summaries.of(one)) is not None],
        "scores": SCORES,
        "question": question,
        "found": None,
        "page": None,
        "offset": at,
        "size": TURNS,
        "address": address,
        "links": parts("session.links", visit),
    }
    if question:
        terms = sought_terms(question)
        found = app.journal_search.turns(caller, question, FOUND, name)
        facts["found"] = [
            (each.record, excerpt(each.record.text, terms, EXCERPT))
            for each in sorted(found, key=lambda each: -each.score)
        ]
    else:
        facts["page"] = app.sessions.page(caller, name, TURNS, at)
    return Page("session.html", facts)


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/sessions"): ("sessions", listed),
    ("GET", "/session"): ("session", show),
}


def address(name: str, first: int = 0, question: str = "") -> str:
    """Return the address of a session, from a turn on, or of a search inside it."""
    parts = {"name": name, "from": first or "", "q": question}
    return "/session?" + urlencode({key: value for key, value in parts.items() if value != ""})
