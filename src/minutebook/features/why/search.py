"""Find commits: by meaning and by words, in the histories of projects."""

from collections.abc import Mapping, Sequence

from minutebook.app import App
from minutebook.features.why.commit_texts import asks_for_commits, is_like, shown
from minutebook.memory.access.visibility import View
from minutebook.memory.search.combined import Ranked
from minutebook.memory.search.signals import Retriever
from minutebook.record.caller import Caller
from minutebook.record.records import Project, ProjectCommit
from minutebook.text.fusion import Fused, Signal

CANDIDATES, COMPARED = 60, 24
"""How many the vector and the lexical signal propose each, and how many of the best are compared token by token."""


WEIGHTS: Mapping[Signal, float] = {Signal.VECTOR: 0.85, Signal.LEXICAL: 0.15}
"""How much each signal says: among lines of code words are a poor judge."""


class CommitSearch:
    """Ranks the commits of the projects that the caller may see."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._store = app.infrastructure.records
        self._signals = Retriever(self._store, app.embeddings)

    def among(self, caller: Caller, query: str, root: str, path: str) -> list[str]:
        """Return which commits to a file, of the projects in a folder, are about a query, best first; by their whole ids."""
        from minutebook.features.why.following import Histories

        views = []
        for view in self._store.seen_by(caller):
            projects = view.narrowed(path=root).find(Project)
            self._app.get(Histories).catch_up_all(projects, caller.call.patience)
            for project in projects:
                its = view.narrowed(project=project.id)
                touched = its.values(ProjectCommit, ("id", "files"))
                ids = frozenset(
                    id for id, files in touched if any(is_like(path, each) for each in files)
                )
                views.append(its.where(ids=ids))
        found = self.best(caller, views, query, COMPARED)
        return [each.record.sha for each in found if isinstance(each.record, ProjectCommit)]

    def best(self, caller: Caller, views: Sequence[View], query: str, limit: int) -> list[Ranked]:
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
