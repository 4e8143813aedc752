"""Records to test with, plain but for what a test says of them."""

from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import numpy as np

from minutebook.record.records import (
    Authorship,
    Category,
    CodeChunk,
    Decision,
    DecisionStatus,
    Edge,
    Entity,
    Entry,
    File,
    Head,
    IndexState,
    Kind,
    LedgerMark,
    Memory,
    MemoryType,
    Project,
    ProjectCommit,
    Proposal,
    ProposalStatus,
    Role,
    ScopeLevel,
    Status,
    Summary,
    Token,
    Turn,
    Version,
)
from minutebook.store.values import Vectors, VectorSpace

E = TypeVar("E", bound=Edge)

ORGANIZATIONS = ("acme", "zoo")
IDS = ("a", "b", "c", "d", "e")
START = datetime(2026, 1, 1, tzinfo=UTC)
INSTANTS = tuple(START + timedelta(days=n) for n in range(4))
SPACES = (VectorSpace("small", "1", 4), VectorSpace("small", "2", 4))
FORMS = ("", "one", "other")


def memory(id: str = "a", content: str = "bread", **fields: Any) -> Memory:
    plain: dict[str, Any] = {
        "organization": "acme",
        "scope": ScopeLevel.ORGANIZATION,
        "type": MemoryType.FACT,
        "status": Status.ACTIVE,
        "author": "ana",
        "event_time": START,
        "ingestion_time": START,
        "updated_at": START,
        "valid_from": START,
    }
    return Memory(id=id, content=content, **{**plain, **fields})


def version(memory: str = "a", number: int = 1, **fields: Any) -> Version:
    plain: dict[str, Any] = {
        "organization": "acme",
        "content": "bread",
        "title": None,
        "changed_by": "ana",
        "changed_at": START,
        "request": "",
    }
    return Version(id=f"{memory}.{number}", memory=memory, number=number, **{**plain, **fields})


def entity(id: str = "a", name: str = "Ana", **fields: Any) -> Entity:
    plain: dict[str, Any] = {
        "organization": "acme",
        "type": "person",
        "author": "ana",
        "created_at": START,
    }
    return Entity(id=id, name=name, **{**plain, **fields})


def edge(of: type[E], source: str, target: str, **fields: Any) -> E:
    plain: dict[str, Any] = {
        "organization": "acme",
        "id": f"{source}.{target}",
        "type": "near",
        "created_at": START,
    }
    return of(source=source, target=target, **{**plain, **fields})


def project(id: str = "a", **fields: Any) -> Project:
    plain: dict[str, Any] = {
        "organization": "acme",
        "path": "/home/ana/a",
        "author": "ana",
        "state": IndexState.COMPLETED,
        "started_at": START,
    }
    return Project(id=id, **{**plain, **fields})


def file(id: str = "a", **fields: Any) -> File:
    plain: dict[str, Any] = {
        "organization": "acme",
        "project": "a",
        "path": f"{id}.py",
        "stamp": "1",
        "digest": "2",
    }
    return File(id=id, **{**plain, **fields})


def commit(id: str = "a", message: str = "bread", **fields: Any) -> ProjectCommit:
    plain: dict[str, Any] = {
        "organization": "acme",
        "project": "a",
        "sha": "3fa9c1d0" * 5,
        "at": START,
        "author": "Ana",
    }
    return ProjectCommit(id=id, message=message, **{**plain, **fields})


def chunk(id: str = "a", content: str = "bread", **fields: Any) -> CodeChunk:
    plain: dict[str, Any] = {
        "organization": "acme",
        "project": "a",
        "path": "a.py",
        "language": "python",
        "type": "function",
        "name": "bake",
        "signature": "",
        "start_line": 1,
        "end_line": 2,
    }
    return CodeChunk(id=id, content=content, **{**plain, **fields})


def decision(id: str = "a", **fields: Any) -> Decision:
    plain: dict[str, Any] = {
        "organization": "acme",
        "target": "store",
        "title": "bread",
        "rationale": "because it lasts",
        "status": DecisionStatus.ACTIVE,
        "authorship": Authorship.AGENT,
        "author": "ana",
        "created_at": START,
    }
    return Decision(id=id, **{**plain, **fields})


def proposal(id: str = "a", **fields: Any) -> Proposal:
    plain: dict[str, Any] = {
        "organization": "acme",
        "target": "store",
        "title": "bread",
        "rationale": "because it lasts",
        "status": ProposalStatus.PENDING,
        "author": "ana",
        "created_at": START,
    }
    return Proposal(id=id, **{**plain, **fields})


def mark(id: str = "a", **fields: Any) -> LedgerMark:
    plain: dict[str, Any] = {"organization": "acme", "commit_id": "1", "verified_at": START}
    return LedgerMark(id=id, **{**plain, **fields})


def token(id: str = "a", **fields: Any) -> Token:
    plain: dict[str, Any] = {
        "organization": "acme",
        "name": "ana",
        "role": Role.AGENT,
        "digest": "1",
        "author": "bo",
        "created_at": START,
    }
    return Token(id=id, **{**plain, **fields})


def turn(id: str = "a", response: str = "bread", **fields: Any) -> Turn:
    plain: dict[str, Any] = {
        "organization": "acme",
        "session": "s",
        "at": START,
        "prompt": "what is there?",
        "thought": "look",
        "author": "ana",
    }
    return Turn(id=id, response=response, **{**plain, **fields})


def summary(id: str = "a", summary: str = "bread", **fields: Any) -> Summary:
    plain: dict[str, Any] = {
        "organization": "acme",
        "session": "s",
        "at": START,
        "title": "Baking",
        "category": Category.OTHER,
        "turn_count": 1,
        "quality": 1,
        "productivity": 2,
        "impact": 3,
        "complexity": 4,
        "technologies": (),
        "made_by": "ana",
        "reasons": {},
        "last_turn": "a",
        "author": "ana",
    }
    return Summary(id=id, summary=summary, **{**plain, **fields})


def entry(number: int = 1, **fields: Any) -> Entry:
    plain: dict[str, Any] = {
        "organization": "acme",
        "at": START,
        "actor": "ana",
        "role": Role.AGENT,
        "act": "write",
        "subject_kind": Kind.MEMORY,
        "subject": "a",
        "request": "",
        "outcome": "done",
        "before": "",
        "after": "",
        "previous": "",
        "digest": "",
    }
    return Entry(id=str(number), number=number, **{**plain, **fields})


def head(number: int = 1, **fields: Any) -> Head:
    return Head(**{"organization": "acme", "id": "head", "number": number, "digest": "", **fields})


def unit(*coordinates: float) -> Vectors:
    vector = np.array(coordinates, np.float32)
    return vector / np.float32(np.linalg.norm(vector))
