"""The commits of projects as a source of answers."""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from minutebook.app import App
from minutebook.features.why.commit_texts import says_something
from minutebook.record.caller import Caller
from minutebook.record.records import Project, ProjectCommit
from minutebook.record.sources import Source

if TYPE_CHECKING:
    from minutebook.memory.search.combined import Ranked
    from minutebook.memory.search.recall import Selection
    from minutebook.text.fusion import Signal


class CommitSource:
    """Ranks commits, and before them the reasons for the place that a question names (a ListedSource)."""

    source = Source.COMMIT
    ranks_last = True

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
        """Rank commits, only those of a project or a time if the question names one."""
        seen = self._app.infrastructure.records.seen_by(caller)
        projects = seen.find(Project)
        if not projects:
            return []
        from minutebook.features.why.following import Histories
        from minutebook.features.why.places import PlaceReasons
        from minutebook.features.why.search import COMPARED, CommitSearch

        # Load the model first, so that new commits get their vectors at once.
        self._app.embeddings.embed_query(query, caller.call.progress)
        self._app.get(Histories).catch_up_all(projects, caller.call.patience)
        if project is not None:
            seen = seen.narrowed(project=project)
        seen = seen.where(since=selection.query.since, until=selection.query.until)
        views, scope = list(seen), caller.folder_scope
        own = {each.id for each in projects}
        if project is None and scope is not None and scope.shown:
            root = None if caller.call.work_tree is None else caller.call.work_tree.root
            own = {
                each.id for each in projects if each.repository in scope.shown or each.path == root
            }
            views = [view.narrowed(project=each) for view in views for each in sorted(own)]
        best = self._app.get(CommitSearch).best(caller, views, query, COMPARED)
        reasons = self._app.get(PlaceReasons).reasons(caller, query)
        timely = (each for each in (*reasons, *best) if selection.is_timely(each.record))
        return _without_repeats(timely, own, query)[:limit]


def _without_repeats(
    ranked: "Iterable[Ranked]", own: Collection[str], query: str
) -> "list[Ranked]":
    """Return each record once; commits only of the projects with the ids `own`, and only if their message says enough."""
    found: dict[object, Ranked] = {}
    for each in ranked:
        record = each.record
        if not isinstance(record, ProjectCommit):
            found.setdefault(record.key, each)
        elif record.project in own and says_something(record, query):
            found.setdefault(record.sha, each)
    return list(found.values())
