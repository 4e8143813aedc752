"""The pages of code, as the feature registers them."""

from collections.abc import Mapping, Sequence
from typing import Any

from minutebook.app import App
from minutebook.features.code.pages import projects
from minutebook.features.code.pages.live import LiveProjects
from minutebook.features.code.pages.source import CodeHit, code_hits
from minutebook.features.code.projects import Projects
from minutebook.features.code.search import CodeSearch
from minutebook.features.pages.frame.catalogue import later
from minutebook.features.pages.frame.host import Host
from minutebook.features.pages.frame.page import (
    LOOK_CLOSER,
    Events,
    FindKind,
    MenuEntry,
    Pages,
    Visit,
)
from minutebook.record.caller import Caller

BESIDE = 3
"""Pieces of code that *Find* shows below the ranking."""

LINES = 6
"""Lines of a piece of code that *Find* shows."""


def _live(host: Host) -> Events:
    return LiveProjects(host).begin


def _search(visit: Visit, text: str, limit: int) -> Sequence[CodeHit]:
    found = visit.app.get(CodeSearch).search(visit.caller, text, limit)
    return code_hits(found, text, LINES)


def projects_of(app: App, caller: Caller, about: object) -> Mapping[str, Any] | None:
    """Return the projects that the caller sees."""
    found = app.get(Projects).indexed(caller)
    return {"projects": found} if found else None


PAGES = Pages(
    views=(projects.VIEWS,),
    menu=(
        MenuEntry(
            50,
            "/code",
            later("Code"),
            LOOK_CLOSER,
            later("The code of your projects, found by what it does and what it is called."),
        ),
    ),
    streams={"/code/live": _live},
    kinds=(FindKind(40, "code", later("Code"), _search, "code/found.html", BESIDE),),
)
