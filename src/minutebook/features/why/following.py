"""Keep the commits of projects in step with Git."""

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pygit2
from pygit2.enums import SortMode

from minutebook.app import App
from minutebook.config.folders.git_folders import find_git
from minutebook.config.whereabouts import repository_known
from minutebook.features.citations.trees import UNREADABLE
from minutebook.features.code.projects import Projects
from minutebook.features.why.commits import id_of, reachable, record_of, repository_of, tips_of
from minutebook.features.why.settings import WhySettings
from minutebook.memory.access.visibility import everything_in
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import MinutebookError
from minutebook.record.filters import scope_of_writes
from minutebook.record.records import Project, ProjectCommit

log = logging.getLogger(__name__)

BATCH = 128
"""Commits that are written in one transaction."""

AT_ONCE = 16
"""If there are no more new commits, they get their vectors as they are written, else in the background."""

LOOK_EVERY = 0.5
"""Seconds after which a question looks again for new commits of a project."""


class Histories:
    """Reads the commits of branches into the store, and removes those that no branch has any more.

    It writes nothing to Git.
    """

    def __init__(self, app: App) -> None:
        self._store, self._locks = app.infrastructure.store, app.infrastructure.locks
        self._embeddings, self._screening = app.embeddings, app.screening
        self._projects = app.get(Projects)
        self._most = app.settings.of(WhySettings).index_history
        self._repository_of = repository_known(app.settings)
        self._reads_only = app.settings.read_only
        self._guard = threading.Lock()
        # By organization and project: the time of the last look, the tips when all was read, those when the last
        # commits were in the store already, and the thread that reads.
        self._looked: dict[tuple[str, str], float] = {}
        self._read: dict[tuple[str, str], list[pygit2.Oid]] = {}
        self._seen: dict[tuple[str, str], list[pygit2.Oid]] = {}
        self._reading: dict[tuple[str, str], threading.Thread] = {}
        self._followed: set[str] = set()

    def follow(self, caller: Caller, folder: str) -> None:
        """Read the history of the repository around the folder that an agent works in, once for each folder."""
        if not folder or folder in self._followed or not self._most or self._reads_only:
            return
        self._followed.add(folder)
        try:
            found = find_git(Path(folder).resolve(), Path.home())
            if found is not None and not caller.token:
                # Checked here: `register` would enter a refusal on the trail.
                policy.check_may_write_to(caller, "index", scope_of_writes(caller))
                self.catch_up(self._projects.register(caller, str(found.root)), wait=0.0)
        except (MinutebookError, OSError) as error:
            log.info("the history around %s is not read: %s", folder, error)

    def catch_up_all(self, projects: Iterable[Project], wait: float) -> None:
        """Read new commits of projects, and wait at most `wait` seconds for all of them together."""
        end = time.monotonic() + wait
        for each in projects:
            self.catch_up(each, wait=max(0.0, end - time.monotonic()))

    def catch_up(self, project: Project, wait: float | None) -> None:
        """Read a project's new commits in a thread, and wait `wait` seconds for it (None: until it ends).

        It does nothing if it looked less than LOOK_EVERY ago.
        """
        key, now = (project.organization, project.id), time.monotonic()
        with self._guard:
            if not self._most or self._reads_only or now < self._looked.get(key, 0.0) + LOOK_EVERY:
                return
            self._looked[key] = now
            thread = self._reading.get(key)
            if thread is None or not thread.is_alive():
                if not self._differs(project, in_full=wait is None):
                    return
                thread = threading.Thread(
                    target=self._run, args=(project,), name=f"history {project.id}", daemon=True
                )
                self._reading[key] = thread
                thread.start()
        thread.join(wait)

    def _differs(self, project: Project, *, in_full: bool) -> bool:
        """Tell whether the branches of a project have other tips than when they were read.

        If this process has not read them, it tells whether their last commits are missing in the store; `in_full`: True.
        """
        try:
            repository = repository_of(Path(project.path))
            if repository is None:
                return False
            key, tips = (project.organization, project.id), tips_of(repository)
            known = self._read.get(key)
            records = everything_in(self._store, project.organization)
            # A project that was deleted and registered again has no commits, though this process has read them.
            is_empty = not records.narrowed(project=project.id).read_ids(ProjectCommit, (), 1)
            if known is not None or in_full or is_empty:
                return tips != known or (is_empty and bool(tips))
            if self._seen.get(key) == tips:
                return False
            last = {
                id_of(project, each.id)
                for tip in tips
                for each in reachable(repository, [tip], 1, SortMode.NONE)
            }
            if len(records.where(ids=frozenset(last)).read_ids(ProjectCommit)) < len(last):
                return True
            self._seen[key] = tips
            return False
        except UNREADABLE as error:
            log.info("the history of %s cannot be read: %s", project.id, error)
            return False

    def _run(self, project: Project) -> None:
        try:
            self.read(project)
        except (MinutebookError, *UNREADABLE) as error:
            log.info("the history of %s is not read to its end: %s", project.id, error)

    def read(self, project: Project) -> None:
        """Bring the records of a project's commits into step with Git. Raises InvalidRoot, StoreError, one of UNREADABLE."""
        repository = repository_of(self._projects.check_allowed(project, project.path))
        if repository is None or not self._most:
            return
        # `.git` may point to a folder elsewhere.
        self._projects.check_allowed(project, repository.path)
        name = f"history\0{project.organization}\0{project.id}"
        with self._locks.hold(name) as lock:
            if lock is not None:
                self._bring_into_step(project, repository)

    def _bring_into_step(self, project: Project, repository: pygit2.Repository) -> None:
        """Store the new commits of a project's branches, and delete those that no branch has any more."""
        tips = tips_of(repository)
        found = {id_of(project, each.id): each for each in reachable(repository, tips, self._most)}
        records = everything_in(self._store, project.organization).narrowed(project=project.id)
        known = frozenset(records.read_ids(ProjectCommit))
        new = [found[id] for id in found if id not in known]
        own = self._repository_of(project.path)
        for start in range(0, len(new), BATCH):
            batch = [record_of(each, project, own) for each in new[start : start + BATCH]]
            if not self._write(project, batch, with_vectors=len(new) <= AT_ONCE):
                return
        gone = sorted(known - found.keys())
        for start in range(0, len(gone), BATCH):
            with self._store.transaction(project.organization):
                for id in gone[start : start + BATCH]:
                    self._store.delete(ProjectCommit, project.organization, id)
        self._read[project.organization, project.id] = tips
        if len(new) > AT_ONCE:
            self._embeddings.notify()

    def _write(
        self, project: Project, commits: Sequence[ProjectCommit], *, with_vectors: bool
    ) -> bool:
        """Write commits; return False, without writing, if their project was deleted."""
        screened = [self._screening.captured(each) for each in commits]
        embed = self._embeddings.try_embed_passage
        made = [embed(each.passage) if with_vectors else None for each in screened]
        with self._store.transaction(project.organization):
            if self._store.get(Project, project.organization, project.id) is None:
                return False
            for each, embedded in zip(screened, made, strict=True):
                self._store.put(each)
                self._embeddings.put(each, embedded)
        return True
