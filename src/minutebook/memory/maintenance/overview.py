"""Counts of the records in the store, and the removal of all of them."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

from minutebook.memory.access.audit import EVERYTHING, AuditDraft
from minutebook.memory.access.visibility import View
from minutebook.memory.embeddings import IN_ORDER
from minutebook.memory.infrastructure import Infrastructure
from minutebook.memory.knowledge.supersession import Supersession
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.filters import MemoryQuery
from minutebook.record.origin import responsible_author
from minutebook.record.policy import Policy
from minutebook.record.records import CLASSES, SYSTEM_ORGANIZATION, Entity, Kind, Memory, Relation


@dataclass(frozen=True, slots=True)
class Reset:
    """The counts of a reset: the removed records by kind, and the memories and entities that it left.

    `kept_locked` counts those that are locked, `kept_others` those that the caller may not remove.
    """

    deleted: Counter[Kind]
    kept_locked: int = 0
    kept_others: int = 0

    def __add__(self, other: "Reset") -> "Reset":
        """Return the sum of both."""
        return Reset(
            self.deleted + other.deleted,
            self.kept_locked + other.kept_locked,
            self.kept_others + other.kept_others,
        )


class Overview:
    """The use cases that concern the store as a whole."""

    def __init__(
        self,
        infrastructure: Infrastructure,
        supersession: Supersession,
        reset_features: Callable[[Caller, str], Iterable[Reset]],
    ) -> None:
        self._embeddings = infrastructure.embeddings
        self._store = infrastructure.records
        self._trail = infrastructure.trail
        self._supersession = supersession
        self._reset_features = reset_features
        self._rules = infrastructure.rules

    def counts(self, caller: Caller, kinds: Iterable[Kind]) -> Counter[Kind]:
        """Count the records of some kinds that the caller may see."""
        seen = self._store.seen_by(caller)
        return Counter({kind: seen.count(CLASSES[kind]) for kind in kinds})

    def memories(self, caller: Caller, query: MemoryQuery) -> int:
        """Count the memories that the caller may see and that a query selects."""
        return self._store.seen_by(caller).matching(query).count(Memory)

    def organization_with(self, caller: Caller, id: UUID) -> str:
        """Return the organization with a UUID."""
        return self._store.organization_with(caller, id)

    def to_embed(self, caller: Caller) -> int:
        """Count the texts that the caller may see and that wait to be embedded."""
        return sum(
            self._embeddings.pending(of, view)
            for of in IN_ORDER
            for view in self._store.seen_by(caller)
        )

    def token_states(self, caller: Caller) -> Counter[Kind]:
        """Return the bytes of token states, by kind, in all organizations that the caller may see."""
        names, size = self._store.seen_by(caller).organizations, self._store.states_size
        return Counter({of.kind: sum(size(of, name) for name in names) for of in IN_ORDER})

    def sequences(self, caller: Caller) -> dict[str, int]:
        """Return the number of the latest change in each organization that the caller may see."""
        names = self._store.seen_by(caller).organizations
        return {name: self._store.sequence(name) for name in names}

    def reset(self, caller: Caller) -> Reset:
        """Remove every memory, entity and relation that the caller may remove, and the data of features.

        Audit entries and system-wide records stay. Each organization takes one transaction, and each feature some.
        """
        with self._trail.audit_refusals(caller, None, "reset", Kind.MEMORY, EVERYTHING):
            policy.check_may_act(caller, "reset")
        done = Reset(Counter())
        for view in self._store.seen_by(caller):
            if view.organization != SYSTEM_ORGANIZATION:
                done += self._reset(caller, view)
                done = sum(self._reset_features(caller, view.organization), done)
        return done

    def _reset(self, caller: Caller, view: View) -> Reset:
        organization, locked, others = view.organization, 0, 0
        with self._trail.audited(caller, organization, "reset", Kind.MEMORY, EVERYTHING) as audit:
            audit.check()
            rules = self._rules()
            relations, entities, left_in_place = self._remove_graph(caller, view, audit)
            memories, others = 0, others + left_in_place
            for memory in view.where(with_deleted=True).find(Memory):
                if (
                    memory.locked_by is not None
                    or self._supersession.locked_predecessor(memory) is not None
                ):
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
        return policy.survives_reset(caller, rules, memory) or not self._supersession.may_remove(
            caller, memory
        )

    def _remove_graph(self, caller: Caller, view: View, audit: AuditDraft) -> tuple[int, int, int]:
        """Remove the caller's entities, and the relations from or to one of them.

        Return the counts of removed relations, removed entities, and entities left.
        """
        before = view.count(Relation)
        entities = view.find(Entity)
        removable = [
            entity
            for entity in entities
            if policy.may_remove_work_of(caller, responsible_author(entity.author, entity.origin))
            and audit.may(entity)
        ]
        for entity in removable:
            self._store.delete(Entity, view.organization, entity.id)
        return before - view.count(Relation), len(removable), len(entities) - len(removable)
