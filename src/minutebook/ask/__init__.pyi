from minutebook.ask.asynchronous import AsyncMinutebook, open_memory_async
from minutebook.ask.client import Decisions, Entities, Minutebook, Sessions
from minutebook.ask.errors import ServerError, ServerRefused, ServerSilent, ServerUnreachable
from minutebook.ask.memories import Hit
from minutebook.ask.opening import open_memory
from minutebook.record.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    Locked,
    MinutebookError,
    NotFound,
    Refused,
    ScopeViolation,
    StoreError,
    Unidentified,
)
from minutebook.record.listed import (
    EntityNeighbourhood,
    GraphStep,
    MemoryList,
    SessionTurns,
    Surrounded,
)
from minutebook.record.records import (
    Decision,
    Edge,
    Entity,
    Memory,
    Proposal,
    Summary,
    Turn,
    Version,
)

__all__ = [
    "AsyncMinutebook",
    "Conflict",
    "Decision",
    "Decisions",
    "Edge",
    "Entities",
    "Entity",
    "EntityNeighbourhood",
    "Forbidden",
    "GraphStep",
    "Hit",
    "InvalidInput",
    "Locked",
    "Memory",
    "MemoryList",
    "Minutebook",
    "MinutebookError",
    "NotFound",
    "Proposal",
    "Refused",
    "ScopeViolation",
    "ServerError",
    "ServerRefused",
    "ServerSilent",
    "ServerUnreachable",
    "SessionTurns",
    "Sessions",
    "StoreError",
    "Summary",
    "Surrounded",
    "Turn",
    "Unidentified",
    "Version",
    "open_memory",
    "open_memory_async",
]
