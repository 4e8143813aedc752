"""A memory for programs: the tools that contracts offer to agents, as typed methods."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self

from minutebook.api.connection import ContractConnection, Reply
from minutebook.api.records import (
    About,
    Decision,
    DecisionLine,
    Entity,
    FoundDecision,
    Hit,
    Memory,
    MemoryPage,
    Neighbourhood,
    Relation,
    Summary,
    SummaryHit,
    Turn,
    TurnHit,
    TurnPage,
    Version,
    decision_line_of,
    decision_of,
    entity_of,
    hit_of,
    memory_of,
    relation_of,
    summary_of,
    turn_of,
    version_of,
)
from minutebook.domain.errors import NotFound
from minutebook.domain.instants import rfc3339

_PAGE = 100


class Entities:
    """Entities and the relations between them."""

    def __init__(self, connection: ContractConnection) -> None:
        self._connection = connection

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
        given = _given(name=name, entity_type=type, description=description, user_id=user)
        made = self._call("create_entity", given).content
        shape = self._call("describe_entity", {"entity_id": made["id"], "limit": 1}).content
        return entity_of(shape["entity"])

    def find(self, name: str = "", *, limit: int = 20, offset: int = 0) -> list[Entity]:
        """Return the entities with a name that begins so, by name."""
        given = {"name": name, "limit": limit, "offset": offset}
        return [entity_of(each) for each in self._call("find_entities", given).content["entities"]]

    def relate(self, source: str, target: str, type: str, *, weight: float = 1.0) -> Relation:
        """Relate two entities, by their ids; the same again takes the new weight. Raises NotFound."""
        given = {"from_entity": source, "to_entity": target, "relation_type": type}
        made = self._call("create_relation", {**given, "weight": weight}).content
        return Relation(id=made["id"], source=source, target=target, type=type, weight=weight)

    def related(
        self,
        id: str,
        *,
        depth: int = 1,
        direction: Literal["outgoing", "incoming", "both"] = "both",
    ) -> Neighbourhood:
        """Walk the relations from an entity, up to `depth` steps. Raises NotFound."""
        given = {"entity_id": id, "depth": depth, "direction": direction}
        shape = self._call("get_related", given).content
        return Neighbourhood(
            entities=[entity_of(each) for each in shape["entities"]],
            relations=[relation_of(each) for each in shape["relations"]],
        )

    def about(self, id: str, *, limit: int = 50) -> About:
        """Return an entity, its relations and the memories that name it. Raises NotFound."""
        shape = self._call("describe_entity", {"entity_id": id, "limit": limit}).content
        return About(
            entity=entity_of(shape["entity"]),
            relations=[relation_of(each) for each in shape["relations"]],
            neighbours=[entity_of(each["entity"]) for each in shape["relations"]],
            memories=[memory_of(each) for each in shape["memories"]],
            has_more=shape["has_more"],
        )

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> Reply:
        return self._connection.call("knowledge", tool, arguments)


class Decisions:
    """Decisions on the record, in Git."""

    def __init__(self, connection: ContractConnection) -> None:
        self._connection = connection

    def record(
        self, target: str, title: str, rationale: str, consequences: Sequence[str] = ()
    ) -> Decision:
        """Put a first decision on a target. Raises Decided if it has one, Refused."""
        given = _decision(target, title, rationale, consequences)
        return self.read(self._call("record_decision", given)["decision_id"])

    def supersede(
        self,
        ids: Sequence[str],
        target: str,
        title: str,
        rationale: str,
        consequences: Sequence[str] = (),
    ) -> Decision:
        """Put a decision in the place of all that hold on its target. Raises NotFound, Conflict, Refused."""
        given = _decision(target, title, rationale, consequences)
        made = self._call("supersede_decision", {**given, "old_decision_ids": list(ids)})
        return self.read(made["decision_id"])

    def propose(
        self,
        target: str,
        title: str,
        rationale: str,
        consequences: Sequence[str] = (),
        *,
        supersedes: Sequence[str] = (),
    ) -> Decision:
        """Keep a decision for a person to accept. Raises NotFound, Conflict, Refused."""
        given = _decision(target, title, rationale, consequences)
        made = self._call("propose_decision", {**given, "supersedes": list(supersedes)})
        return self.read(made["proposal_id"])

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        mode: Literal["strict", "balanced", "audit"] = "strict",
    ) -> list[FoundDecision]:
        """Find decisions: the active ones, with `balanced` proposals too, with `audit` the past."""
        given = {"query": query, "limit": limit, "mode": mode}
        names = ("id", "kind", "status", "preview", "score")
        return [
            FoundDecision(**{name: each[name] for name in names})
            for each in self._call("search_decisions", given)["results"]
        ]

    def holding(self) -> list[DecisionLine]:
        """Return the decisions that hold, the newest first; 200 at most."""
        found = self._connection.read("ledger", "decision://index")["decisions"]
        return [decision_line_of(each) for each in found]

    def read(self, id: str) -> Decision:
        """Return a decision or proposal whole. Raises NotFound."""
        return decision_of(self._connection.read("ledger", f"decision://{id}"))

    def history(self, id: str) -> list[Decision]:
        """Return every decision on the target of one, the oldest first. Raises NotFound."""
        found = self._connection.read("ledger", f"decision://{id}/history")["decisions"]
        return [decision_of(each) for each in found]

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._connection.call("ledger", tool, arguments).content


class Sessions:
    """The turns of sessions, in order, and their summaries."""

    def __init__(self, connection: ContractConnection) -> None:
        self._connection = connection

    def append(self, session: str, prompt: str, response: str, *, thought: str = "") -> Turn:
        """Keep a turn after the last one of its session. Raises Refused, InvalidInput."""
        said = {"prompt": prompt, "thought": thought, "response": response}
        return turn_of({**self._call("add_memory", {**said, "sessionId": session}), **said})

    def turns(self, session: str, *, limit: int = _PAGE, offset: int = 0) -> TurnPage:
        """Return a page of a session's turns, oldest first; none if there is no such session."""
        given = {"sessionId": session, "limit": limit, "offset": offset}
        shape = self._call("get_session_memories", given)
        turns = [turn_of(each) for each in shape["memories"]]
        return TurnPage(turns=turns, total=shape["total"])

    def search(self, query: str, *, limit: int = 10, session: str | None = None) -> list[TurnHit]:
        """Find turns by meaning and by words; with a session, in it alone."""
        given = _given(query=query, nResults=limit, sessionId=session)
        return [
            TurnHit(turn=turn_of(each), relevance=each.get("relevanceScore"))
            for each in self._call("query_raw_memories", given)["results"]
        ]

    def summarize(self, session: str) -> Summary:
        """Summarize a session anew, and return its summary. Raises NotFound, Refused, Conflict."""
        self._call("summarize_sessions", {"sessionId": session})
        offset = 0
        while page := self.summaries(limit=_PAGE, offset=offset):
            for each in page:
                if each.session == session:
                    return each
            offset += _PAGE
        raise NotFound("summary", session)

    def summaries(
        self, *, limit: int = 20, offset: int = 0, category: str | None = None
    ) -> list[Summary]:
        """Return a page of the summaries, the newest first."""
        given = _given(limit=limit, offset=offset, category=category)
        return [summary_of(each) for each in self._call("get_all_summaries", given)["summaries"]]

    def search_summaries(
        self, query: str, *, limit: int = 10, category: str | None = None
    ) -> list[SummaryHit]:
        """Find summaries by meaning and by words."""
        given = _given(query=query, nResults=limit, category=category)
        return [
            SummaryHit(summary=summary_of(each), relevance=each.get("relevanceScore"))
            for each in self._call("query_summaries", given)["results"]
        ]

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._connection.call("journal", tool, arguments).content


