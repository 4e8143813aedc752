"""A memory for programs, sync and async, in this process or on a server.

from minutebook import open_memory

with open_memory() as memory:
    memory.remember("The staging database is PostgreSQL 16")
    memory.recall("Which database does staging use?")
"""

from importlib import import_module

_MODULES = {
    "minutebook.ask.asynchronous": "AsyncMinutebook open_memory_async",
    "minutebook.ask.client": "Decisions Entities Minutebook Sessions",
    "minutebook.ask.errors": "ServerError ServerRefused ServerSilent ServerUnreachable",
    "minutebook.ask.opening": "open_memory",
    "minutebook.record.listed": "EntityNeighbourhood GraphStep MemoryList SessionTurns Surrounded",
    "minutebook.record.records": "Decision Edge Entity Memory Proposal Summary Turn Version",
    "minutebook.ask.memories": "Hit",
    "minutebook.record.errors": (
        "Conflict Forbidden InvalidInput Locked MinutebookError NotFound Refused "
        "ScopeViolation StoreError Unidentified"
    ),
}
"""Where each name is defined; type checkers read `__init__.pyi`."""

_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> object:
    """Import the module of a name when it is asked for: a command needs few of them."""
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
