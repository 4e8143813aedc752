"""How much is kept, and forgetting all of it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from minutebook.domain import policy
from minutebook.domain.caller import Caller
from minutebook.domain.filters import Filter, MemoryQuery
from minutebook.domain.origin import answers_for
from minutebook.domain.policy import Policy
from minutebook.domain.records import (
    CLASSES,
    SYSTEM_ORGANIZATION,
    Entity,
    Kind,
    Memory,
    Relation,
)
from minutebook.services.access.audit import EVERYTHING, AuditDraft
from minutebook.services.access.visibility import filters, organization_with
from minutebook.services.embeddings import IN_ORDER
from minutebook.services.infrastructure import Infrastructure
from minutebook.services.knowledge.supersession import Supersession
from minutebook.services.reset import Removal, Reset


class Overview:
    """The use cases around the whole store."""

    def __init__(
        self,
        infrastructure: Infrastructure,
        supersession: Supersession,
        removals: Iterable[Removal] = (),
    ) -> None:
        self._embeddings = infrastructure.embeddings
        self._store = infrastructure.store
        self._trail = infrastructure.trail
        self._supersession = supersession
        self._removals = tuple(removals)
        self._rules = infrastructure.rules

    def counts(self, caller: Caller, kinds: Iterable[Kind]) -> Counter[Kind]:
        """Count what the caller may see of some kinds."""
        reach = filters(self._store, caller)
        return Counter({kind: sum(self._count(kind, where) for where in reach) for kind in kinds})

    def memories(self, caller: Caller, query: MemoryQuery) -> int:
        """Count the memories that the caller may see and that a query selects."""
        reach = filters(self._store, caller)
        return sum(self._store.count(Memory, query.narrow(where)) for where in reach)

    def organization_with(self, caller: Caller, id: UUID) -> str:
        """Return the organization with a UUID."""
        return organization_with(self._store, caller, id)

    def to_embed(self, caller: Caller) -> int:
        """Count the texts that the caller may see and that wait to be embedded."""
        return sum(
            self._embeddings.pending(of, where)
            for of in IN_ORDER
            for where in filters(self._store, caller)
        )

    def token_states(self, caller: Caller) -> Counter[Kind]:
        """Sum the bytes of token states, by kind, in the organizations that the caller may see."""
        reach = filters(self._store, caller)
        return Counter(
            {
                of.kind: sum(self._store.states_size(of, where.organization) for where in reach)
                for of in IN_ORDER
            }
        )

    def sequences(self, caller: Caller) -> dict[str, int]:
        """Tell how far the changes have come in each organization the caller may see."""
        names = (where.organization for where in filters(self._store, caller))
        return {name: self._store.sequence(name) for name in names}

    def reset(self, caller: Caller) -> Reset:
        """Remove every memory, entity and relation that the caller may, and what features keep; audit entries stay.

        System-wide records are not touched. One transaction an organization, and some for each feature.
        """
        with self._trail.audit_refusals(caller, None, "reset", Kind.MEMORY, EVERYTHING):
            policy.check_may_act(caller, "reset")
        done = Reset(Counter())
        for where in filters(self._store, caller):
            if where.organization != SYSTEM_ORGANIZATION:
                done += self._reset(caller, where)
                for removed in self._removals:
                    done += removed(caller, where.organization)
        return done

    def _count(self, kind: Kind, where: Filter) -> int:
        return (
            self._relations(where)
            if kind is Kind.RELATION
            else self._store.count(CLASSES[kind], where)
        )

    def _reset(self, caller: Caller, where: Filter) -> Reset:
        organization, locked, others = where.organization, 0, 0
        with self._trail.audited(caller, organization, "reset", Kind.MEMORY, EVERYTHING) as audit:
            audit.check()
            everything = replace(where, with_deleted=True)
            rules = self._rules()
            relations, entities, left_in_place = self._remove_graph(caller, where, audit)
            memories, others = 0, others + left_in_place
            for memory in self._store.find(Memory, everything):
                if memory.locked_by is not None or self._supersession.holder(memory) is not None:
                    locked += 1
                elif not audit.may(memory) or self._survives(caller, rules, memory):
                    others += 1
                else:
                    self._supersession.close_gap(memory)
                    self._store.delete(Memory, organization, memory.id)
                    memories += 1
        deleted = {Kind.MEMORY: memories, Kind.ENTITY: entities, Kind.RELATION: relations}
        return Reset(Counter(deleted), locked, others)

    def _survives(self, caller: Caller, rules: Policy, memory: Memory) -> bool:
        return policy.survives_reset(caller, rules, memory) or not self._supersession.may_leave(
            caller, memory
        )

    def _remove_graph(
        self, caller: Caller, where: Filter, audit: AuditDraft
    ) -> tuple[int, int, int]:
        """Remove the caller's entities and the relations that touch one.

        Gives how many relations and entities went, and how many entities were left.
        """
        before = self._relations(where)
        entities = self._store.find(Entity, where)
        gone = [
            entity
            for entity in entities
            if policy.may_remove_work_of(caller, answers_for(entity.author, entity.origin))
            and audit.may(entity)
        ]
        for entity in gone:
            self._store.delete(Entity, where.organization, entity.id)
        return before - self._relations(where), len(gone), len(entities) - len(gone)

    def _relations(self, where: Filter) -> int:
        """Count the relations that touch an entity which the caller may see."""
        if where.repositories is None and where.users is None:
            return self._store.count(Relation, where)
        entities = [entity.id for entity in self._store.find(Entity, where)]
        edges = self._store.edges(where.organization, entities) if entities else []
        return sum(edge.kind is Kind.RELATION for edge in edges)
