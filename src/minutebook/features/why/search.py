"""Find commits: by meaning and by words, in the histories of projects."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from minutebook.domain.caller import Caller
from minutebook.domain.records import Project, ProjectCommit
from minutebook.domain.sources import Source
from minutebook.features.why.commit_texts import asks_for_commits, is_like, says_something, shown
from minutebook.search.fusion import Fused, Signal
from minutebook.services.access.visibility import Records, View
from minutebook.services.embeddings import Embeddings
from minutebook.services.search.combined import Ranked
from minutebook.services.search.recall import Selection
from minutebook.services.search.signals import Retriever

if TYPE_CHECKING:
    from minutebook.features.why.following import Histories
    from minutebook.features.why.places import PlaceReasons

CANDIDATES, COMPARED = 60, 24
"""How many the vector and the lexical signal propose each, and how many of the best are compared token by token."""


WEIGHTS: Mapping[Signal, float] = {Signal.VECTOR: 0.85, Signal.LEXICAL: 0.15}
"""How much each signal says: among lines of code words are a poor judge."""


class CommitSearch:
    """Ranks the commits of the projects that the caller may see (a ListedSource)."""

    source = Source.COMMIT
    is_behind = True

    def __init__(
        self,
        store: Records,
        embeddings: Embeddings,
        histories: "Callable[[], Histories]",
        places: "Callable[[], PlaceReasons]",
    ) -> None:
        self._store = store
        self._places = places
        self._signals = Retriever(store, embeddings)
        self._histories = histories

    def ranked(
        self,
        caller: Caller,
        query: str,
        limit: int,
        weights: Mapping[Signal, float],
        selection: Selection,
        *,
        project: str | None,
        language: str | None,
    ) -> list[Ranked]:
        """Rank commits, of one project and of a time where they are named."""
        seen = self._store.seen_by(caller)
        projects = seen.find(Project)
        if not projects:
            return []
        # The model is there from here on, so that new commits get their vectors.
        self._signals.ask(query, caller, ProjectCommit)
        self._histories().catch_up_all(projects, caller.call.patience)
        if project is not None:
            seen = seen.narrowed(project=project)
        seen = seen.where(since=selection.query.since, until=selection.query.until)
        views, scope = list(seen), caller.folder_scope
        own = {each.id for each in projects}
        if project is None and scope is not None and scope.shown:
            root = None if caller.call.work_tree is None else caller.call.work_tree.root
            own = {e.id for e in projects if e.repository in scope.shown or e.path == root}
            views = [view.narrowed(project=each) for view in views for each in sorted(own)]
        best = self._best(caller, views, query, COMPARED)
        found: dict[object, Ranked] = {}
        for each in (*self._places().reasons(caller, query), *best):
            record = each.record
            if not selection.is_timely(record):
                continue
            if not isinstance(record, ProjectCommit):
                found.setdefault(record.key, each)
            elif record.project in own and says_something(record, query):
                found.setdefault(record.sha, each)
        return list(found.values())[:limit]

    def among(self, caller: Caller, query: str, root: str, path: str) -> list[str]:
        """Return which commits to a file, of the projects in a folder, are about a query, best first; by their whole ids."""
        views = []
        for view in self._store.seen_by(caller):
            projects = view.narrowed(path=root).find(Project)
            self._histories().catch_up_all(projects, caller.call.patience)
            for project in projects:
                its = view.narrowed(project=project.id)
                touched = its.values(ProjectCommit, ("id", "files"))
                ids = frozenset(
                    id for id, files in touched if any(is_like(path, each) for each in files)
                )
                views.append(its.where(ids=ids))
        found = self._best(caller, views, query, COMPARED)
        return [each.record.sha for each in found if isinstance(each.record, ProjectCommit)]

    def _best(self, caller: Caller, views: Sequence[View], query: str, limit: int) -> list[Ranked]:
        """Rank the commits of some views."""
        views = [view for view in views if view.read_ids(ProjectCommit, (), 1)]
        if not views:
            return []
        asked = self._signals.ask(query, caller, ProjectCommit)
        is_asked_for = asks_for_commits(query)
        found = self._signals.nothing(asked.embedding)
        for view in views:
            own = self._signals.propose(ProjectCommit, view, asked, CANDIDATES)
            own.keep(own.best(COMPARED))
            self._signals.complete(ProjectCommit, view, asked, own)
            if own.vector is not None:
                # What has no vector yet may be about anything that shares a word with it.
                own.keep(own.vector)
            found.add(own)
        judged = found.judged(query, self._signals.count(ProjectCommit, views))
        fused = Fused(found.found(), WEIGHTS, found.strengths())
        keys = fused.best(limit)
        read = self._signals.read(ProjectCommit, views, keys)
        return [
            Ranked(
                read[hit.id],
                shown(read[hit.id]),
                hit.score,
                hit,
                judged.relevance(hit.id),
                found.details(hit.id),
                is_asked_for=is_asked_for,
            )
            for hit in fused.hits(keys)
            if hit.id in read
        ]
