"""Bring the index of a project's files into step with the files themselves."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

from minutebook.features.code.chunking import files
from minutebook.features.code.chunking.chunks import Chunk, chunk
from minutebook.features.code.chunking.files import CodeFile, Skip, Unreadable
from minutebook.features.code.chunking.languages import language_of
from minutebook.memory.access.visibility import narrowed
from minutebook.memory.infrastructure import Infrastructure
from minutebook.record.caller import Progress
from minutebook.record.errors import Conflict
from minutebook.record.filters import Filter
from minutebook.record.ids import new_id
from minutebook.record.records import CodeChunk, File, IndexState, Project, Record
from minutebook.store.named_locks import Held

WINDOW = timedelta(seconds=30)
"""The time over which the rate is measured, and for which an estimate stays valid without progress."""

LONGEST = timedelta(days=30)
"""A longer estimate is not shown."""


class Pace:
    """The progress, in [0, 1], over the last WINDOW, from which the remaining time is estimated."""

    def __init__(self) -> None:
        self._noted: deque[tuple[datetime, float]] = deque()

    def note(self, done: float, at: datetime) -> None:
        """Note the progress at an instant; less than before starts the measurement anew."""
        if self._noted and done < self._noted[-1][1]:
            self._noted.clear()
        if self._noted and done == self._noted[-1][1]:
            return
        self._noted.append((at, done))
        while len(self._noted) > 2 and at - self._noted[1][0] >= WINDOW:
            self._noted.popleft()

    def remaining(self, at: datetime) -> timedelta | None:
        """Return how long the rest takes from an instant on, by the rate over the last WINDOW.

        Between two notes the estimate shrinks as time passes. None before there is a rate, and
        after no progress for longer than WINDOW and twice the time of the last step.
        """
        if len(self._noted) < 2:
            return None
        (since, before), (until, done) = self._noted[0], self._noted[-1]
        waited, step = at - until, until - self._noted[-2][0]
        if until <= since or waited > max(WINDOW, 2 * step):
            return None
        seconds = (until - since).total_seconds() * (1.0 - done) / (done - before)
        if seconds >= LONGEST.total_seconds():
            return None
        return max(timedelta(seconds=seconds) - waited, timedelta(0))


BATCH = 128
"""Records that are written in one transaction, about: other writers wait for no more."""

NO_LANGUAGE = "text"
"""The language of a chunk of an unknown one."""


@dataclass(slots=True)
class _IndexBatch:
    """The files and chunks to be put and removed in the next transaction; `created` counts new chunks."""

    put: list[Record] = field(default_factory=list)
    gone: list[CodeChunk | File] = field(default_factory=list)
    created: int = 0

    def is_full(self) -> bool:
        return len(self.put) + len(self.gone) >= BATCH


class Indexing:
    """One run over a project's files; the process that runs it holds the project's lock.

    Each batch is one transaction, after which files and chunks agree, so if a run ends anywhere, the next one
    can do the rest.
    """

    def __init__(
        self, infrastructure: Infrastructure, project: Project, lock: Held, progress: Progress
    ) -> None:
        self._store = infrastructure.store
        self._screening = infrastructure.screening
        self._lock = lock
        self._clock = infrastructure.clock
        self._randbits = infrastructure.randbits
        self._project = project
        self._progress = progress
        self._here = Filter(organization=project.organization)
        self._root = Path(project.path)
        self._skipped: Counter[Skip] = Counter()
        self._batch = _IndexBatch()
        self.created = 0
        """How many chunks were made."""
        self.touched = 0
        """How many files and chunks were put or removed."""

    def run(self) -> Project:
        """Read changed files, forget removed ones; return the project with all its files read.

        Raises InvalidRoot if the folder is gone, Conflict if the project was deleted, StoreError.
        """
        known = self._indexed_files()
        stamps = {path: file.stamp for path, file in known.items()}
        found = list(files.walk(self._root, self._skipped, stamps))
        # A folder that has vanished looks empty, but its chunks must not be removed for that.
        files.check_root(self._project.path)
        self._project = replace(self._project, total_files=len(found))
        for number, file in enumerate(found):
            self._progress(number / len(found), file.path)
            self._visit(file, known.pop(file.path, None))
            if self._batch.is_full():
                self._flush(number + 1)
        # What is left in `known` was not found any more.
        for gone in known.values():
            self._forget(gone)
            if self._batch.is_full():
                self._flush(len(found))
        self._project = replace(
            self._project,
            read_at=self._clock(),
            skipped={str(skip): count for skip, count in sorted(self._skipped.items())},
        )
        self._flush(len(found))
        return self._project

    def _indexed_files(self) -> dict[str, File]:
        """Return the files in the index, by path."""
        files = self._store.find(File, narrowed(self._here, project=self._project.id))
        return {file.path: file for file in files}

    def _visit(self, file: CodeFile, before: File | None) -> None:
        """Put a file and its chunks into the batch if it differs from `before`, the file in the index."""
        if before is not None and file.stamp and before.stamp == file.stamp:
            return
        try:
            source = files.read_source(self._root, file.path)
        except Unreadable:
            self._skipped[Skip.UNREADABLE] += 1
            if before is not None:
                self._forget(before)
            return
        now = File(
            organization=self._project.organization,
            id=f"{self._project.id}/{file.path}",
            project=self._project.id,
            path=file.path,
            stamp=file.stamp,
            digest=source.digest,
            repository=self._project.repository,
            user=self._project.user,
        )
        if before is None or before.digest != now.digest:
            self._rewrite(file.path, source.text)
        if now != before:
            self._batch.put.append(now)

    def _rewrite(self, path: str, text: str) -> None:
        """Put a file's chunks; those with unchanged text keep their ids and vectors."""
        language = language_of(path, text)
        unused = defaultdict[str, list[CodeChunk]](list)
        for earlier in self._chunks(path):
            unused[earlier.text].append(earlier)
        for piece in chunk(text, language):
            record = self._record(path, language.name if language else NO_LANGUAGE, piece)
            if not unused[record.text]:
                self._batch.put.append(record)
                self._batch.created += 1
                continue
            earlier = unused[record.text].pop(0)
            record = replace(record, id=earlier.id)
            if record != earlier:
                self._batch.put.append(record)
        self._batch.gone += chain.from_iterable(unused.values())

    def _record(self, path: str, language: str, piece: Chunk) -> CodeChunk:
        record = CodeChunk(
            organization=self._project.organization,
            id=new_id(self._clock(), self._randbits),
            project=self._project.id,
            path=path,
            language=language,
            type=piece.type,
            name=piece.name,
            signature=piece.signature,
            start_line=piece.start_line,
            end_line=piece.end_line,
            content=piece.text,
            repository=self._project.repository,
            user=self._project.user,
        )
        return self._screening.captured(record)

    def _forget(self, file: File) -> None:
        self._batch.gone += [*self._chunks(file.path), file]

    def _chunks(self, path: str) -> Iterator[CodeChunk]:
        where = narrowed(self._here, project=self._project.id, path=path)
        yield from self._store.find(CodeChunk, where, order=("start_line",))

    def _flush(self, read: int) -> None:
        """Write the batch, with `read` as the number of files read so far. Raises Conflict if the project was deleted."""
        organization, batch = self._project.organization, self._batch
        self._project = replace(self._project, indexed_files=read)
        with self._store.transaction(organization):
            self._lock.check()
            self._check_still_wanted()
            for record in batch.put:
                self._store.put(record)
            for record in batch.gone:
                self._store.delete(type(record), organization, record.id)
            self._store.put(self._project)
        self.created += batch.created
        self.touched += len(batch.put) + len(batch.gone)
        self._batch = _IndexBatch()

    def _check_still_wanted(self) -> None:
        project = self._store.get(Project, self._project.organization, self._project.id)
        if project is None or project.state is not IndexState.INDEXING:
            raise Conflict(self._project.id, "it was deleted while it was being indexed")
