"""Supersession: chains of memories, each of which replaces the one before."""

from collections.abc import Iterator
from dataclasses import replace

from minutebook.memory.access.visibility import Clock, Records
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, Locked
from minutebook.record.filters import sees
from minutebook.record.origin import Origin
from minutebook.record.policy import check_may_write_to, may_write_to
from minutebook.record.reason import Reason
from minutebook.record.records import Kind, Link, Memory, Status
from minutebook.store.protocol import Tended

SUPERSEDES = "supersedes"


class Supersession:
    """Maintains the chains; call inside the transaction that changes a memory."""

    def __init__(self, store: Tended, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def check_may_succeed(self, caller: Caller, memory: Memory, id: str) -> None:
        """Raise NotFound if there is no memory with the successor's id, Conflict if it cannot succeed the memory.

        It cannot if it is in another organization, or if the memory is among its own successors.
        """
        home = Records(self._store).read(caller, Memory, id).organization
        if home != memory.organization:
            raise Conflict(
                id,
                "it is in the organization {home!r}; a memory can be superseded only by one of its own organization, {name!r}",
                home=home,
                name=memory.organization,
            )
        seen = {memory.id}
        following: str | None = id
        while following is not None:
            if following in seen:
                raise Conflict(memory.id, "a memory cannot be superseded by itself or its past")
            seen.add(following)
            later = self._store.get(Memory, memory.organization, following)
            following = None if later is None else later.superseded_by

    def link(self, memory: Memory, successor: str, origin: Origin | None = None) -> None:
        """Link the successor to the memory, and remove the link of an earlier successor."""
        if memory.superseded_by not in (None, successor):
            earlier = f"{memory.superseded_by}.{memory.id}"
            self._store.delete(Link, memory.organization, earlier)
        self._store.put(
            Link(
                organization=memory.organization,
                id=f"{successor}.{memory.id}",
                source=successor,
                target=memory.id,
                type=SUPERSEDES,
                created_at=self._clock(),
                origin=origin,
            )
        )

    def unlink(self, memory: Memory) -> None:
        """Remove the link from a memory's successor to the memory."""
        self._store.delete(Link, memory.organization, f"{memory.superseded_by}.{memory.id}")

    def check_may_remove(self, caller: Caller, memory: Memory) -> None:
        """Check that the memories superseded by this one may change, which its removal would do.

        Raises Locked if one of them is locked, Refused if the caller may not write to one.
        """
        if (locked := self.locked_predecessor(memory)) is not None:
            which = (
                Reason("the memory {id} is locked", id=locked.id)
                if sees(caller, locked)
                else Reason("a locked memory is there")
            )
            raise Locked(
                "delete", Reason("{which} and names it as its successor", which=which), memory.id
            )
        for earlier in self._predecessors(memory):
            check_may_write_to(caller, "delete the successor of a memory", earlier)

    def may_remove(self, caller: Caller, memory: Memory) -> bool:
        """Tell whether the caller may write to all memories superseded by this one, which its removal would change."""
        return all(may_write_to(caller, earlier) for earlier in self._predecessors(memory))

    def locked_predecessor(self, memory: Memory) -> Memory | None:
        """Return a locked memory that names this one as its successor, or None."""
        locked = (each for each in self._predecessors(memory) if each.locked_by is not None)
        return next(locked, None)

    def close_gap(self, memory: Memory) -> None:
        """Make the successor of a memory that is about to be removed the successor of those that the memory superseded.

        If there is no successor, they stay ended, superseded by nothing.
        """
        for earlier in self._predecessors(memory):
            following = memory.superseded_by
            status = Status.ACTIVE if following is None else earlier.status
            self._store.put(replace(earlier, superseded_by=following, status=status))
            if following is not None:
                self.link(replace(earlier, superseded_by=following), following)

    def _predecessors(self, memory: Memory) -> Iterator[Memory]:
        for edge in self._store.edges(memory.organization, [memory.id]):
            if edge.kind is Kind.LINK and edge.source == memory.id:
                earlier = self._store.get(Memory, memory.organization, edge.target)
                if earlier is not None and earlier.superseded_by == memory.id:
                    yield earlier
