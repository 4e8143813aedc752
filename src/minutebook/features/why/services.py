"""Composes the history of projects."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from minutebook.app import App, FeatureServices
from minutebook.composing import service
from minutebook.domain.caller import Caller
from minutebook.domain.records import Project
from minutebook.features.code.services import CodeServices
from minutebook.features.why.settings import WhySettings
from minutebook.services.jobs import Job
from minutebook.whereabouts import repository_known

if TYPE_CHECKING:
    from minutebook.features.why.following import Histories
    from minutebook.features.why.places import PlaceReasons
    from minutebook.features.why.search import CommitSearch
    from minutebook.services.search.combined import ListedSource, Ranked


BESIDE = 5
"""Reasons that are told beside code."""


class WhyServices(FeatureServices):
    """The commits of projects, and the reasons in them."""

    @service
    def histories(self) -> "Histories":
        """Keep commits in step with Git."""
        from minutebook.features.why.following import Histories

        return Histories(
            self.infrastructure,
            self.app.get(CodeServices).projects,
            self.settings.of(WhySettings).index_history,
            repository_known(self.settings),
            reads_only=self.settings.read_only,
        )

    @service
    def place_reasons(self) -> "PlaceReasons":
        """Tell the reasons for a place."""
        from minutebook.features.why.places import PlaceReasons

        projects = self.app.get(CodeServices).projects
        return PlaceReasons(self.app, projects, lambda *asked: self.commit_search.among(*asked))

    @service
    def commit_search(self) -> "CommitSearch":
        """Find commits."""
        from minutebook.features.why.search import CommitSearch

        records, embeddings = self.infrastructure.records, self.app.embeddings
        return CommitSearch(records, embeddings, lambda: self.histories, lambda: self.place_reasons)


def listed_source(app: App) -> "ListedSource":
    """Return the commits of projects, as a source of answers."""
    return app.get(WhyServices).commit_search


def beside_code(app: App, caller: Caller, query: str, project: str | None) -> "Sequence[Ranked]":
    """Return the reasons for the lines and definitions that a question names, of a project where that is named."""
    return app.get(WhyServices).place_reasons.reasons(caller, query, project)[:BESIDE]


def on_index(app: App, project: Project) -> None:
    """Read the history of a project."""
    app.get(WhyServices).histories.catch_up(project, wait=None)


def on_connect(app: App, caller: Caller, folder: str) -> None:
    """Read the history of the folder that an agent works in."""
    app.get(WhyServices).histories.follow(caller, folder)


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that looks for new commits."""

    def look(caller: Caller) -> None:
        for project in app.get(CodeServices).projects.known(caller):
            app.get(WhyServices).histories.catch_up(project, wait=None)

    if app.settings.of(WhySettings).index_history and not app.settings.read_only:
        yield Job("history", look, "cannot look for new commits")
