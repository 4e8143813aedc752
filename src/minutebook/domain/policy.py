"""Who may do what: one table for every contract, over caller, act and record."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from minutebook.domain.errors import Forbidden, Locked
from minutebook.domain.records import Memory, MemoryType, Role, ScopeLevel

PROTECTED_TYPES = frozenset({MemoryType.BUSINESS_RULE, MemoryType.SYSTEM_CONSTRAINT})
"""What an agent may not write in a governed store."""

_RANK = {role: rank for rank, role in enumerate(Role)}
_STEWARDS = frozenset({Role.MANAGER, Role.ARCHITECT, Role.ADMIN})


class Policy(StrEnum):
    """How strictly a store is kept: `open` for one person, `governed` for a team."""

    OPEN = "open"
    GOVERNED = "governed"


Listener = Callable[[float, str], None]
"""Hears which part of an act is done, in [0, 1], and what is next; raises to end the act."""


def _nobody(part: float, what: str) -> None:
    """Hear nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, and in which request. None for organization, repositories, user means: any.

    `writes_system` is what the door adds that they came through: the command line opens system
    scope, and the catalog contract does in an open store; the others never do. `listener` hears how far a long act is.
    """

    name: str
    role: Role
    organization: str | None = None
    repositories: frozenset[str] | None = None
    user: str | None = None
    request: str = ""
    writes_system: bool = False
    listener: Listener = field(default=_nobody, compare=False, repr=False)


def outranks(role: Role, other: Role) -> bool:
    """Tell whether a role is trusted with more than another; the three stewards are peers."""
    if role in _STEWARDS and other in _STEWARDS:
        return False
    return _RANK[role] > _RANK[other]


def check_may_write(caller: Caller, rules: Policy, type: MemoryType, scope: ScopeLevel) -> None:
    """Refuse a new memory, or a new type or scope of one, that the caller may not set."""
    _check_not_viewer(caller, "write")
    _check_unprotected(caller, rules, "write", type, scope)


def check_may_change(caller: Caller, rules: Policy, memory: Memory) -> None:
    """Refuse a change, an end or a new link of a memory that is locked or protected."""
    _check_not_viewer(caller, "change")
    _check_unlocked("change", memory)
    _check_unprotected(caller, rules, "change", memory.type, memory.scope)


def check_may_delete(caller: Caller, rules: Policy, memory: Memory) -> None:
    """Refuse to hard-delete what is locked or protected or, to an agent, what another wrote."""
    _check_not_viewer(caller, "delete")
    _check_unlocked("delete", memory)
    _check_unprotected(caller, rules, "delete", memory.type, memory.scope)
    if not may_remove_work_of(caller, memory.author):
        raise Forbidden("delete", f"written by {memory.author!r}; an agent deletes only its own")


def check_may_relate(caller: Caller) -> None:
    """Refuse a change of the graph to whoever may only read."""
    _check_not_viewer(caller, "relate")


def check_may_index(caller: Caller) -> None:
    """Refuse to index a project, or to delete one, to whoever may only read."""
    _check_not_viewer(caller, "index")


def check_may_reset(caller: Caller) -> None:
    """Refuse a reset to whoever may only read."""
    _check_not_viewer(caller, "reset")


def survives_reset(caller: Caller, rules: Policy, memory: Memory) -> bool:
    """Tell whether a reset by this caller leaves the memory standing."""
    try:
        _check_unprotected(caller, rules, "reset", memory.type, memory.scope)
    except Forbidden:
        return True
    return is_locked_above(caller, memory) or not may_remove_work_of(caller, memory.author)


def is_locked_above(caller: Caller, memory: Memory) -> bool:
    """Tell whether someone of a higher role than the caller's locked the memory."""
    return memory.locked_by is not None and outranks(memory.locked_by, caller.role)


def may_remove_work_of(caller: Caller, author: str) -> bool:
    """Tell whether the caller may remove for good what the author wrote: an agent only its own."""
    return caller.role is not Role.AGENT or author == caller.name


def check_may_lock(caller: Caller) -> None:
    """Refuse a lock to everyone but a manager, an architect or an admin."""
    if caller.role not in _STEWARDS:
        raise Forbidden("lock", f"the role {caller.role} may not lock; a manager may")


def check_may_unlock(caller: Caller, memory: Memory) -> None:
    """Refuse to open what a higher role locked."""
    if caller.role not in _STEWARDS:
        raise Forbidden("unlock", f"the role {caller.role} may not unlock; a manager may")
    if is_locked_above(caller, memory):
        raise Forbidden("unlock", f"locked by the role {memory.locked_by}")


def _check_unprotected(
    caller: Caller, rules: Policy, act: str, type: MemoryType, scope: ScopeLevel
) -> None:
    if rules is Policy.GOVERNED and type in PROTECTED_TYPES and caller.role is Role.AGENT:
        raise Forbidden(act, f"the type {type} is kept from agents; a person may")
    if scope is ScopeLevel.SYSTEM and not caller.writes_system:
        raise Forbidden(act, "system scope is not written through this door; the command line does")


def _check_unlocked(act: str, memory: Memory) -> None:
    if memory.locked_by is not None:
        raise Locked(act, f"locked by the role {memory.locked_by}", memory.id)


def _check_not_viewer(caller: Caller, act: str) -> None:
    if caller.role is Role.VIEWER:
        raise Forbidden(act, "the role viewer may only read")
