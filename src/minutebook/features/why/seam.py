"""The functions of this feature that the core calls: its job, its acts as a project is indexed or a client connects, its parts of pages."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minutebook.app import App
from minutebook.features.why.session_requests import NAMING, WrittenCode, requests_of
from minutebook.features.why.settings import WhySettings
from minutebook.memory.jobs import Job
from minutebook.record.caller import Caller
from minutebook.record.records import CodeChunk, Memory, Project, ProjectCommit

if TYPE_CHECKING:
    from minutebook.memory.search.combined import Ranked

Values = Mapping[str, Any]

BESIDE = 5
"""The most reasons that are added to code."""


def of_code(app: App, caller: Caller, about: tuple[Project, CodeChunk]) -> Values | None:
    """Return the reasons for a piece of code."""
    from minutebook.features.why.places import PlaceReasons

    project, chunk = about
    place = f"{chunk.path}:{chunk.start_line}-{chunk.end_line}"
    found = app.get(PlaceReasons).reasons(caller, place, project.id)
    return {"reasons": found} if found else None


def of_memory(app: App, caller: Caller, memory: Memory) -> Values | None:
    """Return the reasons for the places that a memory names."""
    from minutebook.features.why.places import PlaceReasons

    found = app.get(PlaceReasons).reasons(caller, memory.text)
    others = [each for each in found if each.record.id != memory.id]
    return {"reasons": others} if others else None


def of_session(app: App, caller: Caller, name: str) -> Values | None:
    """Return the commits that turns of a session asked for, the latest first, each with whether that is certain."""
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


def beside_code(app: App, caller: Caller, query: str, project: str | None) -> "Sequence[Ranked]":
    """Return the reasons for the lines and definitions that a question names, in a project (None: in any)."""
    from minutebook.features.why.places import PlaceReasons

    return app.get(PlaceReasons).reasons(caller, query, project)[:BESIDE]


def on_index(app: App, project: Project) -> None:
    """Read the history of a project."""
    from minutebook.features.why.following import Histories

    app.get(Histories).catch_up(project, wait=None)


def on_connect(app: App, caller: Caller, folder: str) -> None:
    """Read the history of the folder that an agent works in."""
    from minutebook.features.why.following import Histories

    app.get(Histories).follow(caller, folder)


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that looks for new commits."""

    def look(caller: Caller) -> None:
        from minutebook.features.code.projects import Projects

        for project in app.get(Projects).known(caller):
            on_index(app, project)

    if app.settings.of(WhySettings).index_history and not app.settings.read_only:
        yield Job("history", look, "cannot look for new commits")
