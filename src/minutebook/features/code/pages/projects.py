"""Code: which projects are indexed and how far, a search in them, and the lines around a hit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from minutebook.features.code.pages.source import code_hits, file_address, source_lines
from minutebook.features.code.projects import Projects
from minutebook.features.code.reading import CodeReading, ProjectSummary
from minutebook.features.code.search import CodeSearch
from minutebook.features.pages.frame.page import Page, View, Visit
from minutebook.features.pages.frame.register import parts
from minutebook.features.pages.frame.rendering import environment
from minutebook.features.pages.frame.wording import notes_said
from minutebook.record.errors import InvalidInput

LIMIT = 10
"""Hits that are shown."""

AROUND = 60
"""Lines before and after the one that is asked for; more are shown to complete their chunks."""

FIELDS = ("project", "language", "path")
"""The names of the filters in the address."""


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """The query in an address: the question and the filters that are set."""

    text: str
    fields: Mapping[str, str]

    def address(self, **changes: str) -> str:
        """Return the address of the same search with some of its parts changed."""
        parts = {"q": self.text, **self.fields, **changes}
        parameters = {name: value for name, value in parts.items() if value}
        return f"/code?{urlencode(parameters)}" if parameters else "/code"


def show(visit: Visit) -> Page:
    """Show the hits; without a question the projects and how far each index is.

    Raises NotFound for a project that the caller may not see, InvalidInput for an unknown language.
    """
    app, caller = visit.app, visit.caller
    query = code_query(visit.query)
    facts: dict[str, Any] = {"query": query, "hits": [], "projects": None, "state": ""}
    if query.text:
        found = app.get(CodeSearch).search(
            caller,
            query.text,
            LIMIT,
            project=query.fields.get("project"),
            language=query.fields.get("language"),
            path=query.fields.get("path"),
        )
        facts["hits"] = code_hits(found, query.text)
    known = app.get(Projects).indexed(caller)
    facts["is_empty"] = not known
    if known and not query.text:
        facts["projects"], facts["state"] = projects_part(app.get(CodeReading).projects(caller))
    facts["names"] = _choices([each.id for each in known], query.fields.get("project"))
    languages = app.get(CodeReading).languages(caller)
    facts["languages"] = _choices(languages, query.fields.get("language"))
    facts["notes"] = notes_said(caller.call.notes)
    return Page("code/results.html" if visit.wants_part else "code/code.html", facts)


def file(visit: Visit) -> Page:
    """Show the lines of a file around one. Raises NotFound if the index does not hold it."""
    project, path = visit.query.get("project", ""), visit.query.get("path", "")
    line = _number(visit.query.get("line", "1"))
    lines = visit.app.get(CodeReading).lines(visit.caller, project, path, line, AROUND)
    here = next(each for each in lines.chunks if each.start_line <= line <= each.end_line)
    shown = source_lines(lines.text, here.language)
    facts = {
        "lines": lines,
        "here": here,
        "numbered": list(enumerate(shown, lines.start)),
        "before": file_address(project, path, lines.start - 1) if lines.start > 1 else None,
        "after": file_address(project, path, lines.end + 1) if lines.end < lines.last else None,
        "below": parts("code.below", visit, (lines.project, here)),
        "within": CodeQuery("", {"project": project}).address(),
    }
    return Page("code/file.html", facts)


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/code"): ("code", show),
    ("GET", "/code/file"): ("code file", file),
}


def code_query(parameters: Mapping[str, str]) -> CodeQuery:
    """Read the query in an address."""
    given = {name: parameters.get(name, "").strip() for name in FIELDS}
    return CodeQuery(
        parameters.get("q", "").strip(), {name: value for name, value in given.items() if value}
    )


def projects_part(projects: Sequence[ProjectSummary]) -> tuple[Markup, str]:
    """Return the list of projects as markup, and a digest of the markup."""
    markup = environment().get_template("code/projects.html").render(projects=projects)
    return Markup(markup), sha256(markup.encode()).hexdigest()[:16]  # noqa: S704 - a template's


def _choices(known: list[str], chosen: str | None) -> list[str]:
    """Return the choices of a field: the known values, and the one in the address."""
    return sorted({*known, chosen} if chosen else set(known))


def _number(given: str) -> int:
    if not given.isdecimal() or not int(given[:9]) >= 1:
        raise InvalidInput(
            "line", "must be a number of 1 or more (got {given!r})", given=given[:50]
        )
    return int(given[:9])
