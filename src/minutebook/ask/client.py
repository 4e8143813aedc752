"""A memory for programs: operations on a store as typed methods, with the records that it keeps."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self, TypeVar, cast, overload

from minutebook.ask import graph, journal, memories
from minutebook.ask.connection import StoreConnection
from minutebook.ask.memories import Hit
from minutebook.ask.table import operation_named
from minutebook.record.errors import InvalidInput
from minutebook.record.filters import MemoryQuery
from minutebook.record.listed import (
    Direction,
    EntityNeighbourhood,
    MemoryList,
    SessionTurns,
    Surrounded,
)
from minutebook.record.reason import must_be_one_of
from minutebook.record.records import (
    Category,
    Decision,
    Edge,
    Entity,
    Memory,
    MemoryType,
    Proposal,
    Status,
    Summary,
    Turn,
    Version,
)
from minutebook.record.sources import Source

MOST_BYTES = 102_400
"""Bytes of a memory's text, as UTF-8; the tools of agents have the same limit."""

R = TypeVar("R")
E = TypeVar("E", bound=StrEnum)


class Entities:
    """Entities and the relations between them."""

    def __init__(self, connection: StoreConnection) -> None:
        self._run = connection.run

    def create(
        self,
        name: str,
        type: str = "unknown",
        *,
        description: str | None = None,
        user: str | None = None,
    ) -> Entity:
        """Create an entity, or return the one with this name, type and user.

        Raises Refused if the caller may not write.
        """
        return self._run(graph.create_entity, name, type, description, user)

    def find(self, name: str = "", *, limit: int = 20, offset: int = 0) -> list[Entity]:
        """Return the entities with names that begin with `name`, sorted by name."""
        return self._run(graph.find_entities, name, limit, offset)

    def relate(self, source: str, target: str, type: str, *, weight: float = 1.0) -> Edge:
        """Relate two entities, by their ids; an existing relation of this type gets the new weight. Raises NotFound."""
        return self._run(graph.relate, source, target, type, weight)

    def related(
        self,
        id: str,
        *,
        depth: int = 1,
        direction: Literal["outgoing", "incoming", "both"] = "both",
    ) -> EntityNeighbourhood:
        """Walk the relations from an entity, up to `depth` steps. Raises NotFound."""
        return self._run(graph.related, id, depth, _one_of(Direction, "direction", direction))

    def about(self, id: str, *, limit: int = 50) -> Surrounded:
        """Return an entity, its relations and the memories that name it. Raises NotFound."""
        return self._run(graph.around_entity, id, limit)


