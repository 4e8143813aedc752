"""Move the records of one repository, or of none, to the repository that they are about."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from minutebook.domain.caller import Caller, anywhere, in_call
from minutebook.domain.errors import Conflict, MinutebookError, NotFound
from minutebook.domain.policy import Scope, narrowed_to
from minutebook.domain.reason import Word
from minutebook.domain.records import (
    SYSTEM_ORGANIZATION,
    Kind,
    Memory,
    Project,
    ScopeLevel,
    Summary,
    TextRecord,
    Turn,
)
from minutebook.domain.writing.drafts import apply_changes
from minutebook.domain.writing.turns import Session, summary_id
from minutebook.services.infrastructure import Infrastructure
from minutebook.services.journal.sessions import Sessions
from minutebook.services.knowledge.writing import MemoryWriter
from minutebook.services.record_writer import RecordWriter

ASSIGN = "assign"

EXCERPT = 80
"""Characters that a proposal shows of a record."""

_FIRST_TURNS = 5
"""Turns of a session in which its folder is looked for; an import notes it in the first."""

_FOLDER = re.compile(r"\[(?:[^\]\n;]*; )*folder ([^;\]\n]+)")
_PATH = re.compile(r"(?<![\w/.:])(?:~|[A-Za-z]:)?/(?:[\w.@+-]+/)*[\w.@+-]+")
_MOST_PATHS = 20


@dataclass(frozen=True, slots=True)
class Move:
    """A memory, or the session of a name, that goes from one repository to another; None for none."""

    kind: Kind
    organization: str
    id: str
    before: str | None
    after: str | None
    user: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class OwnerProposal:
    """A move that is proposed, with the beginning of the text.

    It is sure if what was noted when the record was written tells; a text that only names a place
    or a project may mean another. `move.after` is None, as `before` is, where nothing tells.
    """

    move: Move
    text: str
    is_sure: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """The moved records, and the remaining ones, each with its reason."""

    done: list[Move]
    left: list[tuple[Move, str]]


@dataclass(frozen=True, slots=True)
class OwnerEvidence:
    """The evidence of a record's repository.

    `repository_of` tells it of a folder, `folders` the folder of a session, `projects` the folder of
    an indexed project by its name.
    """

    repository_of: Callable[[str], str | None]
    folders: Mapping[str, str]
    projects: Mapping[str, str]


class Assigning:
    """Proposes moves by evidence, and makes those that a person chose."""

    def __init__(
        self, infrastructure: Infrastructure, writer: MemoryWriter, sessions: Sessions
    ) -> None:
        self._store = infrastructure.records
        self._trail = infrastructure.trail
        self._rules = infrastructure.rules
        self._clock = infrastructure.clock
        self._writer = writer
        self._summaries = RecordWriter[Summary](infrastructure)
        self._sessions = sessions

    def indexed_folders(self, caller: Caller) -> Mapping[str, str]:
        """Return the folders of the indexed projects that the caller may see, by name."""
        found = self._store.seen_by(caller).find(Project)
        return {each.id: each.path for each in sorted(found, key=lambda each: each.organization)}

    def proposals(self, caller: Caller, evidence: OwnerEvidence) -> Iterator[OwnerProposal]:
        """Yield a proposal for each memory and session that belongs to no repository."""
        folders = dict(evidence.folders)
        for session in self._sessions_of(caller, None):
            folder = self._folder_of(caller, session) or folders.get(session.name, "")
            folders[session.name] = folder
            found = evidence.repository_of(folder) if folder else None
            why = f"the session was in {folder}" if found else ""
            move = Move(
                Kind.TURN, session.organization, session.name, None, found, session.user, why
            )
            yield OwnerProposal(move, f"session {session.name}", is_sure=True)
        for memory in self._memories_of(caller, None):
            found, why, is_sure = _evidence(memory, replace(evidence, folders=folders))
            move = Move(Kind.MEMORY, memory.organization, memory.id, None, found, memory.user, why)
            yield OwnerProposal(move, _excerpt(memory), is_sure)

    def moves(self, caller: Caller, before: str, after: str | None) -> list[Move]:
        """Return the moves of all that belongs to a repository to another."""
        why = f"all of {before}"
        found = [
            Move(Kind.TURN, each.organization, each.name, before, after, each.user, why)
            for each in self._sessions_of(caller, before)
        ]
        return found + [
            Move(Kind.MEMORY, each.organization, each.id, before, after, each.user, why)
            for each in self._memories_of(caller, before)
        ]

    def move_of(self, caller: Caller, id: str, after: str | None) -> Move:
        """Return the move of a memory. Raises NotFound if there is none."""
        memory = self._store.read(caller, Memory, id)
        before = memory.repository
        return Move(Kind.MEMORY, memory.organization, id, before, after, memory.user, "asked for")

    def apply(self, caller: Caller, moves: Sequence[Move]) -> Moved:
        """Make the moves, each an act of its own on the trail, with its reason.

        What was moved or changed meanwhile, or is locked, is left and told.
        """
        outcome = Moved([], [])
        for number, move in enumerate(moves, 1):
            try:
                self.move(caller, move)
            except MinutebookError as error:
                outcome.left.append((move, str(error)))
            else:
                outcome.done.append(move)
            caller.call.progress(number / len(moves), f"{number:,} of {len(moves):,}")
        return outcome

    def move(self, caller: Caller, move: Move) -> None:
        """Make one move, with its summary if it is a session's.

        Raises Refused if the caller may not, NotFound if there is nothing to move, Conflict if it was
        moved meanwhile.
        """
        asks = in_call(caller, reason=move.why or caller.call.reason)
        if move.kind is Kind.MEMORY:
            self._move_memory(asks, move)
        else:
            self._move_session(asks, move)

    def _move_memory(self, caller: Caller, move: Move) -> None:
        def find() -> Memory:
            memory = self._store.read(caller, Memory, move.id)
            _check_from(move, memory.repository)
            return memory

        self._writer.change(caller, ASSIGN, find, partial(self._moved, caller, move))

    def _moved(self, caller: Caller, move: Move, memory: Memory) -> Memory:
        scope = memory.scope
        if scope in (ScopeLevel.ORGANIZATION, ScopeLevel.REPOSITORY):
            is_whole = move.after is None
            scope = ScopeLevel.ORGANIZATION if is_whole else ScopeLevel.REPOSITORY
        changes = {"scope": scope, "repository": move.after, "user": memory.user}
        after = apply_changes(caller, self._rules(), memory, changes, self._clock())
        # It says what it said, and is as old as it was.
        return replace(after, updated_at=memory.updated_at)

    def _move_session(self, caller: Caller, move: Move) -> None:
        scope = {"session": move.id, "repository": move.before, "user": move.user}
        view = self._store.seen_by(caller).of(move.organization)
        with self._trail.audited(caller, move.organization, ASSIGN, Kind.TURN, move.id) as audit:
            audit.check(
                Scope(move.organization, move.before, move.user),
                Scope(move.organization, move.after, move.user),
            )
            narrowed_to(caller, repository=move.after)
            turns = [] if view is None else view.narrowed(**scope).find(Turn)
            if not turns:
                raise NotFound("session", move.id)
            for turn in turns:
                self._store.put(replace(turn, repository=move.after))
            self._move_summary(caller, move)

    def _move_summary(self, caller: Caller, move: Move) -> None:
        """Have a session's summary follow; its id is made of the session's scope."""
        old, new = (summary_id(move.id, each, move.user) for each in (move.before, move.after))
        view = self._store.seen_in(move.organization, anywhere(caller))
        summary = view.get(Summary, old)
        if summary is None:
            return
        self._store.delete(Summary, move.organization, old)
        if not self._store.is_taken(Summary, move.organization, new):
            self._summaries.put(caller, replace(summary, id=new, repository=move.after), None)

    def _sessions_of(self, caller: Caller, repository: str | None) -> list[Session]:
        found = self._sessions.all(caller)
        return [
            each
            for each in found
            if each.repository == repository and each.organization != SYSTEM_ORGANIZATION
        ]

    def _memories_of(self, caller: Caller, repository: str | None) -> Iterator[Memory]:
        for view in self._store.seen_by(caller).narrowed(repository=repository):
            if view.organization != SYSTEM_ORGANIZATION:
                yield from view.each(Memory)

    def _folder_of(self, caller: Caller, session: Session) -> str:
        """Return the folder that a session's thoughts tell, as imports note it; else an empty text."""
        turns = self._sessions.turns(caller, session).find(Turn, order=["at"], limit=_FIRST_TURNS)
        found = (_FOLDER.match(turn.thought) for turn in turns)
        return next((each[1].strip() for each in found if each), "")


