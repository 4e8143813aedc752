"""Join memories by links of a named type."""

from dataclasses import replace

from minutebook.memory.infrastructure import Infrastructure
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict
from minutebook.record.records import Edge, Kind, Link, Memory

RELATED = "related"
"""The only type whose links are in both directions."""


class Links:
    """The use cases around links between memories."""

    def __init__(self, infrastructure: Infrastructure) -> None:
        self._store = infrastructure.records
        self._trail = infrastructure.trail
        self._screening = infrastructure.screening
        self._clock = infrastructure.clock
        self._rules = infrastructure.rules

    def link(self, caller: Caller, source: str, target: str, type: str = RELATED) -> Edge:
        """Link a memory to another, by `related` in both directions; an existing link changes nothing.

        Raises NotFound, Conflict for a memory and itself or for two of different organizations,
        Locked if either is locked.
        """
        type = self._screening.screened_text(caller, "type", type)
        organization = self._store.read(caller, Memory, source).organization
        with self._trail.audited(caller, organization, "link", Kind.MEMORY, source) as audit:
            ends = [self._store.read(caller, Memory, id) for id in (source, target)]
            for each in ends:
                policy.check_may_change(caller, self._rules(), each)
            audit.check(*ends)
            if source == target:
                raise Conflict(source, "a memory cannot be linked to itself")
            if ends[0].organization != ends[1].organization:
                raise Conflict(
                    target, "it belongs to another organization than {source}", source=source
                )
            edges = self._edges(caller, organization, source, target, type)
            if all(self._store.kept(edge) is not None for edge in edges):
                audit.changes_nothing()
                return edges[0]
            for edge in edges:
                self._store.put(edge)
            return edges[0]

    def unlink(self, caller: Caller, source: str, target: str, type: str = RELATED) -> None:
        """Remove a link, of `related` those in both directions.

        Raises NotFound for a memory that is not there, Conflict if no such link is, Locked if either
        memory is locked.
        """
        organization = self._store.read(caller, Memory, source).organization
        with self._trail.audited(caller, organization, "unlink", Kind.MEMORY, source) as audit:
            ends = [self._store.read(caller, Memory, id) for id in (source, target)]
            for each in ends:
                policy.check_may_change(caller, self._rules(), each)
            audit.check(*ends)
            edges = self._edges(caller, organization, source, target, type)
            removed = [self._store.delete(Link, organization, edge.id) for edge in edges]
            if not any(removed):
                raise Conflict(
                    source, "no link {type} leads from it to {target}", type=type, target=target
                )

    def _edges(
        self, caller: Caller, organization: str, source: str, target: str, type: str
    ) -> list[Edge]:
        """Return the link from the source to the target, and the reverse one of `related`."""
        link = Link(
            organization=organization,
            id=f"{source}.{target}.{type}",
            source=source,
            target=target,
            type=type,
            created_at=self._clock(),
            origin=caller.call.origin,
        )
        reverse = replace(link, id=f"{target}.{source}.{type}", source=target, target=source)
        return [link, reverse] if type == RELATED else [link]