class Decisions:
    """Decisions on the record, in Git."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection

    def record(
        self, target: str, title: str, rationale: str, consequences: Sequence[str] = ()
    ) -> Decision:
        """Record the first decision on a target. Raises Decided if it has one, Refused if the caller may not."""
        return self._ask(Decision, "decide", title, target, rationale, consequences)

    def supersede(
        self,
        ids: Sequence[str],
        target: str,
        title: str,
        rationale: str,
        consequences: Sequence[str] = (),
    ) -> Decision:
        """Record a decision that supersedes those of `ids`, all that hold on its target.

        Raises InvalidInput without ids, NotFound, Conflict, Refused.
        """
        if not ids:
            raise InvalidInput("ids", "must name at least one decision")
        return self._ask(Decision, "decide", title, target, rationale, consequences, ids)

    def propose(
        self,
        target: str,
        title: str,
        rationale: str,
        consequences: Sequence[str] = (),
        *,
        supersedes: Sequence[str] = (),
    ) -> Proposal:
        """Propose a decision, for a person to accept. Raises NotFound, Conflict, Refused."""
        return self._ask(Proposal, "propose", title, target, rationale, consequences, supersedes)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        mode: Literal["strict", "balanced", "audit"] = "strict",
    ) -> list[Hit]:
        """Find decisions: `strict` the active ones, `balanced` also proposals, `audit` also past ones."""
        return self._ask(list[Hit], "search_decisions", query, limit, mode)

    def holding(self, *, of: str | None = None) -> list[Decision]:
        """Return the decisions that hold, the newest first; with `of` those that superseded this id. Raises NotFound."""
        return self._ask(list[Decision], "holding", of)

    def read(self, id: str) -> Decision | Proposal:
        """Return a decision or proposal. Raises NotFound."""
        return cast("Decision | Proposal", self._ask(object, "read_decision", id))

    def history(self, id: str) -> list[Decision]:
        """Return every decision on the target of this one, the oldest first. Raises NotFound."""
        return self._ask(list[Decision], "decision_history", id)

    def _ask(self, type: type[R], operation: str, *arguments: object) -> R:
        """Return the answer, of a type, to an operation of the feature that keeps decisions."""
        return cast("R", self._connection.run(operation_named(operation), *arguments))


class Sessions:
    """The turns of sessions, in order, and their summaries."""

    def __init__(self, connection: StoreConnection) -> None:
        self._run = connection.run

    def append(self, session: str, prompt: str, response: str, *, thought: str = "") -> Turn:
        """Append a turn to a session. Raises Refused, InvalidInput."""
        return self._run(journal.add_turn, session, prompt, thought, response)

    def turns(self, session: str, *, limit: int = 100, offset: int = 0) -> SessionTurns:
        """Return a page of a session's turns, oldest first; none if there is no such session."""
        return self._run(journal.turns, session, limit, offset)

    def search(self, query: str, *, limit: int = 10, session: str | None = None) -> list[Hit]:
        """Find turns by meaning and by words; with `session` those of that session only."""
        return self._run(journal.search_turns, query, limit, session)

    def summarize(self, session: str) -> Summary:
        """Summarize a session anew, and return its summary. Raises NotFound, Refused, Conflict."""
        return self._run(journal.summarize, session).done[0]

    def summaries(
        self, *, limit: int = 20, offset: int = 0, category: str | None = None
    ) -> list[Summary]:
        """Return a page of the summaries, the newest first."""
        chosen = _one_of(Category, "category", category)
        return self._run(journal.summaries, limit, offset, chosen)

    def search_summaries(
        self, query: str, *, limit: int = 10, category: str | None = None
    ) -> list[Hit]:
        """Find summaries by meaning and by words."""
        chosen = _one_of(Category, "category", category)
        return self._run(journal.search_summaries, query, limit, chosen)