def _evidence(memory: Memory, evidence: OwnerEvidence) -> tuple[str | None, str, bool]:
    """Return the repository of a memory, its evidence, and whether that is sure."""
    if memory.scope is ScopeLevel.USER:
        # It is about a person, wherever they worked.
        return None, "", False
    imported = memory.metadata.get("imported")
    file = imported.get("file") if isinstance(imported, dict) else None
    if isinstance(file, str) and (found := evidence.repository_of(str(Path(file).parent))):
        return found, f"it was imported from {file}", True
    session = "" if memory.origin is None else memory.origin.session
    folder = evidence.folders.get(session, "")
    if folder and (found := evidence.repository_of(folder)):
        return found, f"it was written in a session in {folder}", True
    paths = [str(Path(each).expanduser()) for each in _PATH.findall(memory.text)[:_MOST_PATHS]]
    by_path = {each: repository for each in paths if (repository := _of_path(each, evidence))}
    if len(set(by_path.values())) == 1:
        path, repository = next(iter(by_path.items()))
        return repository, f"it names {path}", False
    named = {
        repository: name
        for name, folder in evidence.projects.items()
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", memory.text)
        and (repository := evidence.repository_of(folder))
    }
    if len(named) == 1 and not by_path:
        repository, name = next(iter(named.items()))
        return repository, f"it names the project {name}", False
    return None, "", False


def _of_path(path: str, evidence: OwnerEvidence) -> str | None:
    """Return the repository of the folder that a file is in, or of a folder itself."""
    return evidence.repository_of(path) or evidence.repository_of(str(Path(path).parent))


def _check_from(move: Move, now: str | None) -> None:
    if now != move.before:
        raise Conflict(move.id, "it belongs to {now} by now", now=now or Word("no repository"))


def _excerpt(record: TextRecord) -> str:
    text = " ".join(record.text.split())
    return text if len(text) <= EXCERPT else f"{text[: EXCERPT - 1].rstrip()}…"
