"""Bring the index of a project's files into step with the files themselves."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
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
"""How far back the rate looks, and how long an estimate holds while nothing proceeds."""

LONGEST = timedelta(days=30)
"""An estimate beyond this is none."""


class Pace:
    """The parts done, in [0, 1], that were noted over the last half a minute."""

    def __init__(self) -> None:
        self._noted: deque[tuple[datetime, float]] = deque()

    def note(self, done: float, at: datetime) -> None:
        """Note how much was done at an instant; less than before starts anew, as much changes nothing."""
        if self._noted and done < self._noted[-1][1]:
            self._noted.clear()
        if self._noted and done == self._noted[-1][1]:
            return
        self._noted.append((at, done))
        while len(self._noted) > 2 and at - self._noted[1][0] >= WINDOW:
            self._noted.popleft()

    def remaining(self, at: datetime) -> timedelta | None:
        """Return how long the rest takes from an instant on, by the rate of late.

        Between two notes the estimate shrinks as time passes. None before there is a rate, and
        once nothing was done for longer than WINDOW and than the last part took.
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
"""How many records are written at once, at least: other writers wait no longer than that takes."""

NO_LANGUAGE = "text"
"""What a chunk's language is called where nobody knows it."""


@dataclass(slots=True)
class _IndexBatch:
    """The chunks to be written next."""

    put: list[Record] = field(default_factory=list)
    gone: list[CodeChunk | File] = field(default_factory=list)
    created: int = 0

    def is_full(self) -> bool:
        return len(self.put) + len(self.gone) >= BATCH


class Indexing:
    """One run over a project's files; the process that runs it holds the project's lock.

    Each batch is one transaction that leaves files and chunks in step, so that a run that ends
    anywhere can be followed by another that does what is left.
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

        Raises InvalidRoot where the folder went away, Conflict where the project did, StoreError.
        """
        known = self._known()
        stamps = {path: file.stamp for path, file in known.items()}
        found = list(files.walk(self._root, self._skipped, stamps))
        # A folder that vanished looks empty; what is kept of it is not to go for that.
        files.check_root(self._project.path)
        self._project = replace(self._project, total_files=len(found))
        for number, file in enumerate(found):
            self._progress(number / len(found), file.path)
            self._visit(file, known.pop(file.path, None))
            if self._batch.is_full():
                self._flush(number + 1)
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

    def _known(self) -> dict[str, File]:
        files = self._store.find(File, narrowed(self._here, project=self._project.id))
        return {file.path: file for file in files}

    def _visit(self, file: CodeFile, before: File | None) -> None:
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
        spare = defaultdict[str, list[CodeChunk]](list)
        for earlier in self._chunks(path):
            spare[earlier.text].append(earlier)
        for piece in chunk(text, language):
            record = self._record(path, language.name if language else NO_LANGUAGE, piece)
            earlier_ones = spare[record.text]
            if not earlier_ones:
                self._batch.put.append(record)
                self._batch.created += 1
            elif (reused := earlier_ones.pop(0)) != (moved := replace(record, id=reused.id)):
                self._batch.put.append(moved)
        self._batch.gone += [each for left in spare.values() for each in left]

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
