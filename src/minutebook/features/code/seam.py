"""The functions of this feature that the core calls: its job, and what it removes at a reset."""

from collections import Counter
from collections.abc import Iterable

from minutebook.app import App
from minutebook.memory.jobs import Job
from minutebook.memory.maintenance.overview import Reset
from minutebook.record.caller import Caller
from minutebook.record.records import Kind


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that ends, once, the indexing that an earlier process began."""
    from minutebook.features.code.projects import Projects

    projects = app.get(Projects)
    # A project has its vectors long before the last text has its token states.
    app.embeddings.after_batches.append(projects.settle)
    failing = "cannot go on with what was left half done"
    yield Job("projects", lambda caller: projects.resume(caller.call.progress), failing, every=None)


def removed(app: App, caller: Caller, organization: str) -> Reset:
    """Forget the projects of an organization that the caller may remove."""
    from minutebook.features.code.projects import Projects

    projects, chunks, left = app.get(Projects), 0, 0
    for project in projects.known(caller):
        if project.organization == organization:
            if projects.may_forget(caller, project):
                chunks += projects.forget(caller, project)
            else:
                left += 1
    return Reset(Counter({Kind.CHUNK: chunks}), kept_others=left)
