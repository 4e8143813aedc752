"""Composes the services of projects."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from minutebook.app import App, FeatureServices
from minutebook.composing import service
from minutebook.domain.caller import Caller
from minutebook.domain.records import Kind, Project
from minutebook.domain.rights.roots import Roots
from minutebook.feature import loaded
from minutebook.features.code.settings import CodeSettings
from minutebook.services.jobs import Job
from minutebook.services.reset import Reset

if TYPE_CHECKING:
    from minutebook.features.code.projects import Projects
    from minutebook.features.code.reading import CodeReading
    from minutebook.features.code.search import CodeSearch
    from minutebook.features.code.watching import Watching
    from minutebook.services.search.combined import ListedSource


class CodeServices(FeatureServices):
    """Projects: indexed, read and watched."""

    @service
    def projects(self) -> "Projects":
        """Index code."""
        from minutebook.features.code.projects import Projects

        roots = Roots(self.settings.of(CodeSettings).index_roots, self.app.home)

        def read(project: Project) -> None:
            for reading in loaded("on_index"):
                reading(self.app, project)

        return Projects(self.infrastructure, roots, read)

    @service
    def code_reading(self) -> "CodeReading":
        """Read the index of code."""
        from minutebook.features.code.reading import CodeReading

        return CodeReading(self.infrastructure.records, self.projects)

    @service
    def watching(self) -> "Watching":
        """Index changed files again."""
        from minutebook.features.code.watching import Watching

        return Watching(self.projects, self.infrastructure.locks, self.app.stopping)

    @service
    def code_search(self) -> "CodeSearch":
        """Search code."""
        from minutebook.features.code.search import CodeSearch

        return CodeSearch(self.infrastructure.records, self.app.embeddings)


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that ends, once, the indexing that an earlier process began."""
    projects = app.get(CodeServices).projects
    # A project has its vectors long before the last text has its token states.
    app.embeddings.after_batches.append(projects.settle)
    failing = "cannot go on with what was left half done"
    yield Job("projects", lambda caller: projects.resume(caller.call.progress), failing, every=None)


def listed_source(app: App) -> "ListedSource":
    """Return the code of indexed projects, as a source of answers."""
    return app.get(CodeServices).code_search


def removed(app: App, caller: Caller, organization: str) -> Reset:
    """Forget the projects of an organization that the caller may remove."""
    projects, chunks, left = app.get(CodeServices).projects, 0, 0
    for project in projects.known(caller):
        if project.organization == organization:
            if projects.may_forget(caller, project):
                chunks += projects.forget(caller, project)
            else:
                left += 1
    return Reset(Counter({Kind.CHUNK: chunks}), kept_others=left)
