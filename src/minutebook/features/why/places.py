"""The reasons for the place that a question names: a line of a file, or a definition."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

import pygit2

from minutebook.app import App
from minutebook.features.citations.texts import CitingText
from minutebook.features.citations.trees import UNREADABLE, Blobs
from minutebook.features.code.projects import Projects
from minutebook.features.code.references import (
    Reference,
    file_meant,
    references_in,
    relative_to_root,
)
from minutebook.features.why.asked_lines import AskedLines, asked_lines
from minutebook.features.why.commit_texts import shown
from minutebook.features.why.commits import id_of, record_of, repository_of, written_code
from minutebook.features.why.line_history import HistoryCache
from minutebook.features.why.search import CommitSearch
from minutebook.features.why.session_requests import requests_of
from minutebook.features.why.telling import LineChange, Rank
from minutebook.memory.access.visibility import View
from minutebook.memory.search.combined import Ranked
from minutebook.memory.search.passages import shown_text
from minutebook.memory.search.recall import Answering
from minutebook.record.caller import Caller, Note
from minutebook.record.errors import MinutebookError
from minutebook.record.reason import Reason
from minutebook.record.records import (
    CodeChunk,
    Decision,
    DecisionStatus,
    Memory,
    Project,
    ProjectCommit,
    Turn,
)
from minutebook.text.fusion import FusedHit
from minutebook.text.words import parse_query

R = TypeVar("R", Decision, Memory)

PLACES, COMMITS, ABOUT, CITING, NAMED = 2, 3, 6, 20, 50
"""The most places of a question, the most commits shown for each, the most that are about the question if it names a whole
file, the most records that may cite the place, and the most chunks among which a method is searched by its name."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A question of a caller, the place that it names, and the time (monotonic) until which it waits for histories."""

    caller: Caller
    text: str
    end: float
    place: str = ""

    def about(self, named: Reference) -> "_Question":
        """Return the question about a place, without the place's name, which would only match the code itself."""
        text = self.text.replace(named.written, "")
        return replace(self, text=text, place=named.written)


