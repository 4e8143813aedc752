"""The tools of the `knowledge` contract about projects of code."""

from collections.abc import Mapping
from itertools import chain
from math import ceil
from typing import Any

from minutebook.app import App
from minutebook.feature import Event
from minutebook.features.code.projects import IndexingProgress, Projects
from minutebook.features.code.search import CodeSearch
from minutebook.features.code.watching import Watching
from minutebook.memory.access.provenance import attribute
from minutebook.record.caller import Caller
from minutebook.record.instants import rfc3339
from minutebook.serve.contracts.contract import Operation
from minutebook.serve.contracts.knowledge import shapes

Shape = dict[str, Any]


def index_project(app: App, caller: Caller, path: str, watch: bool) -> Shape:  # noqa: FBT001
    """Read the changes in a folder of code."""
    indexed = app.get(Projects).index(caller, path)
    project = indexed.progress.project
    if watch:
        app.get(Watching).watch(project)
    shape: Shape = {
        "project_id": project.id,
        "files_indexed": project.indexed_files,
        "chunks_created": indexed.created or 0,
        "skipped": dict(project.skipped),
        "watching": watch,
    }
    return shape | _progress(indexed.progress)


def search_code(
    app: App, caller: Caller, query: str, limit: int, project_id: str | None = None
) -> Shape:
    """Rank chunks of code by meaning and words, with the reasons for lines and definitions in the query."""
    found = app.get(CodeSearch).search(caller, query, limit, project=project_id)
    attribute(caller, (each.chunk for each in found))
    # Other features add the records that give reasons for the code.
    added = chain(*app.tell(Event.CODE_FOUND, caller, query, project_id))
    reasons = app.combined.annotated(caller, list(added))
    answers = (
        *((each.chunk, each.score) for each in found),
        *((each.record, each.score) for each in reasons),
    )
    app.note_answer(caller, "search_code", query, answers)
    results = [
        {
            "id": each.chunk.id,
            "project_id": each.chunk.project,
            "file_path": each.chunk.path,
            "content": each.chunk.content,
            "language": each.chunk.language,
            "start_line": each.chunk.start_line,
            "end_line": each.chunk.end_line,
            "chunk_type": each.chunk.type,
            "name": each.chunk.name or None,
            "score": each.score,
            "relevance": round(each.relevance, 2),
        }
        for each in found
    ]
    answer: Shape = {"results": results, "count": len(results)}
    return answer | ({"reasons": list(map(shapes.hit, reasons))} if reasons else {})


def get_index_status(app: App, caller: Caller, project_id: str) -> Shape:
    """Return the progress of a project's index."""
    progress = app.get(Projects).progress(caller, project_id)
    project = progress.project
    shape: Shape = {
        "project_id": project.id,
        "path": project.path,
        "total_files": project.total_files,
        "indexed_files": project.indexed_files,
        "total_chunks": progress.chunks,
        "started_at": rfc3339(project.started_at),
        "completed_at": None if project.completed_at is None else rfc3339(project.completed_at),
        "skipped": dict(project.skipped),
    }
    return shape | _progress(progress)


def list_projects(app: App, caller: Caller) -> Shape:
    """Return every project."""
    names = [project.id for project in app.get(Projects).indexed(caller)]
    return {"projects": names, "count": len(names)}


def delete_project(app: App, caller: Caller, project_id: str) -> Shape:
    """Forget a project and its chunks."""
    return {"chunks_deleted": app.get(Projects).delete(caller, project_id)}


OPERATIONS: Mapping[str, Operation] = {
    "index_project": index_project,
    "search_code": search_code,
    "get_index_status": get_index_status,
    "list_projects": list_projects,
    "delete_project": delete_project,
}


def _progress(progress: IndexingProgress) -> Shape:
    left = progress.remaining
    shape: Shape = {
        "status": progress.project.state,
        "progress_percent": round(100 * progress.part, 1),
        "eta_seconds": None if left is None else ceil(left.total_seconds()),
        "pending_chunks": progress.pending,
    }
    return shape if progress.project.reason is None else shape | {"reason": progress.project.reason}
