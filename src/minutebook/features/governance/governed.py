"""Memories for the governance contract: reading is audited, an edited memory becomes unverified."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from minutebook.app import App
from minutebook.memory.access.audit import EVERYTHING
from minutebook.memory.access.provenance import attribute
from minutebook.memory.search.recall import Found
from minutebook.record.caller import Caller
from minutebook.record.filters import default_organization
from minutebook.record.records import Kind, Memory, MemoryType, Status, Version

ENDED = frozenset({Status.DEPRECATED, Status.SUPERSEDED})
"""The statuses that an edit does not change: an edit does not make an ended memory hold again."""


class GovernedMemories:
    """Reads, searches and edits memories for a governed client."""

    def __init__(self, app: App) -> None:
        self._memories, self._search, self._trail = app.memories, app.filtered_search, app.trail

    def search(
        self, caller: Caller, query: str, types: AbstractSet[MemoryType] | None, limit: int
    ) -> list[Found]:
        """Return the memories that answer best, at most `limit`, and audit each. Raises EmbeddingNotReady."""
        found = self._search.governed(caller, query, types, limit)
        memories = [each.memory for each in found]
        self._audit(caller, memories)
        attribute(caller, memories)
        return found

    def read(self, caller: Caller, id: str) -> tuple[Memory, list[Version]]:
        """Return a memory with its versions, oldest first, and audit that. Raises NotFound."""
        memory = self._memories.read(caller, id)
        versions = self._memories.history(caller, memory).versions
        self._audit(caller, [memory])
        attribute(caller, [memory])
        return memory, versions

    def edit(self, caller: Caller, id: str, content: str, type: MemoryType) -> Memory:
        """Change a memory, which is unverified from then on. Raises as `Memories.update` does."""
        changes: dict[str, object] = {"content": content, "type": type}
        if self._memories.read(caller, id).status not in ENDED:
            changes["status"] = Status.UNVERIFIED
        return self._memories.update(caller, id, changes)

    def _audit(self, caller: Caller, memories: Sequence[Memory]) -> None:
        """Write an audit entry for each memory that is returned, or one for none."""
        subjects = [memory.id for memory in memories] or [EVERYTHING]
        self._trail.log(caller, default_organization(caller), "read", Kind.MEMORY, subjects)
