"""The functions of this feature that the core calls: its job, its acts as a project is indexed or a client connects, its parts of pages."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from minutebook.app import App
from minutebook.domain.caller import Caller, FolderScope
from minutebook.domain.records import CodeChunk, Memory, Project, ProjectCommit
from minutebook.domain.sources import Source
from minutebook.features.why.commit_texts import says_something
from minutebook.features.why.session_requests import Request, WrittenCode, requests_of
from minutebook.features.why.settings import WhySettings
from minutebook.operations.memories import in_folder
from minutebook.operations.operation import operation
from minutebook.services.jobs import Job

if TYPE_CHECKING:
    from minutebook.search.fusion import Signal
    from minutebook.services.search.combined import Ranked
    from minutebook.services.search.recall import Selection


@operation("journal")
def requests_before(
    app: "App",
    caller: Caller,
    written: Sequence[WrittenCode],
    folder: FolderScope | None = None,
) -> list[Request | None]:
    """Return for each commit, the latest first, the request that led to it."""
    return requests_of(app.infrastructure.records, in_folder(caller, folder), written)


@operation("knowledge")
def commits_about(app: "App", caller: Caller, question: str, root: str, path: str) -> list[str]:
    """Return which commits to a file of the project in a folder are about a question, best first; none if it is not indexed."""
    from minutebook.features.why.search import CommitSearch

    return app.get(CommitSearch).among(caller, question, root, path)


OPERATIONS = (requests_before, commits_about)


Values = Mapping[str, Any]

BESIDE = 5
"""Reasons that are told beside code."""


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
    """Return the commits that turns of a session asked for, or perhaps did, the latest first, each with whether that is certain."""
    from minutebook.features.why.session_requests import NAMING, WrittenCode, requests_of

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
    """Return the reasons for the lines and definitions that a question names, of a project where that is named."""
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


class CommitSource:
    """Ranks commits, and before them the reasons for the place that a question names (a ListedSource)."""

    source = Source.COMMIT
    is_behind = True

    def __init__(self, app: App) -> None:
        self._app = app

    def ranked(
        self,
        caller: Caller,
        query: str,
        limit: int,
        weights: "Mapping[Signal, float]",
        selection: "Selection",
        *,
        project: str | None,
        language: str | None,
    ) -> "list[Ranked]":
        """Rank commits, of one project and of a time where they are named."""
        seen = self._app.infrastructure.records.seen_by(caller)
        projects = seen.find(Project)
        if not projects:
            return []
        from minutebook.features.why.following import Histories
        from minutebook.features.why.places import PlaceReasons
        from minutebook.features.why.search import COMPARED, CommitSearch

        # The model is there from here on, so that new commits get their vectors.
        self._app.embeddings.embed_query(query, caller.call.progress)
        self._app.get(Histories).catch_up_all(projects, caller.call.patience)
        if project is not None:
            seen = seen.narrowed(project=project)
        seen = seen.where(since=selection.query.since, until=selection.query.until)
        views, scope = list(seen), caller.folder_scope
        own = {each.id for each in projects}
        if project is None and scope is not None and scope.shown:
            root = None if caller.call.work_tree is None else caller.call.work_tree.root
            own = {e.id for e in projects if e.repository in scope.shown or e.path == root}
            views = [view.narrowed(project=each) for view in views for each in sorted(own)]
        best = self._app.get(CommitSearch).best(caller, views, query, COMPARED)
        found: dict[object, Ranked] = {}
        for each in (*self._app.get(PlaceReasons).reasons(caller, query), *best):
            record = each.record
            if not selection.is_timely(record):
                continue
            if not isinstance(record, ProjectCommit):
                found.setdefault(record.key, each)
            elif record.project in own and says_something(record, query):
                found.setdefault(record.sha, each)
        return list(found.values())[:limit]
