"""Projects: index their folders, report the progress, list them, forget them."""

import hashlib
import logging
import math
import time
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from minutebook.app import App
from minutebook.feature import Event
from minutebook.features.code.chunking.files import check_root, check_root_below
from minutebook.features.code.indexing import BATCH, Indexing, Pace
from minutebook.features.code.settings import CodeSettings
from minutebook.memory.access.visibility import View, everything_in
from minutebook.memory.jobs import Job
from minutebook.memory.maintenance.overview import Reset
from minutebook.record import policy
from minutebook.record.caller import Caller, Progress, without_folder_scope
from minutebook.record.errors import (
    Conflict,
    EmbeddingNotReady,
    InvalidRoot,
    MinutebookError,
    ModelUnavailable,
    NotFound,
    StoreError,
)
from minutebook.record.filters import Filter, default_organization, repository_of, scope_of_writes
from minutebook.record.records import (
    CodeChunk,
    File,
    IndexState,
    Kind,
    Project,
    ProjectCommit,
    Record,
    Role,
)
from minutebook.record.rights.redaction import REASON
from minutebook.record.rights.roots import Roots
from minutebook.store.named_locks import Held

log = logging.getLogger(__name__)

VECTORS_WITHIN = 20.0
"""Seconds that a call waits for the vectors of the chunks that it read; the others are made in the background."""

READING = 0.2
"""The share of reading in the progress; vectors are the rest."""

_LOCK_WAIT = 0.2
_DELETE_WAIT = 30.0
_LOOK_EVERY = 0.1

_LOOK_AT_ALL_EVERY = 3600.0
"""Seconds after which all organizations are searched again for unfinished indices of other processes."""


@dataclass(frozen=True, slots=True)
class IndexingProgress:
    """The progress of a project's index: `part` is in [0, 1], READING of it for reading the files.

    Of the chunks, `pending` have no vectors yet. Without a model `pending` is 0, and `part` is that of reading
    alone. `remaining` is None before there is a rate.
    """

    project: Project
    chunks: int
    pending: int
    part: float
    remaining: timedelta | None


@dataclass(frozen=True, slots=True)
class Indexed:
    """The outcome of a call to index: `created` counts new chunks, None if another run was under way."""

    progress: IndexingProgress
    created: int | None


