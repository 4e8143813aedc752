"""Index folders of code, tell how far that is, list them, forget them."""

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
"""Seconds that a call waits for the vectors of what it read; the rest are made in the background."""

READING = 0.2
"""How much of the progress the reading is; vectors are the rest."""

_LOCK_WAIT = 0.2
_DELETE_WAIT = 30.0
_LOOK_EVERY = 0.1

_ALL_ASKED_EVERY = 3600.0
"""Seconds after which every organization is asked again for an index that nobody has brought to its end."""


@dataclass(frozen=True, slots=True)
class IndexingProgress:
    """How far a project's index is, as a part in [0, 1], of which reading the files is READING.

    Of the chunks, `pending` have no vectors yet; none where no model can be had, which leaves the
    part to the reading alone. `remaining` is None before there is a rate.
    """

    project: Project
    chunks: int
    pending: int
    part: float
    remaining: timedelta | None


@dataclass(frozen=True, slots=True)
class Indexed:
    """The outcome of a call to index; `created` is None where another run was under way already."""

    progress: IndexingProgress
    created: int | None


class Projects:
    """The use cases around projects of code."""

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
        self._all_asked_at = -math.inf

    def index(
        self, caller: Caller, path: str, vectors_within: float | None = VECTORS_WITHIN
    ) -> Indexed:
        """Read the changes in a folder; wait some seconds (None: without end) for the vectors.

        While another run is under way, give how far it is. Raises InvalidRoot, Forbidden, Conflict
        if the project is deleted meanwhile, StoreError.
        """
        # The folder that is indexed is named, and is not the one that the caller works in.
        caller = without_folder_scope(caller)
        project = self.register(caller, path)
        home = project.organization
        with self._locks.hold(_lock_name(home, project.id), _LOCK_WAIT) as lock:
            if lock is None:
                return Indexed(self.progress_of(project), None)
            with self._trail.audited(caller, home, "index", Kind.PROJECT, project.id) as audit:
                audit.check(project)
                project = self._begun(project)
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
        return self._registered(caller, home, str(check(path, allowed)))

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
        """Read the changes in a known project; return how many files and chunks they concerned.

        None where another run is under way. Raises as `index`, and NotFound.
        """
        with self._locks.hold(_lock_name(organization, id), _LOCK_WAIT) as lock:
            if lock is None:
                return None
            return self._read_again(self._kept(organization, id), lock, progress)

    def resume(self, progress: Progress) -> None:
        """Go on with every run that ended before all files were read."""
        for project in self._unfinished(self._store.organizations()):
            if project.read_at is None:
                try:
                    self._go_on(project.organization, project.id, progress)
                except (InvalidRoot, Conflict, NotFound) as error:
                    log.warning("cannot go on indexing %s: %s", project.id, error)

    def _go_on(self, organization: str, id: str, progress: Progress) -> None:
        """Index the rest of a project, unless the former holder of its lock has done so."""
        with self._locks.hold(_lock_name(organization, id), _LOCK_WAIT) as lock:
            if lock is not None and (project := self._kept(organization, id)).read_at is None:
                self._read_again(project, lock, progress)

    def _read_again(self, project: Project, lock: Held, progress: Progress) -> int:
        self.check_allowed(project, project.path)
        return self._run(self._begun(project), lock, progress).touched

    def _kept(self, organization: str, id: str) -> Project:
        project = self._store.get(Project, organization, id)
        if project is None:
            raise NotFound(Kind.PROJECT, id)
        return project

    def settle(self) -> None:
        """Note how far the vectors of projects are, and which projects they complete.

        It asks the organizations where this process knows of an index under way, and all of them once an
        hour: what another process was reading when it ended has waited for so long already.
        """
        if time.monotonic() >= self._all_asked_at + _ALL_ASKED_EVERY:
            self._all_asked_at = time.monotonic()
            self._settle(self._store.organizations())
        else:
            self._settle(sorted(self._indexing))

    def _settle(self, organizations: Collection[str]) -> None:
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

    def all(self, caller: Caller) -> list[Project]:
        """Return every project that the caller may see and whose files were asked for, by id."""
        return [each for each in self.known(caller) if each.state is not IndexState.PENDING]

    def known(self, caller: Caller) -> list[Project]:
        """Return every project that the caller may see, by id, also of a history alone."""
        found = self._records.seen_by(caller).find(Project)
        return sorted(found, key=lambda project: (project.id, project.organization))

    def progress(self, caller: Caller, id: str) -> IndexingProgress:
        """Return the progress of a project's index. Raises NotFound as `read` does."""
        return self.progress_of(self.read(caller, id))

    def progress_of(self, project: Project) -> IndexingProgress:
        """Tell how far the index is of a project that was read, as it is by now.

        Raises NotFound if it has been deleted since.
        """
        self._settle([project.organization])
        project = self._kept(project.organization, project.id)
        is_read = project.state is not IndexState.INDEXING or project.read_at is not None
        if not is_read and not self._locks.is_held(_lock_name(project.organization, project.id)):
            reason = "it was interrupted; index it again, and it goes on where it was"
            project = replace(project, state=IndexState.FAILED, reason=reason)
        chunks = self._parts_of(project).count(CodeChunk)
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
        """Estimate how long the rest of a run takes; `read` is the part of the files that is read."""
        now = self._clock()
        if project.read_at is not None:
            left = self._pace(project, CodeChunk).remaining(now)
            return self._time_to_embed(pending) if left is None else left
        pace = self._pace(project, File)
        pace.note(0.0, project.started_at)
        pace.note(read, now)
        left = pace.remaining(now)
        if left is None or self._embeddings.state == "error":
            return left
        vectors = self._time_to_embed(pending + round(chunks * (1.0 - read) / read))
        return None if vectors is None else left + vectors

    def _time_to_embed(self, chunks: int) -> timedelta | None:
        seconds = self._embeddings.remaining(chunks)
        return None if seconds is None else timedelta(seconds=seconds)

    def _pace(self, project: Project, of: type[File | CodeChunk]) -> Pace:
        """Return the pace at which a project's files are read, or its chunks get vectors."""
        return self._paces.setdefault((project.organization, project.id, of), Pace())

    def _note_vectors(self, project: Project) -> int:
        """Note for the estimate how many chunks of a project have vectors; return how many lack them."""
        pending = self._pending(project)
        if pending:
            chunks = max(pending, self._parts_of(project).count(CodeChunk))
            self._pace(project, CodeChunk).note(1.0 - pending / chunks, self._clock())
        return pending

    def _pending(self, project: Project) -> int:
        """Count the chunks with vectors still to come: none where the model cannot be had."""
        if self._embeddings.state == "error":
            return 0
        return self._embeddings.pending(CodeChunk, self._parts_of(project))

    def delete(self, caller: Caller, id: str) -> int:
        """Delete a project with its chunks and files; return the number of chunks.

        A run under way ends. Raises NotFound if there is no such project, Forbidden if the caller
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
            # From here on no run goes on; what is cut short here shows as failed, and can be repeated.
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

    def _begun(self, project: Project) -> Project:
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
        for of in (File, CodeChunk):
            self._paces.pop((project.organization, project.id, of), None)
        return begun

    def _run(self, project: Project, lock: Held, progress: Progress) -> Indexing:
        run = Indexing(
            self._infrastructure,
            project,
            lock,
            lambda part, what: progress(READING * part, what),
        )
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
        """Make vectors, or wait while another process does."""
        chunks, end = (
            self._parts_of(project),
            None if seconds is None else time.monotonic() + seconds,
        )
        while (waiting := self._note_vectors(project)) and not _is_past(end):
            part = 1.0 - waiting / max(waiting, chunks.count(CodeChunk))
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
        found: list[Project] = []
        for organization in organizations:
            where = Filter(organization=organization, equal={"state": IndexState.INDEXING})
            found += self._store.find(Project, where)
        return found

    def _registered(self, caller: Caller, organization: str, root: str) -> Project:
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
        """Return a project's id: its folder's name, with a part of a digest if that is taken.

        So does every one of a caller who is held to repositories or a user: the plain name would
        tell them whether others, out of their sight, have indexed a folder of that name.
        """
        name = Path(root).name or "root"
        repositories, user = sorted(caller.repositories or ()), caller.user or ""
        identity = "\0".join((root, user, *repositories) if caller.token else (root,))
        digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()
        apart = [f"{name}-{digest[:length]}" for length in range(4, 65)]
        is_held = bool(caller.token) and (repositories or user)
        candidates = apart if is_held else [name, *apart]
        return next(id for id in candidates if self._store.get(Project, organization, id) is None)

    def _parts_of(self, project: Project) -> View:
        """Return a reader of the records of a project: chunks, and files."""
        return everything_in(self._store, project.organization).narrowed(project=project.id)

    def _remove_all(self, of: type[Record], project: Project) -> int:
        its, removed = self._parts_of(project), 0
        while records := its.find(of, limit=BATCH):
            with self._store.transaction(project.organization):
                removed += sum(
                    self._store.delete(of, record.organization, record.id) for record in records
                )
        return removed


def _lock_name(organization: str, id: str) -> str:
    return f"{organization}\0{id}"


def _is_past(end: float | None) -> bool:
    return end is not None and time.monotonic() >= end


def _sentence_of(error: MinutebookError) -> str:
    match error:
        case InvalidRoot(path=path, reason=reason):
            return f"{path} {reason}"
        case StoreError():
            # All who see the project read it; facts about this machine are in the log only.
            return f"the store: {REASON}"
        case _:
            return str(error)


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that ends, once, the indexing that an earlier process began."""
    projects = app.get(Projects)
    # A project has its vectors long before the last text has its token states.
    app.embeddings.after_batches.append(projects.settle)
    failing = "cannot go on with what was left half done"
    yield Job("projects", lambda caller: projects.resume(caller.call.progress), failing, every=None)


def removed(app: App, caller: Caller, organization: str) -> Reset:
    """Forget the projects of an organization that the caller may remove."""
    projects, chunks, left = app.get(Projects), 0, 0
    for project in projects.known(caller):
        if project.organization == organization:
            if projects.may_forget(caller, project):
                chunks += projects.forget(caller, project)
            else:
                left += 1
    return Reset(Counter({Kind.CHUNK: chunks}), kept_others=left)
