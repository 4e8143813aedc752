"""Make one entity of two, and two again."""

import json
from dataclasses import replace

from minutebook.domain.caller import Caller
from minutebook.domain.errors import Conflict, NotFound
from minutebook.domain.ids import new_id
from minutebook.domain.json_lines import line_of, object_of, record_of
from minutebook.domain.policy import Scope, scope_between
from minutebook.domain.records import Edge, Entity, Kind, Mention, Relation
from minutebook.services.infrastructure import Infrastructure
from minutebook.services.knowledge.mentions import Mentions


class EntityMerging:
    """The use cases around entities that are one."""

    def __init__(self, infrastructure: Infrastructure, mentions: Mentions) -> None:
        self._store = infrastructure.store
        self._records = infrastructure.records
        self._trail = infrastructure.trail
        self._mentions = mentions
        self._clock = infrastructure.clock
        self._randbits = infrastructure.randbits

    def merge(self, caller: Caller, id: str, other: str) -> str:
        """Let an entity take over names, description and relations of another, which goes.

        Return what `split` needs. Raises NotFound of either, Conflict for an entity and itself, or for two
        of different scopes.
        """
        organization = self._records.read(caller, Entity, id).organization
        with self._trail.audited(caller, organization, "merge", Kind.ENTITY, id) as audit:
            kept, gone = (self._records.read(caller, Entity, each) for each in (id, other))
            audit.check(kept, gone)
            if kept.id == gone.id:
                raise Conflict(id, "an entity cannot be merged with itself")
            if _scope(kept) != _scope(gone):
                raise Conflict(other, "it has another scope than {other}: both stay", other=id)
            names = [kept.name, *kept.aliases]
            added = [
                each for each in dict.fromkeys((gone.name, *gone.aliases)) if each not in names
            ]
            merged = replace(
                kept,
                aliases=(*kept.aliases, *added),
                description=kept.description or gone.description,
            )
            relations = self._relations(gone)
            made = [
                relation
                for each in relations
                if (relation := self._moved(kept, gone, each)) is not None
            ]
            for each in made:
                ends = [self._end(merged, gone, id) for id in (each.source, each.target)]
                audit.check(scope_between(*ends))
            self._store.delete(Entity, organization, gone.id)
            self._store.put(merged)
            for each in made:
                self._store.put(each)
            self._mentions.note(merged)
        undo = {
            "kept": kept.id,
            "before": object_of(line_of(kept)),
            "aliases": list(merged.aliases),
            "description": merged.description,
            "gone": object_of(line_of(gone)),
            "relations": [object_of(line_of(each)) for each in relations],
            "made": [each.id for each in made],
        }
        return json.dumps(undo)

    def split(self, caller: Caller, undo: str) -> None:
        """Undo a merge. Raises NotFound if the kept entity is gone, Conflict if its names changed since."""
        noted = json.loads(undo)
        before, gone = record_of(noted["before"]), record_of(noted["gone"])
        if not (isinstance(before, Entity) and isinstance(gone, Entity)):
            raise Conflict(noted["kept"], "what it was merged of is not known any more")
        organization = gone.organization
        with self._trail.audited(
            caller, organization, "split", Kind.ENTITY, noted["kept"]
        ) as audit:
            kept = self._records.read(caller, Entity, noted["kept"])
            audit.check(kept, gone)
            if [*kept.aliases] != noted["aliases"] or kept.description != noted["description"]:
                raise Conflict(kept.id, "its names or its description were changed since")
            restored = replace(kept, aliases=before.aliases, description=before.description)
            self._store.put(gone)
            self._store.put(restored)
            for id in noted["made"]:
                self._store.delete(Relation, organization, id)
            for document in noted["relations"]:
                relation = record_of(document)
                if isinstance(relation, Relation) and self._has_ends(relation):
                    self._store.put(relation)
            for edge in self._store.edges(organization, [restored.id]):
                if edge.kind is Kind.MENTION:
                    self._store.delete(Mention, organization, edge.id)
            self._mentions.note(restored)
            self._mentions.note(gone)

    def _relations(self, entity: Entity) -> list[Edge]:
        edges = self._store.edges(entity.organization, [entity.id])
        return [each for each in edges if each.kind is Kind.RELATION]

    def _moved(self, kept: Entity, gone: Entity, edge: Edge) -> Edge | None:
        """Return a relation of the one that goes as one of the other; None if it would be there twice."""
        source, target = (kept.id if id == gone.id else id for id in (edge.source, edge.target))
        if source == target:
            return None
        known = self._relations(kept)
        if any((e.source, e.target, e.type) == (source, target, edge.type) for e in known):
            return None
        id = new_id(self._clock(), self._randbits)
        return replace(edge, id=id, source=source, target=target)

    def _end(self, kept: Entity, gone: Entity, id: str) -> Entity:
        if id in (kept.id, gone.id):
            return kept
        found = self._store.get(Entity, kept.organization, id)
        if found is None:
            raise NotFound(Kind.ENTITY, id)
        return found

    def _has_ends(self, relation: Relation) -> bool:
        ends = (relation.source, relation.target)
        return all(self._store.get(Entity, relation.organization, id) is not None for id in ends)


def _scope(entity: Entity) -> Scope:
    return Scope(entity.organization, entity.repository, entity.user)
