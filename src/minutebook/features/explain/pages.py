"""Why: a question answered as a caller would get it, and the records left out, with reasons."""

from collections.abc import Mapping
from typing import Any

from minutebook.domain.caller import Caller
from minutebook.domain.errors import InvalidInput
from minutebook.domain.reason import must_be_one_of
from minutebook.domain.records import Role
from minutebook.features.explain.services import ExplainServices
from minutebook.features.pages.frame.catalogue import Later, later, texts_beside
from minutebook.features.pages.frame.page import WHAT_HAPPENS, MenuEntry, Page, Pages, View, Visit
from minutebook.features.pages.frame.register import parts
from minutebook.features.pages.frame.wording import notes_said

LIMIT = 10
"""Hits that are shown: as many as an agent gets that asks for no other number."""

SCOPES = ("organization", "repository", "user")
"""What narrows another caller, as the address names it."""

REASONS: Mapping[str, Later] = texts_beside(__file__)
"""The words for each Absence."""


def show(visit: Visit) -> Page:
    """Show a caller's hits for a question. Raises Forbidden to callers that may not look as another."""
    text = visit.query.get("q", "").strip()
    given = {name: value for name in SCOPES if (value := visit.query.get(name, "").strip())}
    role = visit.query.get("as", "").strip()
    other = _other(visit, role, given)
    facts: dict[str, Any] = {
        "text": text,
        "role": role,
        "roles": tuple(Role),
        "given": given,
        "other": other,
        "is_other": bool(role or given),
        "names_organizations": visit.caller.organization is None,
        "view": None,
        "reasons": REASONS,
        "links": parts("why.links", visit),
    }
    if text:
        facts["view"] = view = visit.app.get(ExplainServices).viewpoints.ask(
            visit.caller, other, text, LIMIT
        )
        facts["notes"] = notes_said(view.notes)
    return Page("explain/why.html", facts)


VIEWS: dict[tuple[str, str], tuple[str, View]] = {("GET", "/why"): ("why", show)}


def _other(visit: Visit, role: str, given: dict[str, str]) -> Caller:
    """Return the caller to look as: the visitor itself, if the address names nobody."""
    if not role and not given:
        return visit.caller
    if role and role not in tuple(Role):
        raise InvalidInput("as", must_be_one_of(Role, role))
    return visit.app.get(ExplainServices).viewpoints.other(
        visit.caller, Role(role or Role.AGENT), **given
    )


PAGES = Pages(
    views=(VIEWS,),
    menu=(
        MenuEntry(
            80,
            "/why",
            later("Why"),
            WHAT_HAPPENS,
            later("Ask as an agent asks, and see why each thing was found or left out."),
        ),
    ),
)
