"""The parts of pages about reasons: of some code, of the code that a memory cites, and the commits of a session."""

from collections.abc import Mapping
from typing import Any

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.records import CodeChunk, Memory, Project, ProjectCommit
from minutebook.features.why.services import WhyServices
from minutebook.features.why.session_requests import NAMING, WrittenCode, requests_of

Values = Mapping[str, Any]


def of_code(app: App, caller: Caller, about: tuple[Project, CodeChunk]) -> Values | None:
    """Return the reasons for a piece of code."""
    project, chunk = about
    place = f"{chunk.path}:{chunk.start_line}-{chunk.end_line}"
    found = app.get(WhyServices).place_reasons.reasons(caller, place, project.id)
    return {"reasons": found} if found else None


def of_memory(app: App, caller: Caller, memory: Memory) -> Values | None:
    """Return the reasons for the places that a memory names."""
    found = app.get(WhyServices).place_reasons.reasons(caller, memory.text)
    others = [each for each in found if each.record.id != memory.id]
    return {"reasons": others} if others else None


def of_session(app: App, caller: Caller, name: str) -> Values | None:
    """Return the commits that turns of a session asked for, or perhaps did, the latest first, each with whether that is certain."""
    records = app.infrastructure.records
    times = [at for each in app.sessions.all(caller, name) for at in (each.first, each.last)]
    commits = [
        commit
        for view in records.seen_by(caller).where(since=min(times), until=max(times) + NAMING)
        for commit in view.find(ProjectCommit, order=("-at",))
    ]
    names = ([path.rpartition("/")[2] for path in each.files] for each in commits)
    written = [
        WrittenCode(each.sha, each.at, tuple(its)) for each, its in zip(commits, names, strict=True)
    ]
    requests = requests_of(records, caller, written)
    made = [
        (commit, request.is_certain)
        for commit, request in zip(commits, requests, strict=True)
        if request is not None and request.session == name
    ]
    return {"commits": made} if made else None
