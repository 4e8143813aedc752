"""Whom a caller may hear: the organizations open to them, and the records in each.

What the caller's folder shows narrows searches and lists; a record that is named by its id is found
wherever the caller may see it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from minutebook.domain.caller import Caller, anywhere
from minutebook.domain.errors import NotFound
from minutebook.domain.filters import Filter, open_organizations, visible_filter
from minutebook.domain.ids import uuid_named
from minutebook.domain.policy import Owned, scope_between
from minutebook.domain.records import (
    SYSTEM_ORGANIZATION,
    Edge,
    Record,
)
from minutebook.store.protocol import R, Store

Clock = Callable[[], datetime]
"""Gives the present instant, in UTC."""


def filters(store: Store, caller: Caller) -> list[Filter]:
    """Select, organization by organization, what the caller may see, as far as their folder shows it."""
    bound = open_organizations(caller)
    return [visible_filter(caller, name) for name in store.organizations(bound)]


def read(store: Store, caller: Caller, of: type[R], id: str, *, with_deleted: bool = False) -> R:
    """Return a record, `with_deleted` also a soft-deleted memory.

    Raises NotFound if there is none or the caller may not see it.
    """
    for where in filters(store, anywhere(caller)):
        record = store.get(of, where.organization, id)
        if record is not None and replace(where, with_deleted=with_deleted).passes(record):
            return record
    raise NotFound(of.kind, id)


def sees_ends(store: Store, caller: Caller, edge: Edge) -> bool:
    """Tell whether the caller may see both what an edge comes from and what it leads to."""
    everything = replace(visible_filter(caller, edge.organization), with_deleted=True)
    ends = zip(edge.joins, (edge.source, edge.target), strict=True)
    records = [store.get(of, edge.organization, id) for of, id in ends]
    return all(each is not None and everything.passes(each) for each in records)


def owned_by(store: Store, record: Record) -> Owned:
    """Return whose a record is: of an edge, whose both its ends are. Raises NotFound if an end is gone."""
    if not isinstance(record, Edge):
        return record  # type: ignore[return-value]
    pairs = zip(record.joins, (record.source, record.target), strict=True)
    ends = [store.get(of, record.organization, id) for of, id in pairs]
    if None in ends:
        raise NotFound(record.kind, record.id)
    return scope_between(ends[0], ends[1])  # type: ignore[arg-type]


def organization_with(store: Store, caller: Caller, id: UUID) -> str:
    """Return the organization with a UUID: the caller's, else one in the store, else a new one.

    A name that the caller is not held to is given too; `policy.narrowed_to` refuses it.
    """
    known = store.organizations() if caller.organization is None else [caller.organization]
    return _with(id, (name for name in known if name != SYSTEM_ORGANIZATION))


def repository_with(caller: Caller, id: UUID) -> str:
    """Return the repository with a UUID: one of the caller's, else a new one."""
    return _with(id, sorted(caller.repositories or ()))


def all_within(store: Store, caller: Caller, of: type[R], **conditions: object) -> list[R]:
    """Return the records of a class that the caller may see and whose fields equal these values."""
    return [
        record
        for where in filters(store, caller)
        for record in store.find(of, narrowed(where, **conditions))
    ]


def narrowed(where: Filter, **conditions: object) -> Filter:
    """Select, of what passes, the records whose fields also equal these values."""
    return replace(where, equal={**where.equal, **conditions})


def page_of(
    store: Store, of: type[R], wheres: Sequence[Filter], order: str, limit: int, offset: int
) -> tuple[list[R], int]:
    """Return a page over several organizations, in the order of `Store.find`, and the total."""
    found = store.page(of, wheres, order=[order], limit=limit, offset=offset)
    if len(found) < limit and (found or not offset):
        return found, offset + len(found)
    return found, sum(store.count(of, where) for where in wheres)


def _with(id: UUID, names: Iterable[str]) -> str:
    return next((name for name in names if uuid_named(name) == id), str(id))
