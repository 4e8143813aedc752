"""Memories that say nearly the same as another, or the opposite: told, never merged or dropped."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from minutebook.domain.caller import Caller, Note
from minutebook.domain.filters import Filter
from minutebook.domain.records import Memory
from minutebook.search.late_interaction import likeness, whole
from minutebook.services.access.visibility import Clock, filters
from minutebook.services.embeddings import Embeddings
from minutebook.store.protocol import Store

LEAST_LIKENESS = 0.55
"""From here on two memories are likely to be about the same; docs/decisions/0028-near-duplicates.md."""

LEAST_COSINE = 0.9
"""What is farther is not compared token by token: paraphrases start at 0.928."""

LOOKED_AT = 5
"""How many of the nearest by cosine are compared token by token."""

NAMED = 3
"""How many are named beside a write."""

_EXCERPT = 80


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory that is like another, and how much, in [0, 1]."""

    memory: Memory
    likeness: float


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories that hold now and are like one another, the newer first, and how much, in [0, 1]."""

    newer: Memory
    older: Memory
    likeness: float


class SimilarMemories:
    """Finds memories that are like another. Without a model, or its token states, it finds none."""

    def __init__(self, store: Store, embeddings: Embeddings, clock: Clock) -> None:
        self._store = store
        self._embeddings = embeddings
        self._clock = clock

    def note(self, caller: Caller, memory: Memory) -> None:
        """Note in the call which memories the one just written is like."""
        found = self.like(caller, memory)[:NAMED]
        if not found:
            return
        facts = [
            {"id": each.memory.id, "uuid": each.memory.uuid, "likeness": round(each.likeness, 3)}
            for each in found
        ]
        listed = "; ".join(f"{each.memory.id} “{_excerpt(each.memory)}”" for each in found)
        text = (
            f"Kept. It may repeat or contradict what is kept already: {listed}. Supersede or link what "
            "it replaces."
        )
        caller.call.notes["similar"] = Note({"of": memory.id, "memories": facts}, text)

    def like(self, caller: Caller, memory: Memory) -> list[Similar]:
        """Find the memories that hold now and are like one, the most alike first.

        Those that it is linked to are left out: someone has said already how they belong together.
        """
        where = self._where(caller, memory.organization)
        return [] if where is None else list(self._like(where, memory))

    @property
    def can_tell(self) -> bool:
        """Whether there is a model that keeps token states, by which texts are compared."""
        return bool(self._embeddings.space_of(Memory).states)

    def beside(self, memory: Memory) -> list[Similar]:
        """Find what holds now in the memory's organization and is like it, whoever asks; as `like` does."""
        where = Filter(organization=memory.organization, valid_at=self._clock())
        return list(self._like(where, memory))

    def pairs(self, caller: Caller, limit: int, offset: int = 0) -> tuple[list[Pair], int]:
        """Look through a page of the memories that hold now, newest first, for what they are like.

        Return the pairs, the most alike first, and how many memories were looked at.
        """
        wheres = {each.organization: each for each in self._wheres(caller)}
        looked_at = self._store.page(
            Memory, list(wheres.values()), order=["-ingestion_time"], limit=limit, offset=offset
        )
        found: dict[frozenset[str], Pair] = {}
        for memory in looked_at:
            for similar in self._like(wheres[memory.organization], memory):
                ends = sorted((memory, similar.memory), key=lambda each: each.ingestion_time)
                key = frozenset((memory.id, similar.memory.id))
                found.setdefault(key, Pair(ends[1], ends[0], similar.likeness))
        pairs = sorted(found.values(), key=lambda each: (-each.likeness, each.newer.id))
        return pairs, len(looked_at)

    def clusters(self, caller: Caller) -> list[list[Memory]]:
        """Group the memories that hold now by likeness, over others if need be; largest group first."""
        groups: list[list[Memory]] = []
        for where in self._wheres(caller):
            memories = self._store.find(Memory, where)
            group_of = {each.id: [each] for each in memories}
            for number, memory in enumerate(memories):
                caller.call.progress(number / len(memories), memory.text)
                for similar in self._like(where, memory):
                    ours, theirs = group_of[memory.id], group_of.get(similar.memory.id)
                    if theirs is not None and theirs is not ours:
                        ours += theirs
                        group_of |= dict.fromkeys((each.id for each in theirs), ours)
            distinct = {id(group): group for group in group_of.values() if len(group) > 1}
            groups += [sorted(group, key=lambda each: each.id) for group in distinct.values()]
        return sorted(groups, key=lambda group: (-len(group), group[0].id))

    def _like(self, where: Filter, memory: Memory) -> Iterator[Similar]:
        stored = self._store.vectors(Memory, memory.organization, memory.id)
        space = self._embeddings.space_of(Memory)
        if stored is None or stored[0] != space or not space.states:
            return
        nearest = self._store.nearest(Memory, where, space, stored[1][0], LOOKED_AT + 1)
        near = {each.id for each in nearest if each.score >= LEAST_COSINE} - {memory.id}
        if not near:
            return
        for edge in self._store.edges(memory.organization, [memory.id]):
            near -= {edge.source, edge.target}
        kept = self._store.token_states(Memory, memory.organization, [memory.id, *near], space)
        states = whole(kept)
        if (own := states.pop(memory.id, None)) is None:
            return
        alike = sorted((-likeness(own, packed), id) for id, packed in states.items())
        for negative, id in alike:
            if -negative < LEAST_LIKENESS:
                return
            if (other := self._store.get(Memory, memory.organization, id)) is not None:
                yield Similar(other, -negative)

    def _wheres(self, caller: Caller) -> list[Filter]:
        now = self._clock()
        return [replace(where, valid_at=now) for where in filters(self._store, caller)]

    def _where(self, caller: Caller, organization: str) -> Filter | None:
        wheres = (each for each in self._wheres(caller) if each.organization == organization)
        return next(wheres, None)


def _excerpt(memory: Memory) -> str:
    text = " ".join(memory.text.split())
    return text if len(text) <= _EXCERPT else f"{text[: _EXCERPT - 1]}…"
