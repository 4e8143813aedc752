from minutebook.api.asynchronous import AsyncMinutebook, open_memory_async
from minutebook.api.client import Decisions, Entities, Minutebook, Sessions
from minutebook.api.errors import ServerError, ServerRefused, ServerSilent, ServerUnreachable
from minutebook.api.opening import open_memory
from minutebook.domain.errors import (
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
from minutebook.domain.listed import (
    EntityNeighbourhood,
    GraphStep,
    MemoryList,
    SessionTurns,
    Surrounded,
)
from minutebook.domain.records import (
    Decision,
    Edge,
    Entity,
    Memory,
    Proposal,
    Summary,
    Turn,
    Version,
)
from minutebook.operations.memories import Hit

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