class Minutebook:
    """A store for programs: memories, and `entities`, `decisions` and `sessions`.

    May be used from any thread. The methods raise the same errors in this process and over HTTP; over HTTP also
    ServerError, and Unidentified if the token is not valid.
    """

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection
        self._run = connection.run
        self.entities = Entities(connection)
        self.decisions = Decisions(connection)
        self.sessions = Sessions(connection)

    def __enter__(self) -> Self:
        """Return this memory, which is closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the store, or the connections to the server."""
        self._connection.close()

    def remember(
        self,
        text: str,
        *,
        type: str = "semantic",
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        key: str | None = None,
        user: str | None = None,
        repository: str | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
    ) -> Memory:
        """Store a text as a memory; with `key`, a name that the program gives it, replace the text stored under that.

        Each user and repository has keys of its own. Raises Refused if the caller may not write this there,
        InvalidInput if a value does not fit, EmbeddingNotReady.
        """
        return self._run(
            memories.remember,
            _checked_text(text),
            _one_of(MemoryType, "type", type),
            title=title,
            metadata=metadata,
            importance=importance,
            key=key,
            user=user,
            repository=repository,
            valid_from=_with_zone(valid_from),
            valid_until=_with_zone(valid_until),
        )

    def supersede(
        self,
        id: str,
        text: str,
        *,
        reason: str | None = None,
        type: str | None = None,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Memory:
        """Store a text that supersedes a memory, which ends now and is still found in the past.

        The new memory is of the same type unless `type` is given. Raises NotFound, Refused, InvalidInput.
        """
        return self._run(
            memories.remember,
            _checked_text(text),
            _one_of(MemoryType, "type", self.get(id).type if type is None else type),
            title=title,
            metadata=metadata,
            supersedes=[id],
            reason=reason,
        )

    def recall(
        self,
        question: str,
        *,
        limit: int = 10,
        tokens: int = 0,
        sources: Iterable[Literal["memory", "decision", "session", "code", "commit"]] | None = None,
        as_of: datetime | None = None,
        type: str | None = None,
        status: str | None = None,
        repository: str | None = None,
        author: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> list[Hit]:
        """Return the best answers by meaning, words and graph, the newest truth first: memories, decisions, sessions.

        `sources` are the kinds of answers, by default those of the setting `recall_sources`. `tokens` limits all texts
        together: long ones are cut to the part that answers. `as_of` asks for the truth at an instant. With `type`,
        `status`, `author` or `metadata` only memories are found; `metadata` must be among a memory's own. Raises
        InvalidInput, ScopeViolation for a repository that is not the caller's.
        """
        return self._run(
            memories.search,
            question,
            limit,
            _with_zone(as_of),
            _query(type, status, repository, author, metadata),
            sources=None if sources is None else [_one_of(Source, "sources", s) for s in sources],
            tokens=tokens,
        )

    def list_memories(
        self,
        *,
        limit: int = 20,
        offset: int = 0,
        as_of: datetime | None = None,
        type: str | None = None,
        status: str | None = None,
        repository: str | None = None,
        author: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryList:
        """Return a page of the memories, the newest first, ended ones too unless `as_of` is given.

        Raises as `recall` does.
        """
        where = _query(type, status, repository, author, metadata)
        return self._run(memories.list_memories, where, limit, offset, at=_with_zone(as_of))

    def get(self, id: str | None = None, *, key: str | None = None) -> Memory:
        """Return a memory by its id, or by the key that this caller gave it. Raises NotFound."""
        return self._run(memories.read_memory, id, key)

    def history(self, id: str) -> list[Version]:
        """Return the versions of a memory, the oldest first. Raises NotFound."""
        return self._run(memories.show, id).versions

    def update(
        self,
        id: str,
        *,
        text: str | None = None,
        title: str | None = None,
        type: str | None = None,
        importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Memory:
        """Change the given fields of a memory; its earlier texts are kept. Raises NotFound, Refused, InvalidInput."""
        new_type = _one_of(MemoryType, "type", type)
        content = None if text is None else _checked_text(text)
        return self._run(memories.change_memory, id, content, title, new_type, importance, metadata)

    def invalidate(
        self, id: str, *, reason: str | None = None, superseded_by: str | None = None
    ) -> Memory:
        """End a memory now: it is no longer true, and still found in the past. Raises NotFound, Refused."""
        return self._run(memories.invalidate, id, reason, superseded_by)

    def forget(self, id: str) -> bool:
        """Remove a memory and its versions for good; tell whether it was there. Raises Refused."""
        return self._run(memories.delete_memory, id)


def _query(
    type: str | None,
    status: str | None,
    repository: str | None,
    author: str | None,
    metadata: Mapping[str, Any] | None,
) -> MemoryQuery:
    return MemoryQuery(
        type=_one_of(MemoryType, "type", type),
        status=_one_of(Status, "status", status),
        repository=repository,
        author=author,
        metadata=metadata or {},
    )


@overload
def _one_of(enum: type[E], argument: str, value: str) -> E: ...


@overload
def _one_of(enum: type[E], argument: str, value: str | None) -> E | None: ...


def _one_of(enum: type[E], argument: str, value: str | None) -> E | None:
    """Return the member of an enumeration that has a value; None for None. Raises InvalidInput if none has it."""
    if value is not None and value not in list(enum):
        raise InvalidInput(argument, must_be_one_of(enum))
    return None if value is None else enum(value)


def _checked_text(text: str) -> str:
    """Return a text. Raises InvalidInput if it is longer than MOST_BYTES."""
    count = len(text.encode("utf-8", "surrogatepass"))
    if count > MOST_BYTES:
        raise InvalidInput(
            "text", "must be at most {most} bytes, got {count}", most=MOST_BYTES, count=count
        )
    return text


def _with_zone(instant: datetime | None) -> datetime | None:
    """Return an instant with a time zone, the local one if it has none."""
    return None if instant is None else instant.astimezone()
