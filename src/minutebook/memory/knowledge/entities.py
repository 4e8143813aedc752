"""Entities, the relations between them, and their neighbourhoods."""

from dataclasses import replace

from minutebook.memory.access.visibility import View
from minutebook.memory.infrastructure import Infrastructure
from minutebook.memory.knowledge.mentions import Mentions
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.errors import Conflict, ScopeViolation
from minutebook.record.filters import default_organization, repository_of
from minutebook.record.ids import new_id
from minutebook.record.listed import Direction, EntityNeighbourhood
from minutebook.record.policy import Scope, scope_between
from minutebook.record.records import Edge, Entity, Kind, Relation
from minutebook.record.trust.acts import RELATE
from minutebook.text.pagerank import communities


class Entities:
    """The use cases around entities and relations."""

    def __init__(self, infrastructure: Infrastructure, mentions: Mentions) -> None:
        self._store = infrastructure.records
        self._trail = infrastructure.trail
        self._screening = infrastructure.screening
        self._mentions = mentions
        self._clock = infrastructure.clock
        self._randbits = infrastructure.randbits

    def create_entity(
        self, caller: Caller, name: str, type: str, description: str | None, user: str | None
    ) -> Entity:
        """Create an entity, joined to the memories that name it.

        If there is one with the same name, type, user and repository, return that instead; it gets the
        description if it has none. Raises ScopeViolation if the caller is bound to another user.
        """
        screened = self._screening.screened_text
        name, type = screened(caller, "name", name), screened(caller, "type", type)
        description = description and screened(caller, "description", description)
        organization, repository = default_organization(caller), repository_of(caller)
        owner = user if user is not None else caller.user
        scope = Scope(organization, repository, owner)
        with self._trail.audited(caller, organization, "create", Kind.ENTITY, name) as audit:
            audit.check(scope)
            if caller.user is not None and owner != caller.user:
                raise ScopeViolation(
                    "create", "this connection is held to the user {name!r}", name=caller.user
                )
            alike = self._store.seen_in(organization, caller).narrowed(
                name=name, type=type, user=owner, repository=repository
            )
            same = alike.find(Entity, limit=1)
            if same:
                entity = same[0]
                if description is None or entity.description is not None:
                    audit.changes_nothing()
                    return entity
                entity = replace(entity, description=description)
            else:
                entity = self._new_entity(caller, scope, name, type, description)
            self._store.put(entity)
            self._mentions.note(entity)
            audit.subject = entity.id
            return entity

    def _new_entity(
        self, caller: Caller, scope: Scope, name: str, type: str, description: str | None
    ) -> Entity:
        now = self._clock()
        return Entity(
            organization=scope.organization,
            id=new_id(now, self._randbits),
            name=name,
            type=type,
            author=caller.name,
            created_at=now,
            description=description,
            repository=scope.repository,
            user=scope.user,
            origin=caller.call.origin,
        )

    def read(self, caller: Caller, id: str) -> Entity:
        """Return an entity. Raises NotFound if there is none or the caller may not see it."""
        return self._store.read(caller, Entity, id)

    def create_relation(
        self, caller: Caller, source: str, target: str, type: str, weight: float
    ) -> Edge:
        """Relate two entities; an existing relation of the same source, target and type gets the new weight.

        Raises NotFound if there is no such entity, Conflict if they are of different organizations.
        """
        type = self._screening.screened_text(caller, "type", type)
        entity = self._store.read(caller, Entity, source)
        end = self._store.read(caller, Entity, target)
        if end.organization != entity.organization:
            reason = "it is in the organization {name!r}; an entity can be related only to one of its own organization, {own!r}"
            raise Conflict(target, reason, name=end.organization, own=entity.organization)
        organization = entity.organization
        with self._trail.audited(caller, organization, RELATE, Kind.RELATION, source) as audit:
            audit.check(scope_between(entity, end))
            relation = self._relation(caller, organization, (source, target, type), weight)
            audit.note_before(relation)
            self._store.put(relation)
            audit.subject = relation.id
            return relation

    def related(
        self, caller: Caller, id: str, depth: int, direction: Direction
    ) -> EntityNeighbourhood:
        """Walk the relations from an entity, breadth first, up to `depth` steps.

        Raises NotFound if there is no such entity or the caller may not see it.
        """
        start = self._store.read(caller, Entity, id)
        view = self._store.seen_in(start.organization, caller)
        around = self._store.seen_in(start.organization, without_folder_scope(caller))
        reached: dict[str, Entity] = {start.id: start}
        walked: dict[str, Edge] = {}
        frontier = [start.id]
        for _ in range(depth):
            following = []
            for edge, end in _steps(around, frontier, direction):
                if end not in reached:
                    entity = view.get(Entity, end)
                    if entity is None:
                        continue
                    reached[end] = entity
                    following.append(end)
                walked[edge.id] = edge
            frontier = following
        del reached[start.id]
        return EntityNeighbourhood(
            sorted(reached.values(), key=lambda e: e.id),
            sorted(walked.values(), key=lambda e: e.id),
        )

    def communities(self, caller: Caller) -> list[list[Entity]]:
        """Return groups of densely related entities, largest group first; entities without relations are in none."""
        groups: list[list[Entity]] = []
        for view in self._store.seen_by(caller):
            known = {entity.id: entity for entity in view.find(Entity)}
            edges = [
                (edge.source, edge.target, edge.weight)
                for edge in view.find(Relation)
                if edge.source in known and edge.target in known
            ]
            groups += [[known[id] for id in group] for group in communities(edges)]
        return sorted(groups, key=lambda group: (-len(group), group[0].id))

    def _relation(
        self, caller: Caller, organization: str, triple: tuple[str, str, str], weight: float
    ) -> Edge:
        source, target, type = triple
        view = self._store.seen_in(organization, without_folder_scope(caller))
        same = view.narrowed(source=source, target=target, type=type).find(Relation)
        if same:
            return replace(same[0], weight=weight)
        now = self._clock()
        return Relation(
            organization=organization,
            id=new_id(now, self._randbits),
            source=source,
            target=target,
            type=type,
            created_at=now,
            weight=weight,
            origin=caller.call.origin,
        )


def _steps(view: View, frontier: list[str], direction: Direction) -> list[tuple[Edge, str]]:
    """Return each relation from the frontier in a direction, with the id of the entity at its other end."""
    nodes = set(frontier)
    steps = []
    for edge in view.edges(frontier) if frontier else []:
        if edge.kind is not Kind.RELATION:
            continue
        if direction is not Direction.INCOMING and edge.source in nodes:
            steps.append((edge, edge.target))
        if direction is not Direction.OUTGOING and edge.target in nodes:
            steps.append((edge, edge.source))
    return steps
