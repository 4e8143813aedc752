"""The time in which a memory holds: from its start until, not including, its end."""

from dataclasses import replace
from datetime import datetime

from minutebook.record.records import Memory, Status


def holds_at(memory: Memory, instant: datetime) -> bool:
    """Tell whether the memory was true at the instant: valid_from ≤ instant < valid_until."""
    return memory.valid_from <= instant and (
        memory.valid_until is None or instant < memory.valid_until
    )


def ended(memory: Memory, now: datetime, reason: str | None, successor: str | None) -> Memory:
    """End a memory now; one that has already ended keeps its end.

    A reason or successor that is None stays as it was. A memory with a
    successor is superseded.
    """
    until = memory.valid_until
    if until is None or now < until:
        until = max(now, memory.valid_from)
    successor = successor if successor is not None else memory.superseded_by
    return replace(
        memory,
        valid_until=until,
        updated_at=now,
        reason=reason if reason is not None else memory.reason,
        superseded_by=successor,
        status=memory.status if successor is None else Status.SUPERSEDED,
    )


def reopened(memory: Memory) -> Memory:
    """Return an ended memory as holding again, unless another superseded it."""
    if memory.superseded_by is not None:
        return memory
    return replace(memory, valid_until=None, reason=None)


def reinstated(memory: Memory, status: Status, now: datetime) -> Memory:
    """Return an ended memory as holding again, even if another superseded it."""
    alone = replace(memory, superseded_by=None)
    return replace(reopened(alone), status=status, updated_at=now)
