"""Whom a caller may hear: the organizations open to them, and the records in each."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from minutebook.domain.errors import NotFound
from minutebook.domain.filters import Filter, within_reach
from minutebook.domain.policy import Caller
from minutebook.domain.records import (
    SYSTEM_ORGANIZATION,
    Decision,
    Entity,
    Kind,
    Memory,
    Project,
    Proposal,
    Record,
)
from minutebook.store.protocol import Store

Clock = Callable[[], datetime]
"""Gives the present instant, in UTC."""

R = TypeVar("R", bound=Record)


def filters(store: Store, caller: Caller) -> list[Filter]:
    """Select, organization by organization, all that the caller may see."""
    open_to = store.organizations()
    if caller.organization is not None:
        open_to = [name for name in open_to if name in (caller.organization, SYSTEM_ORGANIZATION)]
    return [within_reach(caller, name) for name in open_to]


def read_memory(store: Store, caller: Caller, id: str) -> Memory:
    """Give the memory with that id; NotFound if there is none or the caller may not see it."""
    return _read(store, caller, Memory, Kind.MEMORY, id)


def read_entity(store: Store, caller: Caller, id: str) -> Entity:
    """Give the entity with that id; NotFound if there is none or the caller may not see it."""
    return _read(store, caller, Entity, Kind.ENTITY, id)


def read_project(store: Store, caller: Caller, id: str) -> Project:
    """Give the project with that id; NotFound if there is none or the caller may not see it."""
    return _read(store, caller, Project, Kind.PROJECT, id)


def read_decision(store: Store, caller: Caller, id: str) -> Decision:
    """Give the decision with that id; NotFound if there is none or the caller may not see it."""
    return _read(store, caller, Decision, Kind.DECISION, id)


def read_proposal(store: Store, caller: Caller, id: str) -> Proposal:
    """Give the proposal with that id; NotFound if there is none or the caller may not see it."""
    return _read(store, caller, Proposal, Kind.PROPOSAL, id)


def narrowed(where: Filter, **conditions: object) -> Filter:
    """Select, of what passes, the records whose fields also equal these values."""
    return replace(where, equal={**where.equal, **conditions})


def merged(parts: Iterable[list[R]], order: tuple[str, ...], offset: int, limit: int) -> list[R]:
    """Put ordered parts of several organizations into one order and cut a page out of it.

    `order` names fields, all descending (`-name`); ties go by id, descending too.
    """
    names = [name.removeprefix("-") for name in order]
    everything = [record for part in parts for record in part]
    everything.sort(key=lambda r: (*(getattr(r, name) for name in names), r.id), reverse=True)
    return everything[offset : offset + limit]


def _read(store: Store, caller: Caller, of: type[R], kind: Kind, id: str) -> R:
    for where in filters(store, caller):
        record = store.get(kind, where.organization, id)
        if isinstance(record, of) and where.passes(record):
            return record
    raise NotFound(kind, id)
