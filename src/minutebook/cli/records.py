"""The result of a command, as `--json` prints it: records in the shapes of the API."""

from collections.abc import Mapping
from dataclasses import asdict

from minutebook.api import records
from minutebook.domain.origin import by_whom
from minutebook.domain.records import Decision, Edge, Memory, Token


def shape_of(answer: object) -> object:
    """Return the answer of a command with each record of the store as the API's record of its kind."""
    match answer:
        case Memory():
            return asdict(_memory(answer))
        case Decision():
            return asdict(_decision(answer))
        case Edge():
            return asdict(_relation(answer))
        case Token():
            # Its digest is nobody's to read.
            return {"id": answer.id, "name": answer.name, "role": answer.role}
        case Mapping():
            return {name: shape_of(each) for name, each in answer.items()}
        case list() | tuple():
            return [shape_of(each) for each in answer]
        case _:
            return answer


def _memory(memory: Memory) -> records.Memory:
    origin = memory.origin
    return records.Memory(
        id=memory.id,
        text=memory.content,
        type=memory.type,
        status=memory.status,
        scope=memory.scope,
        organization=memory.organization,
        author=by_whom(memory.author, origin),
        created_at=memory.ingestion_time,
        updated_at=memory.updated_at,
        valid_from=memory.valid_from,
        valid_until=memory.valid_until,
        title=memory.title,
        repository=memory.repository,
        user=memory.user,
        importance=memory.importance,
        metadata=dict(memory.metadata),
        client=None if origin is None else origin.program or None,
        contract=None if origin is None else origin.contract or None,
        version=memory.version,
        reason=memory.reason,
        superseded_by=memory.superseded_by,
    )


def _decision(decision: Decision) -> records.Decision:
    return records.Decision(
        id=decision.id,
        kind=decision.kind,
        target=decision.target,
        title=decision.title,
        rationale=decision.rationale,
        consequences=decision.consequences,
        status=decision.status,
        author=by_whom(decision.author, decision.origin),
        created_at=decision.created_at,
        supersedes=decision.supersedes,
        superseded_by=decision.superseded_by,
        authorship=decision.authorship,
        commit=decision.commit_id,
    )


def _relation(edge: Edge) -> records.Relation:
    return records.Relation(
        id=edge.id, source=edge.source, target=edge.target, type=edge.type, weight=edge.weight
    )
