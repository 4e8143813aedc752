"""A memory for programs, sync and async, in this process or on a server.

from minutebook import open_memory

with open_memory() as memory:
    memory.remember("The staging database is PostgreSQL 16")
    memory.recall("Which database does staging use?")
"""

from minutebook.api.asynchronous import AsyncMinutebook, open_memory_async
from minutebook.api.client import Decisions, Entities, Minutebook, Sessions
from minutebook.api.errors import ServerError, ServerRefused, ServerSilent, ServerUnreachable
from minutebook.api.opening import open_memory
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
    SignalShare,
    Summary,
    SummaryHit,
    Turn,
    TurnHit,
    TurnPage,
    Version,
)
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

__all__ = [
    "About",
    "AsyncMinutebook",
    "Conflict",
    "Decision",
    "DecisionLine",
    "Decisions",
    "Entities",
    "Entity",
    "Forbidden",
    "FoundDecision",
    "Hit",
    "InvalidInput",
    "Locked",
    "Memory",
    "MemoryPage",
    "Minutebook",
    "MinutebookError",
    "Neighbourhood",
    "NotFound",
    "Refused",
    "Relation",
    "ScopeViolation",
    "ServerError",
    "ServerRefused",
    "ServerSilent",
    "ServerUnreachable",
    "Sessions",
    "SignalShare",
    "StoreError",
    "Summary",
    "SummaryHit",
    "Turn",
    "TurnHit",
    "TurnPage",
    "Unidentified",
    "Version",
    "open_memory",
    "open_memory_async",
]
