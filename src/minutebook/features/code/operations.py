"""Operations on indexed code: find in it, list its projects, forget one."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from minutebook.ask.operation import check_range, is_at_keyboard, operation
from minutebook.record.caller import Caller
from minutebook.record.records import CodeChunk, Project

if TYPE_CHECKING:
    from minutebook.app import App


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk of code that answers a question, its score, and its relevance in [0, 1]."""

    chunk: CodeChunk
    score: float
    relevance: float


@operation("knowledge")
def search_code(
    app: "App",
    caller: Caller,
    query: str,
    limit: int,
    project: str | None = None,
    language: str | None = None,
) -> list[FoundChunk]:
    """Find code by its purpose or its name."""
    from minutebook.features.code.search import CodeSearch

    check_range("limit", limit, 50)
    found = app.get(CodeSearch).search(caller, query, limit, project=project, language=language)
    return [FoundChunk(each.chunk, each.score, each.relevance) for each in found]


@dataclass(frozen=True, slots=True)
class IndexedProject:
    """A project, how many chunks it has, and which part of it is indexed, in [0, 1]."""

    project: Project
    chunks: int
    part: float


@operation("knowledge")
def projects(app: "App", caller: Caller) -> list[IndexedProject]:
    """List the projects that are indexed; where they lie is for people at this machine."""
    from minutebook.features.code.projects import Projects

    found = [
        app.get(Projects).progress(caller, each.id) for each in app.get(Projects).indexed(caller)
    ]
    return [
        IndexedProject(
            each.project if is_at_keyboard(caller) else replace(each.project, path=""),
            each.chunks,
            each.part,
        )
        for each in found
    ]


@operation("knowledge", writes=True)
def delete_project(app: "App", caller: Caller, id: str) -> int:
    """Forget a project and its chunks; return how many chunks."""
    from minutebook.features.code.projects import Projects

    return app.get(Projects).delete(caller, id)


OPERATIONS = (search_code, projects, delete_project)
