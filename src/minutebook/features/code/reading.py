"""Read the index of code: its projects with their progress, and the lines of a file."""

import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from minutebook.app import App
from minutebook.features.code.projects import IndexingProgress, Projects
from minutebook.memory.access.visibility import View
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.errors import NotFound
from minutebook.record.records import CodeChunk, IndexState, Kind, Project

_KEPT = 500
"""Projects whose languages are remembered, at most."""


@dataclass(frozen=True, slots=True)
class ProjectSummary:
    """The progress of a project's index, and its languages, the one with the most chunks first.

    It has no languages while its files are being read.
    """

    progress: IndexingProgress
    languages: tuple[str, ...]

    @property
    def project(self) -> Project:
        """The project as it is now."""
        return self.progress.project


@dataclass(frozen=True, slots=True)
class Lines:
    """Some whole chunks of a file in order; `last` is the number of the file's last line."""

    project: Project
    path: str
    chunks: tuple[CodeChunk, ...]
    last: int

    @property
    def start(self) -> int:
        """The number of the first line."""
        return self.chunks[0].start_line

    @property
    def end(self) -> int:
        """The number of the last line that is here."""
        return self.chunks[-1].end_line

    @property
    def text(self) -> str:
        """The lines."""
        return "".join(each.content for each in self.chunks)


class CodeReading:
    """Reads projects and files as they were indexed."""

    def __init__(self, app: App) -> None:
        self._store = app.infrastructure.records
        self._projects = app.get(Projects)
        self._lock = threading.Lock()
        self._languages: dict[tuple[str, str, datetime], tuple[str, ...]] = {}

    def projects(self, caller: Caller) -> list[ProjectSummary]:
        """Return every indexed project that the caller may see, by id."""
        found = []
        for each in self._projects.indexed(caller):
            # It may have been deleted meanwhile.
            with suppress(NotFound):
                progress = self._projects.progress_of(each)
                found.append(ProjectSummary(progress, self._languages_of(caller, progress.project)))
        return found

    def languages(self, caller: Caller) -> list[str]:
        """Return the languages of the projects that the caller may see, sorted."""
        known = self._projects.indexed(caller)
        return sorted({language for each in known for language in self._languages_of(caller, each)})

    def mark(self, caller: Caller) -> object:
        """Return a value that differs once anything has changed in an organization that the caller may see."""
        names = self._store.seen_by(caller).organizations
        return tuple((name, self._store.sequence(name)) for name in names)

    def lines(self, caller: Caller, id: str, path: str, line: int, around: int) -> Lines:
        """Return the chunks of a file that hold a line or one of the `around` lines on either side.

        Raises NotFound if there is no such project or file, or it has no such line.
        """
        project = self._store.read(caller, Project, id)
        chunks_of_file = self._chunks_of(caller, project).narrowed(path=path)
        places = chunks_of_file.values(CodeChunk, ("id", "start_line", "end_line"))
        last = max((end for _, _, end in places), default=0)
        if not 1 <= line <= last:
            raise NotFound(Kind.CHUNK, f"{path}:{line}")
        first, end = line - around, line + around
        near = frozenset(id for id, start, stop in places if start <= end and stop >= first)
        chunks = chunks_of_file.where(ids=near).find(CodeChunk, order=("start_line",))
        return Lines(project, path, tuple(chunks), last)

    def _chunks_of(self, caller: Caller, project: Project) -> View:
        view = self._store.seen_in(project.organization, without_folder_scope(caller))
        return view.narrowed(project=project.id)

    def _languages_of(self, caller: Caller, project: Project) -> tuple[str, ...]:
        """Return the languages of a project's chunks, the commonest first; they are kept until it is read again."""
        if project.read_at is None or project.state is IndexState.FAILED:
            return ()
        key = project.organization, project.id, project.read_at
        with self._lock:
            if (known := self._languages.get(key)) is not None:
                return known
        rows = self._chunks_of(caller, project).values(CodeChunk, ("language",))
        counted = Counter(name for (name,) in rows)
        found = tuple(name for name, _ in counted.most_common() if name)
        with self._lock:
            if len(self._languages) >= _KEPT:
                self._languages.clear()
            self._languages[key] = found
        return found