class PlaceReasons:
    """Finds the commits that changed lines, the turns that asked for these, and the records that cite the lines."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._projects, self._commits = app.get(Projects), app.get(CommitSearch)
        self._histories = HistoryCache(COMMITS)

    def reasons(self, caller: Caller, query: str, project: str | None = None) -> list[Ranked]:
        """Return the reasons for the places that a query names, the best first, in a project (None: in any).

        It waits for a history as long as the call's patience; if it takes longer, a note names the place.
        """
        named = references_in(query)[:PLACES]
        if not named:
            return []
        question = _Question(caller, query, time.monotonic() + caller.call.patience)
        found = dict[tuple[str, str], Ranked]()
        for view in self._app.infrastructure.records.seen_by(caller):
            chosen = view if project is None else view.where(ids=frozenset({project}))
            for known, each in product(chosen.find(Project), named):
                ranked = self._ranked_at(question, view, known, each)
                found |= {one.hit.id: one for one in ranked}
        return list(found.values())

    def _ranked_at(
        self, question: _Question, view: View, project: Project, named: Reference
    ) -> list[Ranked]:
        """Return the reasons for one place, a name or a path, in a project; none if the project does not have it."""
        defined = None if named.path else _place_of_definition(view, project, named)
        if not (named.path or defined):
            # The index of code does not have the name: nothing is read from disk.
            return []
        try:
            root = self._projects.check_allowed(project, project.path)
            repository = repository_of(root)
            if repository is None or repository.is_bare or repository.head_is_unborn:
                return []
            place = defined or _place_in_file(project, repository, named)
            asked = asked_lines(Blobs(repository), root, place)
            return list(self._reasons(question.about(named), project, repository, asked))
        except (MinutebookError, *UNREADABLE):
            # The place does not exist, or Git cannot read it: the question is answered without reasons.
            return []

    def _reasons(
        self,
        question: _Question,
        project: Project,
        repository: pygit2.Repository,
        asked: AskedLines,
    ) -> Iterator[Ranked]:
        """Yield the reasons for lines: the records that cite them, the best commits, the turns that asked for these."""
        caller, commits = question.caller, list[pygit2.Commit]()
        if asked.is_whole:
            path = asked.lines.path
            about = self._commits.about_file(caller, question.text, project.path, path)
            commits = [repository[sha].peel(pygit2.Commit) for sha in about[:ABOUT]]
        if not commits:
            commits = self._history(question, repository, asked)
        names = (asked.lines.path.rpartition("/")[2], *asked.names[-1:])
        written = [written_code(repository, each, names) for each in commits]
        requests = requests_of(self._app.infrastructure.records, caller, written) if commits else []
        changes = [LineChange.from_commit(*each) for each in zip(commits, requests, strict=True)]
        view = self._app.infrastructure.records.seen_in(project.organization, caller)
        yield from self._citing(view, asked, names)
        for change in sorted(changes, key=lambda each: each.rank)[:COMMITS]:
            # Reading a commit with many files takes long; the store may have it.
            commit = repository[change.id].peel(pygit2.Commit)
            kept = view.get(ProjectCommit, id_of(project, commit.id))
            record = kept or record_of(commit, project, None)
            yield _ranked(record, shown(record))
            if change.request is not None and change.request.is_certain:
                turn = view.get(Turn, change.request.turn)
                if turn is not None:
                    yield _ranked(turn, shown_text(turn))

    def _history(
        self, question: _Question, repository: pygit2.Repository, asked: AskedLines
    ) -> list[pygit2.Commit]:
        """Return the last commits that changed the lines; none, with a note, if reading them takes too long."""
        try:
            read = self._histories.commits_of(
                repository, asked.lines, question.end - time.monotonic()
            )
        except TimeoutError:
            place = question.place
            text = Reason(
                "The history of {place} is long; `minutebook why {place}` tells it.", place=place
            )
            question.caller.call.notes["why"] = Note({"place": place}, text)
            return []
        return [repository[sha].peel(pygit2.Commit) for sha in read]

    def _citing(self, view: View, asked: AskedLines, names: tuple[str, ...]) -> Iterator[Ranked]:
        """Yield the active decisions and the valid memories that cite the lines, searched for by the names of the lines."""
        query, now = parse_query(" ".join(names)), self._app.clock()

        def named(cls: type[R], where: View) -> list[R]:
            ids = frozenset(each.id for each in where.match(cls, query, CITING))
            return where.where(ids=ids).find(cls)

        decided = named(Decision, view.narrowed(status=DecisionStatus.ACTIVE))
        citing: list[Decision | Memory] = [*decided, *named(Memory, view.where(valid_at=now))]
        for record in citing:
            is_binding = isinstance(record, Decision)
            cited = CitingText(record.kind, record.id, "", record.text, now, is_binding)
            if asked.rank(cited) in {Rank.BINDING, Rank.TELLING}:
                yield _ranked(record, shown_text(record))


def _place_in_file(project: Project, repository: pygit2.Repository, named: Reference) -> str:
    """Return the place of a reference to a file in the form that `asked_lines` reads."""
    path = relative_to_root(project.path, named.path or "")
    if path not in repository.index:
        path = file_meant(path, (each.path for each in repository.index)) or path
    part = "-".join(map(str, named.lines)) if named.lines else ".".join(named.symbol)
    return f"{path}:{part}" if part else path


def _place_of_definition(view: View, project: Project, named: Reference) -> str | None:
    """Return the place of a definition that is named without a file, by the index of code; None if that does not have it."""
    symbol, code = ".".join(named.symbol), view.narrowed(project=project.id)
    if chunks := code.narrowed(name=symbol).find(CodeChunk, limit=1):
        return f"{chunks[0].path}:{symbol}"
    # The name of a method in the index begins with its class.
    ids = frozenset(each.id for each in code.match(CodeChunk, parse_query(symbol), NAMED))
    rows = sorted(code.where(ids=ids).values(CodeChunk, ("path", "start_line", "name")))
    methods = (path for path, _, name in rows if name.endswith(f".{symbol}"))
    return next((f"{path}:{symbol}" for path in methods), None)


def _ranked(record: Answering | ProjectCommit, text: str) -> Ranked:
    hit = FusedHit((record.organization, record.id), 1.0, ())
    return Ranked(record, text, 1.0, hit, 1.0, is_asked_for=True)
