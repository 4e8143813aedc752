"""The entities that a source means by their names: those in the store, and those that it brings."""

from minutebook.record.filters import Filter
from minutebook.record.records import Entity, Relation
from minutebook.record.writing.drafts import ScopeKey
from minutebook.store.protocol import Store


class EntityNames:
    """The entities of a scope by name, and the relations between entities, read when first needed."""

    def __init__(self, store: Store, scope: ScopeKey) -> None:
        self._store = store
        self._scope = scope
        self.forget()

    def forget(self) -> None:
        """Read the names in the store again: those noted since may not have been written."""
        self._by_type: dict[tuple[str, str], str] | None = None
        self._by_name: dict[str, str] = {}
        self._relations: set[tuple[str, str, str]] | None = None

    def id(self, name: str, type: str | None = None) -> str | None:
        """Return the id of the entity with a name, and with a type if one is given; None if there is none."""
        if self._by_type is None:
            self._by_type = {}
            own = {"user": self._scope.user, "repository": self._scope.repository}
            here = Filter(organization=self._scope.organization, equal=own)
            rows = self._store.values(Entity, here, ("id", "name", "type"))
            for id, known_name, known_type in sorted(rows):
                self.note(known_name, known_type, id)
        return self._by_name.get(name) if type is None else self._by_type.get((name, type))

    def note(self, name: str, type: str, id: str) -> None:
        """Note an entity; from now on its name alone means this one."""
        if self._by_type is not None:
            self._by_type[name, type] = id
        self._by_name[name] = id

    def has_relation(self, relation: Relation) -> bool:
        """Tell whether a relation is in the store, or was asked for before."""
        if self._relations is None:
            here = Filter(organization=self._scope.organization)
            fields = ("source", "target", "type")
            self._relations = {(s, t, y) for s, t, y in self._store.values(Relation, here, fields)}
        triple = (relation.source, relation.target, relation.type)
        is_known = triple in self._relations
        self._relations.add(triple)
        return is_known
