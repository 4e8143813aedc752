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

__all__ = [
    "About",
    "AsyncMinutebook",
    "Decision",
    "DecisionLine",
    "Decisions",
    "Entities",
    "Entity",
    "FoundDecision",
    "Hit",
    "Memory",
    "MemoryPage",
    "Minutebook",
    "Neighbourhood",
    "Relation",
    "ServerError",
    "ServerRefused",
    "ServerSilent",
    "ServerUnreachable",
    "Sessions",
    "SignalShare",
    "Summary",
    "SummaryHit",
    "Turn",
    "TurnHit",
    "TurnPage",
    "Version",
    "open_memory",
    "open_memory_async",
]
