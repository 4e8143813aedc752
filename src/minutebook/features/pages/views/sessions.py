"""The pages of sessions: turns in order, with summaries, and a search in a session."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from minutebook.app import App
from minutebook.features.pages.explained import EXCERPT
from minutebook.features.pages.frame.page import Page, View, Visit
from minutebook.features.pages.frame.register import parts
from minutebook.features.pages.views.find import offset
from minutebook.record.caller import Caller
from minutebook.record.errors import NotFound
from minutebook.record.records import Summary, Turn
from minutebook.record.writing.turns import Session
from minutebook.text.excerpt import excerpt, sought_terms

LISTED = 20
"""Sessions on a page of the list."""

TITLE = 160
"""Characters of the first prompt in place of a title."""

TURNS = 20
"""Turns on a page of a session."""

FOUND = 10
"""Hits of a search in a session."""

_STEP = re.compile(r"^(\[[^]\n]+\]|→) ", re.MULTILINE)
"""The use of a tool, or its result, in the thought of a turn, as captures and importers write it."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session in the list, with its summary and its first turn."""

    session: Session
    summary: Summary | None
    first: Turn

    @property
    def title(self) -> str:
        """The title of its summary, else its first prompt."""
        return self.first.prompt[:TITLE] if self.summary is None else self.summary.title


def listed(visit: Visit) -> Page:
    """List the sessions of one project or of all, the one with the latest turn first."""
    at, project = offset(visit.query), visit.query.get("project")
    found = visit.app.sessions.all(visit.caller)
    chosen = [each for each in found if project in (None, each.repository or "")]
    facts = {
        "rows": list(rows(visit.app, visit.caller, chosen[at : at + LISTED])),
        "total": len(chosen),
        "offset": at,
        "project": project,
        "projects": Counter(each.repository or "" for each in found),
        "address": address,
        "list_address": list_address,
    }
    return Page("sessions.html", facts)


def rows(app: App, caller: Caller, sessions: Iterable[Session]) -> Iterator[SessionRow]:
    """Yield the row of each session that was not removed meanwhile."""
    for each in sessions:
        for first in app.sessions.turns(caller, each).find(Turn, order=["at"], limit=1):
            yield SessionRow(each, app.summaries.summary_of(each), first)


def show(visit: Visit) -> Page:
    """Show a session: its summaries, and a page of its turns or the hits of a search in it.

    Raises NotFound if there is no session of that name.
    """
    app, caller, name = visit.app, visit.caller, visit.query.get("name", "")
    found_rows = list(rows(app, caller, app.sessions.all(caller, name)))
    if not found_rows:
        raise NotFound("session", name)
    at, question = offset(visit.query), visit.query.get("q", "").strip()
    facts: dict[str, Any] = {
        "name": name,
        "rows": found_rows,
        "has_steps": _STEP.search,
        "question": question,
        "found": None,
        "page": None,
        "offset": at,
        "size": TURNS,
        "address": address,
        "links": parts("session.links", visit, name),
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


def list_address(project: str | None, first: int = 0) -> str:
    """Return the address of the list of a project's sessions, or with None of all, from the index `first` on."""
    parts = {} if project is None else {"project": project}
    return "/sessions?" + urlencode(parts | ({"from": str(first)} if first else {}))


def address(name: str, first: int = 0, question: str = "") -> str:
    """Return the address of a session from the turn `first` on, or of a search in it."""
    parts = {"name": name, "from": first or "", "q": question}
    return "/session?" + urlencode({key: value for key, value in parts.items() if value != ""})
