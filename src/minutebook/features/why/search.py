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
"""How many each of the vector and the lexical signal proposes, and how many of the best are compared token by token."""


WEIGHTS: Mapping[Signal, float] = {Signal.VECTOR: 0.85, Signal.LEXICAL: 0.15}
"""The weights of the signals: among lines of code the lexical one says little."""


class CommitSearch:
    """Ranks the commits of the projects that the caller may see."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._store = app.infrastructure.records
        self._signals = Retriever(self._store, app.embeddings)

    def about_file(self, caller: Caller, query: str, root: str, path: str) -> list[str]:
        """Return the whole ids of the commits to a file, of the projects in the folder `root`, that are about a query, best first."""
        from minutebook.features.why.following import Histories

        views = []
        for view in self._store.seen_by(caller):
            projects = view.narrowed(path=root).find(Project)
            self._app.get(Histories).catch_up_all(projects, caller.call.patience)
            for project in projects:
                commits = view.narrowed(project=project.id)
                touched = commits.values(ProjectCommit, ("id", "files"))
                ids = frozenset(
                    id for id, files in touched if any(is_like(path, each) for each in files)
                )
                views.append(commits.where(ids=ids))
        found = self.best(caller, views, query, COMPARED)
        return [each.record.sha for each in found if isinstance(each.record, ProjectCommit)]

    def best(self, caller: Caller, views: Sequence[View], query: str, limit: int) -> list[Ranked]:
        """Rank the commits of some views."""
        views = [view for view in views if view.read_ids(ProjectCommit, (), 1)]
        if not views:
            return []
        asked = self._signals.ask(query, caller, ProjectCommit)
        is_asked_for = asks_for_commits(query)
        found = self._signals.empty(asked.embedding)
        for view in views:
            own = self._signals.propose(ProjectCommit, view, asked, CANDIDATES)
            own.keep(own.best(COMPARED))
            self._signals.complete(ProjectCommit, view, asked, own)
            if own.vector is not None:
                # Without a vector, a commit that shares a word with the question may be about anything.
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
