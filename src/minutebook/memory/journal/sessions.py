"""Writes the turns of sessions, and reads them in order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from minutebook.memory.access.provenance import attribute
from minutebook.memory.access.visibility import View
from minutebook.memory.infrastructure import Infrastructure
from minutebook.memory.record_writer import RecordWriter
from minutebook.record import policy
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.day import DaySpan
from minutebook.record.errors import InvalidInput
from minutebook.record.listed import SessionTurns
from minutebook.record.origin import are_one_program
from minutebook.record.records import Kind, Memory, Turn
from minutebook.record.writing.drafts import resolve_scope
from minutebook.record.writing.source_drafts import IMPORTED
from minutebook.record.writing.turns import (
    Session,
    check_session,
    instant_after,
    next_instant,
    turn_id,
)

ADDED = "add_turn"
"""The act of writing a turn."""

LONGEST_TURN = timedelta(hours=2)
"""The longest time after its prompt for which a turn of a captured session counts as under way, unless the next one begins."""


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Part of the sessions, the latest first, and the number of all."""

    sessions: list[Session]
    total: int


class Sessions:
    """The use cases around turns."""

    def __init__(self, infrastructure: Infrastructure) -> None:
        self._store = infrastructure.records
        self._writer = RecordWriter[Turn](infrastructure)
        self._trail = infrastructure.trail
        self._clock = infrastructure.clock

    def add(
        self, caller: Caller, session: str | None, prompt: str, thought: str, response: str
    ) -> Turn:
        """Write a turn after the last one of its session; None is the connection's own session.

        Searches find it by words at once, and by meaning at once if it is short and the model is
        ready, else soon. Raises Refused if the caller may not write, InvalidInput if the name or a
        text does not fit.
        """
        name = caller.call.session if session is None else session
        with self._trail.audit_refusals(caller, None, ADDED, Kind.TURN, name):
            scope = resolve_scope(caller, None, None, None)
            policy.check_may_write_to(caller, ADDED, scope)
        if not name:
            raise InvalidInput("sessionId", "must be given: this caller has no session of its own")
        check_session(name)
        now = self._clock()
        turn = Turn(
            organization=scope.organization,
            id=turn_id(now),
            session=name,
            at=now,
            prompt=prompt,
            thought=thought,
            response=response,
            author=caller.name,
            repository=scope.repository,
            user=scope.user,
            origin=caller.call.origin,
        )
        return self._writer.write(caller, ADDED, turn, partial(self._at_free_instant, caller))

    def turn_of(self, caller: Caller, memory: Memory) -> Turn | None:
        """Return the turn during which a memory was first written, None if unknown.

        That is the next turn of its connection's session. If there is none, it is the turn that was under
        way at that time in the one captured session of the same program, repository and user.
        """
        if memory.origin is None or memory.origin.contract == IMPORTED:
            return None
        if memory.origin.session:
            view = self._store.seen_in(memory.organization, caller)
            for turn in view.narrowed(session=memory.origin.session).each(Turn, ["at"]):
                if turn.at >= memory.ingestion_time:
                    return turn
        under_way = list(self._captured_turns(caller, memory, memory.origin.client))
        # Of several sessions at that time, the one in which a tool answered with the memory's id.
        likely = [turn for turn in under_way if memory.id in turn.thought] or under_way
        return likely[0] if len(likely) == 1 else None

    def _captured_turns(self, caller: Caller, memory: Memory, client: str) -> Iterator[Turn]:
        """Yield the turns of captured sessions of a client that were under way when a memory was written."""
        own = {"repository": memory.repository, "user": memory.user}
        bound = {name: value for name, value in own.items() if value is not None}
        view = self._store.seen_in(memory.organization, caller)
        written = memory.ingestion_time
        for session in _sessions(view.narrowed(**bound)):
            if not session.first <= written <= session.last + LONGEST_TURN:
                continue
            turns = view.narrowed(**session.scope).each(Turn, ["-at"])
            last = next((turn for turn in turns if turn.at <= written), None)
            if last is None or last.origin is None or written > last.at + LONGEST_TURN:
                continue
            is_captured = last.origin.contract == IMPORTED
            if is_captured and are_one_program(last.origin.client, client):
                yield last

    def page(self, caller: Caller, session: str, limit: int, offset: int) -> SessionTurns:
        """Return the turns of a session that the caller may see, oldest first; none if it is unknown.

        If several organizations have a session of this name, they follow one another.
        """
        turns: list[Turn] = []
        total = 0
        for view in self._store.seen_by(without_folder_scope(caller)).narrowed(session=session):
            if len(turns) < limit:
                turns += view.find(
                    Turn,
                    order=["at"],
                    limit=limit - len(turns),
                    offset=max(0, offset - total),
                )
            total += view.count(Turn)
        attribute(caller, turns)
        return SessionTurns(turns, total)

    def overview(self, caller: Caller, limit: int, offset: int) -> SessionPage:
        """Return a page of the sessions that the caller may see, last written first."""
        found = self.all(caller)
        return SessionPage(found[offset : offset + limit], len(found))

    def all(self, caller: Caller, name: str | None = None) -> list[Session]:
        """Return every session that the caller may see, last written first.

        With a name, only sessions of that name, but those of other folders, too.
        """
        named = {} if name is None else {"session": name}
        caller = caller if name is None else without_folder_scope(caller)
        seen = self._store.seen_by(caller).narrowed(**named)
        found = [session for view in seen for session in _sessions(view)]
        return sorted(found, key=lambda session: session.last, reverse=True)

    def within(self, caller: Caller, span: DaySpan) -> list[Session]:
        """Return the sessions with a turn in a span of time, the latest first."""
        return [e for e in self.all(caller) if e.first < span.until and e.last >= span.since]

    def connections(self, caller: Caller, name: str) -> set[str]:
        """Return the names of a session and of the connections' own sessions over which it was written."""
        origins = {
            origin
            for view in self._store.seen_by(caller).narrowed(session=name)
            for (origin,) in view.values(Turn, ["origin"])
        }
        return {name, *(each.session for each in origins if each is not None and each.session)}

    def turns(self, caller: Caller, session: Session) -> View:
        """Return a reader of the turns of a session, whatever folder the caller works in."""
        view = self._store.seen_in(session.organization, without_folder_scope(caller))
        return view.narrowed(**session.scope)

    def _at_free_instant(self, caller: Caller, turn: Turn) -> Turn:
        """Return the turn with an instant after the session's last turn that no other turn has.

        Call it inside the transaction that writes the turn.
        """
        own = {"session": turn.session, "repository": turn.repository, "user": turn.user}
        here = self._store.seen_in(turn.organization, without_folder_scope(caller)).narrowed(**own)
        last = here.find(Turn, order=["-at"], limit=1)
        at = instant_after(turn.at, last[0] if last else None)
        while self._store.is_taken(Turn, turn.organization, turn_id(at)):
            at = next_instant(at)
        return replace(turn, id=turn_id(at), at=at)


def _sessions(view: View) -> list[Session]:
    groups = view.groups(Turn, ("session", "repository", "user"), "at")
    return [
        Session(
            organization=view.organization,
            name=group.values[0] or "",
            repository=group.values[1],
            user=group.values[2],
            turn_count=group.count,
            first=group.first,
            last=group.last,
        )
        for group in groups
    ]