class Projects:
    """Registers, indexes, lists and deletes projects of code."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._infrastructure = app.infrastructure
        self._store, self._records = app.infrastructure.store, app.infrastructure.records
        self._embeddings, self._trail = app.embeddings, app.trail
        self._locks = app.infrastructure.locks
        self._roots = Roots(app.settings.of(CodeSettings).index_roots, app.home)
        self._clock = app.clock
        self._paces: dict[tuple[str, str, type[File | CodeChunk]], Pace] = {}
        self._indexing: set[str] = set()
        self._looked_at_all = -math.inf

    def index(
        self, caller: Caller, path: str, vectors_within: float | None = VECTORS_WITHIN
    ) -> Indexed:
        """Read the changes in a folder; wait `vectors_within` seconds (None: without end) for the vectors.

        If another run is under way, return its progress. Raises InvalidRoot, Forbidden, Conflict
        if the project is deleted meanwhile, StoreError.
        """
        # The project is that of `path`, not of the folder that the caller works in.
        caller = without_folder_scope(caller)
        project = self.register(caller, path)
        home = project.organization
        with self._locks.hold(_lock_name(home, project.id), _LOCK_WAIT) as lock:
            if lock is None:
                return Indexed(self.progress_of(project), None)
            with self._trail.audited(caller, home, "index", Kind.PROJECT, project.id) as audit:
                audit.check(project)
                project = self._begin(project)
            created = self._run(project, lock, caller.call.progress).created
        self._await_vectors(project, caller.call.progress, vectors_within)
        return Indexed(self.progress_of(project), created)

    def register(self, caller: Caller, path: str) -> Project:
        """Return the project of a folder, one without files yet if it is new. Raises InvalidRoot, Forbidden."""
        home = default_organization(caller)
        with self._trail.audit_refusals(caller, home, "index", Kind.PROJECT, path):
            policy.check_may_write_to(caller, "index", scope_of_writes(caller))
            allowed = self._roots.folders_of(caller)
            policy.check_may_name_folder(caller, roots_named=bool(allowed))
        check = check_root_below if caller.token else check_root
        return self._find_or_register(caller, home, str(check(path, allowed)))

    def check_allowed(self, project: Project, path: str) -> Path:
        """Return the real path of a folder that may be read for a project. Raises InvalidRoot."""
        owner = Caller(
            name=project.author,
            role=Role.AGENT,
            organization=project.organization,
            repositories=None if project.repository is None else frozenset({project.repository}),
        )
        return check_root(path, self._roots.folders_of(owner))

    def refresh(self, organization: str, id: str, progress: Progress) -> int | None:
        """Read the changes in a registered project; return how many files and chunks were put or removed.

        None if another run is under way. Raises as `index`, and NotFound.
        """
        with self._locks.hold(_lock_name(organization, id), _LOCK_WAIT) as lock:
            if lock is None:
                return None
            return self._read_again(self._stored(organization, id), lock, progress)

    def resume(self, progress: Progress) -> None:
        """Continue every run that ended before all files were read."""
        for project in self._unfinished(self._store.organizations()):
            if project.read_at is None:
                try:
                    self._resume(project.organization, project.id, progress)
                except (InvalidRoot, Conflict, NotFound) as error:
                    log.warning("cannot go on indexing %s: %s", project.id, error)

    def _resume(self, organization: str, id: str, progress: Progress) -> None:
        """Index the rest of a project, unless another process does or has done so."""
        with self._locks.hold(_lock_name(organization, id), _LOCK_WAIT) as lock:
            if lock is not None and (project := self._stored(organization, id)).read_at is None:
                self._read_again(project, lock, progress)

    def _read_again(self, project: Project, lock: Held, progress: Progress) -> int:
        self.check_allowed(project, project.path)
        return self._run(self._begin(project), lock, progress).touched

    def _stored(self, organization: str, id: str) -> Project:
        project = self._store.get(Project, organization, id)
        if project is None:
            raise NotFound(Kind.PROJECT, id)
        return project

    def complete_embedded(self) -> None:
        """Note the progress of the vectors of unfinished projects, and complete those that have them all.

        It looks only at organizations with an index under way in this process, but once an hour at all: an index
        that another process left unfinished can wait for so long.
        """
        if time.monotonic() >= self._looked_at_all + _LOOK_AT_ALL_EVERY:
            self._looked_at_all = time.monotonic()
            self._complete_embedded(self._store.organizations())
        else:
            self._complete_embedded(sorted(self._indexing))

    def _complete_embedded(self, organizations: Collection[str]) -> None:
        """Note the progress of some organizations' unfinished projects, and complete those that have all vectors."""
        unfinished = self._unfinished(organizations)
        self._indexing -= set(organizations) - {project.organization for project in unfinished}
        self._indexing |= {project.organization for project in unfinished}
        for project in unfinished:
            if project.read_at is None or self._note_vectors(project):
                continue
            with self._store.transaction(project.organization):
                current = self._store.get(Project, project.organization, project.id)
                if current == project:
                    self._store.put(
                        replace(project, state=IndexState.COMPLETED, completed_at=self._clock())
                    )

    def read(self, caller: Caller, id: str) -> Project:
        """Return a project. Raises NotFound if there is none or the caller may not see it."""
        return self._records.read(caller, Project, id)

    def indexed(self, caller: Caller) -> list[Project]:
        """Return every project that the caller may see and that was ever indexed, by id."""
        return [each for each in self.known(caller) if each.state is not IndexState.PENDING]

    def known(self, caller: Caller) -> list[Project]:
        """Return every project that the caller may see, by id; of some only the history is read, not the files."""
        found = self._records.seen_by(caller).find(Project)
        return sorted(found, key=lambda project: (project.id, project.organization))

    def progress(self, caller: Caller, id: str) -> IndexingProgress:
        """Return the progress of a project's index. Raises NotFound as `read` does."""
        return self.progress_of(self.read(caller, id))

    def progress_of(self, project: Project) -> IndexingProgress:
        """Return the progress of a project's index by now. Raises NotFound if it has been deleted since it was read."""
        self._complete_embedded([project.organization])
        project = self._stored(project.organization, project.id)
        is_read = project.state is not IndexState.INDEXING or project.read_at is not None
        if not is_read and not self._locks.is_held(_lock_name(project.organization, project.id)):
            reason = "it was interrupted; index it again, and it goes on where it was"
            project = replace(project, state=IndexState.FAILED, reason=reason)
        chunks = self._records_of(project).count(CodeChunk)
        pending = self._pending(project)
        read = project.indexed_files / project.total_files if project.total_files else 0.0
        if project.read_at is not None:
            read = 1.0
        part = read
        if self._embeddings.state != "error" and project.state is not IndexState.COMPLETED:
            part *= READING + (1.0 - READING) * (1.0 - pending / max(chunks, 1))
        remaining = None
        if project.state is IndexState.INDEXING:
            remaining = self._remaining(project, read, chunks, pending)
        return IndexingProgress(project, chunks, pending, part, remaining)

    def _remaining(
        self, project: Project, read: float, chunks: int, pending: int
    ) -> timedelta | None:
        """Estimate how long the rest of a run takes; `read` is the part of the files that is read, in [0, 1]."""
        now = self._clock()
        if project.read_at is not None:
            for_vectors = self._pace(project, CodeChunk).remaining(now)
            return self._time_to_embed(pending) if for_vectors is None else for_vectors
        pace = self._pace(project, File)
        pace.note(0.0, project.started_at)
        pace.note(read, now)
        for_files = pace.remaining(now)
        if for_files is None or self._embeddings.state == "error":
            return for_files
        # The files that are left have as many chunks as those that were read.
        for_vectors = self._time_to_embed(pending + round(chunks * (1.0 - read) / read))
        return None if for_vectors is None else for_files + for_vectors

    def _time_to_embed(self, chunks: int) -> timedelta | None:
        seconds = self._embeddings.remaining(chunks)
        return None if seconds is None else timedelta(seconds=seconds)

    def _pace(self, project: Project, cls: type[File | CodeChunk]) -> Pace:
        """Return the pace at which a project's files are read, or its chunks get vectors."""
        return self._paces.setdefault((project.organization, project.id, cls), Pace())

    def _note_vectors(self, project: Project) -> int:
        """Note the progress of a project's vectors for the estimate; return how many chunks have none yet."""
        pending = self._pending(project)
        if pending:
            chunks = max(pending, self._records_of(project).count(CodeChunk))
            self._pace(project, CodeChunk).note(1.0 - pending / chunks, self._clock())
        return pending

    def _pending(self, project: Project) -> int:
        """Count the chunks that will still get vectors; 0 if there is no model."""
        if self._embeddings.state == "error":
            return 0
        return self._embeddings.pending(CodeChunk, self._records_of(project))

    def delete(self, caller: Caller, id: str) -> int:
        """Delete a project with its chunks and files; return the number of chunks.

        It ends a run that is under way. Raises NotFound if there is no such project, Forbidden if the caller
        may not delete it, Conflict if a run does not end.
        """
        return self.forget(caller, self.read(caller, id))

    def may_forget(self, caller: Caller, project: Project) -> bool:
        """Tell whether the caller may delete a project."""
        return policy.may_write_to(caller, project) and policy.may_remove_work_of(
            caller, project.author
        )

    def forget(self, caller: Caller, project: Project) -> int:
        """Delete a project that was read. Raises Conflict and Forbidden as `delete` does."""
        organization, id = project.organization, project.id
        with self._trail.audited(caller, organization, "delete", Kind.PROJECT, id) as audit:
            audit.check(project)
            policy.check_may_remove_work_of(caller, project.author)
            # In this state a run ends at its next batch; if the deletion is cut short, it can be repeated.
            reason = "its deletion was interrupted; delete it again"
            self._store.put(replace(project, state=IndexState.FAILED, reason=reason))
        with self._locks.hold(_lock_name(organization, id), _DELETE_WAIT) as is_held:
            if not is_held:
                raise Conflict(id, "it is being indexed, and that does not end; try again")
            removed = self._remove_all(CodeChunk, project)
            self._remove_all(File, project)
            self._remove_all(ProjectCommit, project)
            self._store.delete(Project, organization, id)
        return removed

    def _begin(self, project: Project) -> Project:
        """Store a project as one that is being indexed from the beginning, and return it."""
        begun = replace(
            project,
            state=IndexState.INDEXING,
            started_at=self._clock(),
            read_at=None,
            completed_at=None,
            indexed_files=0,
            reason=None,
        )
        self._store.put(begun)
        for cls in (File, CodeChunk):
            self._paces.pop((project.organization, project.id, cls), None)
        return begun

    def _run(self, project: Project, lock: Held, progress: Progress) -> Indexing:
        """Read a project's files, under its lock; an error other than Conflict marks the project as failed."""

        def report(part: float, path: str) -> None:
            progress(READING * part, path)

        run = Indexing(self._infrastructure, project, lock, report)
        try:
            read = run.run()
            self._note_vectors(read)
            self._app.tell(Event.INDEX, read)
        except Conflict:
            raise
        except MinutebookError as error:
            log.error("indexing %s failed: %s", project.id, error)
            self._store.put(replace(project, state=IndexState.FAILED, reason=_sentence_of(error)))
            raise
        self._indexing.add(project.organization)
        self._embeddings.notify()
        return run

    def _await_vectors(self, project: Project, progress: Progress, seconds: float | None) -> None:
        """Embed the project's chunks, or wait while another process does, for some seconds (None: without end)."""
        records = self._records_of(project)
        end = math.inf if seconds is None else time.monotonic() + seconds
        while (pending := self._note_vectors(project)) and time.monotonic() < end:
            part = 1.0 - pending / max(pending, records.count(CodeChunk))
            progress(READING + (1.0 - READING) * part, "vectors")
            try:
                embedded = self._embeddings.backfill_batch()
            except EmbeddingNotReady as error:
                if error.state == "error":
                    return
                embedded = 0
            except ModelUnavailable as error:
                log.warning("the vectors of %s come later: %s", project.id, error)
                return
            if not embedded:
                time.sleep(_LOOK_EVERY)

    def _unfinished(self, organizations: Collection[str]) -> list[Project]:
        """Return the projects that are being indexed or wait for vectors."""
        found: list[Project] = []
        for organization in organizations:
            where = Filter(organization=organization, equal={"state": IndexState.INDEXING})
            found += self._store.find(Project, where)
        return found

    def _find_or_register(self, caller: Caller, organization: str, root: str) -> Project:
        """Return the project of a folder; register it if there is none."""
        repository = repository_of(caller)
        where = Filter(
            organization=organization,
            equal={"path": root, "repository": repository, "user": caller.user},
        )
        with self._store.transaction(organization):
            for known in self._store.find(Project, where, limit=1):
                return known
            project = Project(
                organization=organization,
                id=self._free_id(caller, organization, root),
                path=root,
                author=caller.name,
                state=IndexState.PENDING,
                started_at=self._clock(),
                repository=repository,
                user=caller.user,
            )
            self._store.put(project)
            return project

    def _free_id(self, caller: Caller, organization: str, root: str) -> str:
        """Return an id for a new project: its folder's name, with digits of a digest if that is taken.

        A caller whose token names repositories or a user always gets the digits: without them the id would
        tell whether others, whom the caller may not see, have indexed a folder with that name.
        """
        name = Path(root).name or "root"
        repositories, user = sorted(caller.repositories or ()), caller.user or ""
        identity = "\0".join((root, user, *repositories) if caller.token else (root,))
        digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
        with_digits = [f"{name}-{digest[:length]}" for length in range(4, 65)]
        is_bound = bool(caller.token) and (repositories or user)
        candidates = with_digits if is_bound else [name, *with_digits]
        return next(id for id in candidates if self._store.get(Project, organization, id) is None)

    def _records_of(self, project: Project) -> View:
        """Return a view of the records of a project: chunks, files and commits."""
        return everything_in(self._store, project.organization).narrowed(project=project.id)

    def _remove_all(self, cls: type[Record], project: Project) -> int:
        """Remove all records of a project of one class, a batch at a time; return how many."""
        records, removed = self._records_of(project), 0
        while batch := records.find(cls, limit=BATCH):
            with self._store.transaction(project.organization):
                for record in batch:
                    removed += self._store.delete(cls, record.organization, record.id)
        return removed


def _lock_name(organization: str, id: str) -> str:
    return f"{organization}\0{id}"


def _sentence_of(error: MinutebookError) -> str:
    """Return the reason of a failure that everybody who sees the project may read."""
    match error:
        case InvalidRoot(path=path, reason=reason):
            return f"{path} {reason}"
        case StoreError():
            # Facts about this machine are in the log only.
            return f"the store: {REASON}"
        case _:
            return str(error)


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that finishes, once, the indexing that an earlier process began."""
    projects = app.get(Projects)
    # After each batch, not at the end: a project has its vectors long before the last text has its token states.
    app.embeddings.after_batches.append(projects.complete_embedded)
    failing = "cannot go on with what was left half done"
    yield Job("projects", lambda caller: projects.resume(caller.call.progress), failing, every=None)


def forget_projects(app: App, caller: Caller, organization: str) -> Reset:
    """Forget the projects of an organization that the caller may remove; return the counts."""
    projects, chunks, kept = app.get(Projects), 0, 0
    for project in projects.known(caller):
        if project.organization == organization:
            if projects.may_forget(caller, project):
                chunks += projects.forget(caller, project)
            else:
                kept += 1
    return Reset(Counter({Kind.CHUNK: chunks}), kept_others=kept)