class Minutebook:
    """A memory: memories here, and `entities`, `decisions` and `sessions`.

    May be used from any thread. Every method raises the same errors in this process and over HTTP: those of
    the domain; over HTTP also ServerError, and Unidentified if the token lets nobody in.
    """

    def __init__(self, connection: ContractConnection) -> None:
        self._connection = connection
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
        """Let go of the store, or of the connections to the server."""
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
        """Keep a text; under a key, a name of the program's own, it takes the place of the text before.

        `key` is the caller's: another user or repository has keys of its own. Raises Refused if the caller
        may not write this there, InvalidInput if a value does not fit, EmbeddingNotReady.
        """
        given = _given(
            content=text,
            memory_type=type,
            title=title,
            metadata=None if metadata is None else dict(metadata),
            importance=importance,
            key=key,
            user_id=user,
            repository=repository,
            valid_from=_written(valid_from),
            valid_until=_written(valid_until),
        )
        return memory_of(self._call("put_memory", given)["memory"])

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
        """Keep a text in the place of a memory, which ends now and is still found in the past.

        It is of the same type unless another is named. Raises NotFound, Refused, InvalidInput.
        """
        given = _given(
            content=text,
            memory_type=self.get(id).type if type is None else type,
            title=title,
            metadata=None if metadata is None else dict(metadata),
            supersedes=[id],
            reason=reason,
        )
        return memory_of(self._call("put_memory", given)["memory"])

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

        `sources` names where answers may come from; by default what the setting `recall_sources` says. A long text is cut to the part that answers where `tokens` says how many all texts
        may have together. With `as_of`, what was true at that instant. `type`, `status`, `author` and `metadata` leave
        only memories; `metadata` keeps those that have each of its keys with its value. Raises InvalidInput,
        ScopeViolation for a repository that is not the caller's.
        """
        given = _given(
            query=question,
            limit=limit,
            tokens=tokens,
            sources=None if sources is None else list(sources),
            as_of=_written(as_of),
            filters=_filters(type, status, repository, author, metadata),
        )
        reply = self._connection.call("knowledge", "find_answers", given)
        marks = {
            each["id"]: tuple(each["reads_as_instructions"])
            for each in reply.notes.get("provenance", {}).get("records", ())
            if "reads_as_instructions" in each
        }
        return [hit_of(each, marks) for each in reply.content["results"]]

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
    ) -> MemoryPage:
        """Return a page of the memories, the newest first, ended ones too unless `as_of` is given.

        Raises as `recall` does.
        """
        filters = _filters(type, status, repository, author, metadata)
        given = _given(limit=limit, offset=offset, as_of=_written(as_of), filters=filters)
        shape = self._call("find_memories", given)
        memories = [memory_of(each) for each in shape["memories"]]
        return MemoryPage(memories=memories, total=shape["total"])

    def get(self, id: str | None = None, *, key: str | None = None) -> Memory:
        """Return a memory by its id, or by the key that this caller gave it. Raises NotFound."""
        return memory_of(self._call("read_memory", _given(id=id, key=key))["memory"])

    def history(self, id: str) -> list[Version]:
        """Return a memory's texts, the oldest first. Raises NotFound."""
        return [version_of(each) for each in self._call("read_memory", {"id": id})["versions"]]

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
        """Change the given fields of a memory; its earlier texts are kept. Raises NotFound, Refused."""
        given = _given(
            id=id,
            content=text,
            title=title,
            memory_type=type,
            importance=importance,
            metadata=None if metadata is None else dict(metadata),
        )
        return memory_of(self._call("change_memory", given)["memory"])

    def invalidate(
        self, id: str, *, reason: str | None = None, superseded_by: str | None = None
    ) -> Memory:
        """End a memory now: it is no longer true, and still found in the past. Raises NotFound, Refused."""
        self._call("invalidate", _given(id=id, reason=reason, superseded_by=superseded_by))
        return self.get(id)

    def forget(self, id: str) -> bool:
        """Remove a memory and its versions for good; tell whether it was there. Raises Refused."""
        return bool(self._call("delete_memory", {"id": id})["deleted"])

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._connection.call("knowledge", tool, arguments).content


def _given(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that were given: None is none."""
    return {name: value for name, value in arguments.items() if value is not None}


def _filters(
    type: str | None,
    status: str | None,
    repository: str | None,
    author: str | None,
    metadata: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    named = _given(
        memory_type=type,
        status=status,
        repository=repository,
        author=author,
        metadata=dict(metadata) if metadata else None,
    )
    return named or None


def _decision(
    target: str, title: str, rationale: str, consequences: Sequence[str]
) -> dict[str, Any]:
    given = {"target": target, "title": title, "rationale": rationale}
    return {**given, "consequences": list(consequences)}


def _written(instant: datetime | None) -> str | None:
    """Write an instant; one without a zone is in the local one."""
    return None if instant is None else rfc3339(instant.astimezone())
