"""Which memory took the place of which: chains that lead from the past to what holds now."""

from dataclasses import replace

from minutebook.domain.errors import Conflict, NotFound
from minutebook.domain.policy import Caller
from minutebook.domain.records import Edge, Kind, Memory, Status
from minutebook.services.reach import Clock, read_memory
from minutebook.store.protocol import Store

SUPERSEDES = "supersedes"


class Supersession:
    """Keeps the chains whole; call inside the transaction that changes a memory."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def check_may_succeed(self, caller: Caller, memory: Memory, id: str) -> None:
        """Refuse a successor that is not there, or whose own successors lead back."""
        if read_memory(self._store, caller, id).organization != memory.organization:
            raise NotFound(Kind.MEMORY, id)
        seen = {memory.id}
        following: str | None = id
        while following is not None:
            if following in seen:
                raise Conflict(memory.id, "a memory cannot be superseded by itself or its past")
            seen.add(following)
            later = self._store.get(Kind.MEMORY, memory.organization, following)
            following = later.superseded_by if isinstance(later, Memory) else None

    def link(self, memory: Memory, successor: str) -> None:
        """Lead from the successor to the memory, and no longer from an earlier successor."""
        if memory.superseded_by not in (None, successor):
            earlier = f"{memory.superseded_by}.{memory.id}"
            self._store.delete(Kind.LINK, memory.organization, earlier)
        self._store.put(
            Edge(
                organization=memory.organization,
                id=f"{successor}.{memory.id}",
                kind=Kind.LINK,
                source=successor,
                target=memory.id,
                type=SUPERSEDES,
                created_at=self._clock(),
            )
        )

    def close_gap(self, memory: Memory) -> None:
        """Lead past a memory that is about to be removed: from what it replaced to what follows.

        Where nothing follows, what it replaced stays ended and is superseded no more.
        """
        for edge in self._store.edges(memory.organization, [memory.id]):
            if edge.kind is not Kind.LINK or edge.type != SUPERSEDES or edge.source != memory.id:
                continue
            earlier = self._store.get(Kind.MEMORY, memory.organization, edge.target)
            if not isinstance(earlier, Memory):
                continue
            following = memory.superseded_by
            status = Status.ACTIVE if following is None else earlier.status
            self._store.put(replace(earlier, superseded_by=following, status=status))
            if following is not None:
                self.link(replace(earlier, superseded_by=following), following)
