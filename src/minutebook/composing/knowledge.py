"""Composes the services of memories."""

from typing import TYPE_CHECKING

from minutebook.composing.foundation import Foundation
from minutebook.composing.service import service

if TYPE_CHECKING:
    from minutebook.services.knowledge.browsing import Browsing
    from minutebook.services.knowledge.entities import Entities
    from minutebook.services.knowledge.id_lookup import IdLookup
    from minutebook.services.knowledge.links import Links
    from minutebook.services.knowledge.memories import Memories
    from minutebook.services.knowledge.mentions import Mentions
    from minutebook.services.knowledge.similar import SimilarMemories
    from minutebook.services.knowledge.status import StatusChanges
    from minutebook.services.knowledge.supersession import Supersession
    from minutebook.services.knowledge.surroundings import Surroundings
    from minutebook.services.knowledge.timeline import Timeline
    from minutebook.services.knowledge.writing import MemoryWriter


class KnowledgeServices(Foundation):
    """Memories, their entities and links."""

    @service
    def mentions(self) -> "Mentions":
        """Find the entities that a text names."""
        from minutebook.services.knowledge.mentions import Mentions

        return Mentions(self._store, self.clock)

    @service
    def supersession(self) -> "Supersession":
        """Settle which memory follows which."""
        from minutebook.services.knowledge.supersession import Supersession

        return Supersession(self._store, self.clock)

    @service
    def _writer(self) -> "MemoryWriter":
        from minutebook.services.knowledge.writing import MemoryWriter

        return MemoryWriter(self.infrastructure, self.mentions)

    @service
    def links(self) -> "Links":
        """Link memories."""
        from minutebook.services.knowledge.links import Links

        return Links(self.infrastructure)

    @service
    def similar(self) -> "SimilarMemories":
        """Find memories that say the same."""
        from minutebook.services.knowledge.similar import SimilarMemories

        return SimilarMemories(self._store, self.embeddings, self.clock)

    @service
    def memories(self) -> "Memories":
        """Write, change and read memories."""
        from minutebook.services.knowledge.memories import Memories

        return Memories(
            self.infrastructure, self._writer, self.supersession, self.links, self.similar
        )

    @service
    def status(self) -> "StatusChanges":
        """Lock, verify and deprecate memories."""
        from minutebook.services.knowledge.status import StatusChanges

        return StatusChanges(self.infrastructure, self._writer)

    @service
    def entities(self) -> "Entities":
        """Keep entities and their relations."""
        from minutebook.services.knowledge.entities import Entities

        return Entities(self.infrastructure, self.mentions)

    @service
    def browsing(self) -> "Browsing":
        """Read what belongs to a memory."""
        from minutebook.services.knowledge.browsing import Browsing

        return Browsing(self._store)

    @service
    def id_lookup(self) -> "IdLookup":
        """Find records by a part of their id."""
        from minutebook.services.knowledge.id_lookup import IdLookup

        return IdLookup(self._store)

    @service
    def surroundings(self) -> "Surroundings":
        """Read what surrounds a memory."""
        from minutebook.services.knowledge.surroundings import Surroundings

        return Surroundings(self._store)

    @service
    def timeline(self) -> "Timeline":
        """Read what was known and true at an instant, and what changed since."""
        from minutebook.services.knowledge.timeline import Timeline

        return Timeline(self._store)
