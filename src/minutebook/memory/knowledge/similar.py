"""Memories that say nearly the same as another, or the opposite: the caller learns of them, but none is merged or removed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from minutebook.memory.access.visibility import Clock, Records, Seen, View
from minutebook.memory.embeddings import Embeddings
from minutebook.record.caller import Caller, Note
from minutebook.record.records import Memory
from minutebook.text.late_interaction import likeness, whole
from minutebook.text.revisions import DatedText, revisions

MIN_LIKENESS = 0.55
"""The least likeness at which two memories probably have the same subject; docs/decisions/0028-near-duplicates.md."""

MIN_COSINE = 0.82
"""The least cosine at which two memories are compared token by token: paraphrases have at least 0.95."""

MIN_RELATED_COSINE = 0.7
"""The least cosine at which a memory may revise another: 98 of 100 revisions have it, and 5 of 100 unrelated notes."""

MIN_SUBJECT_LIKENESS = 0.45
"""The least likeness at which two memories may have the same subject: of 634 pairs of unrelated neighbours the most alike have 0.41."""

MOST_COMPARED = 5
"""How many of the nearest memories by cosine are compared token by token."""

MOST_NOTED = 3
"""How many similar memories are noted in the call of a write."""

_EXCERPT = 80


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory that is like another, and their likeness, in [0, 1]."""

    memory: Memory
    likeness: float


@dataclass(frozen=True, slots=True)
class Pair:
    """Two valid memories that are like one another, and their likeness, in [0, 1]."""

    newer: Memory
    older: Memory
    likeness: float


@dataclass(frozen=True, slots=True)
class _Neighbourhood:
    """A memory and its token states; of the memories nearest to it in a view the token states and the cosines, by id."""

    view: View
    memory: Memory
    own_states: bytes
    states: Mapping[str, bytes]
    cosines: Mapping[str, float]


class SimilarMemories:
    """Finds memories that are like another. Without a model that keeps token states, it finds none."""

    def __init__(self, store: Records, embeddings: Embeddings, clock: Clock) -> None:
        self._store = store
        self._embeddings = embeddings
        self._clock = clock

    def note(self, caller: Caller, memory: Memory) -> None:
        """Note in the call the memories that the one just written is like or perhaps revises."""
        view = self._view(caller, memory)
        near = None if view is None else self._neighbourhood(view, memory)
        if near is None:
            return
        noted = islice(_alike(near, MIN_LIKENESS, MIN_COSINE), MOST_NOTED)
        alike = {each.memory.id: each for each in noted}
        revised = self._revised(near)
        found = {each.id: each for each in (*revised, *(each.memory for each in alike.values()))}
        if not found:
            return
        facts = [
            {
                "id": each.id,
                "uuid": each.uuid,
                "text": _excerpt(each),
                "likeness": round(alike[each.id].likeness, 3) if each.id in alike else None,
                "revised": each in revised,
            }
            for each in found.values()
        ]
        listed = "; ".join(f"{each.id} “{_excerpt(each)}”" for each in found.values())
        says = "It perhaps revises" if revised else "It may repeat or contradict"
        text = f"Kept. {says} what is kept already: {listed}. Supersede or link what it replaces."
        caller.call.notes["similar"] = Note({"of": memory.id, "memories": facts}, text)

    def like(self, caller: Caller, memory: Memory) -> list[Similar]:
        """Find the valid memories that are like a memory, the most alike first.

        Those that it is linked to are left out: somebody knows already how they are related.
        """
        view = self._view(caller, memory)
        return [] if view is None else list(self._find_like(view, memory))

    @property
    def can_tell(self) -> bool:
        """Whether there is a model that keeps token states, which the comparison needs."""
        return bool(self._embeddings.space_of(Memory).states)

    def about_the_same(self, view: View, memory: Memory) -> list[Memory]:
        """Find the memories in a view of the memory's organization that may have the same subject.

        Those that it is linked to are left out. `text.revisions` compares what they say of it.
        """
        near = self._neighbourhood(view, memory)
        found = () if near is None else _alike(near, MIN_SUBJECT_LIKENESS, MIN_RELATED_COSINE)
        return [each.memory for each in found]

    def states_of(self, memories: Sequence[Memory]) -> dict[tuple[str, str], bytes]:
        """Return the token states of memories that have any, by organization and id."""
        return self._embeddings.states_of(memories)

    def pairs(self, caller: Caller, limit: int, offset: int = 0) -> tuple[list[Pair], int]:
        """Search a page of the valid memories, newest first, for those like any other valid memory.

        Return the pairs, the most alike first, and the number of memories in the page.
        """
        seen = self._seen(caller)
        views = {each.organization: each for each in seen}
        looked_at = seen.page(Memory, "-ingestion_time", limit, offset)
        found: dict[frozenset[str], Pair] = {}
        for memory in looked_at:
            for similar in self._find_like(views[memory.organization], memory):
                ends = sorted((memory, similar.memory), key=lambda each: each.ingestion_time)
                key = frozenset((memory.id, similar.memory.id))
                found.setdefault(key, Pair(ends[1], ends[0], similar.likeness))
        pairs = sorted(found.values(), key=lambda each: (-each.likeness, each.newer.id))
        return pairs, len(looked_at)

    def clusters(self, caller: Caller) -> list[list[Memory]]:
        """Return groups of valid memories that are alike, directly or through others of the group; largest group first."""
        groups: list[list[Memory]] = []
        for view in self._seen(caller):
            memories = view.find(Memory)
            group_of = {each.id: [each] for each in memories}
            for number, memory in enumerate(memories):
                caller.call.progress(number / len(memories), memory.text)
                for similar in self._find_like(view, memory):
                    ours, theirs = group_of[memory.id], group_of.get(similar.memory.id)
                    if theirs is not None and theirs is not ours:
                        ours += theirs
                        group_of |= dict.fromkeys((each.id for each in theirs), ours)
            distinct = {id(group): group for group in group_of.values() if len(group) > 1}
            groups += [sorted(group, key=lambda each: each.id) for group in distinct.values()]
        return sorted(groups, key=lambda group: (-len(group), group[0].id))

    def _find_like(self, view: View, memory: Memory) -> Iterator[Similar]:
        near = self._neighbourhood(view, memory)
        return iter(()) if near is None else _alike(near, MIN_LIKENESS, MIN_COSINE)

    def _neighbourhood(self, view: View, memory: Memory) -> _Neighbourhood | None:
        """Read the token states of a memory and of those nearest to it, without those that it is linked to."""
        stored = self._store.vectors(memory)
        space = self._embeddings.space_of(Memory)
        if stored is None or stored[0] != space or not space.states:
            return None
        nearest = view.nearest(Memory, space, stored[1][0], MOST_COMPARED + 1)
        near = {
            each.id: each.score
            for each in nearest
            if each.score >= MIN_RELATED_COSINE and each.id != memory.id
        }
        if not near:
            return None
        for edge in view.edges([memory.id]):
            near.pop(edge.source, None)
            near.pop(edge.target, None)
        kept = self._embeddings.token_states(Memory, view.organization, [memory.id, *near])
        states = whole(kept)
        own = states.pop(memory.id, None)
        return None if own is None else _Neighbourhood(view, memory, own, states, near)

    def _revised(self, near: _Neighbourhood) -> list[Memory]:
        """Return the memories near a memory that it perhaps revises."""
        others = near.view.where(ids=frozenset(near.states)).find(Memory)
        candidates = [
            DatedText(near.memory.text, near.memory.updated_at, near.own_states),
            *(DatedText(each.text, each.event_time, near.states[each.id]) for each in others),
        ]
        found = revisions(candidates, self._embeddings.spell, by=0)
        return [others[older - 1] for older in sorted(found)]

    def _seen(self, caller: Caller) -> Seen:
        return self._store.seen_by(caller).where(valid_at=self._clock())

    def _view(self, caller: Caller, memory: Memory) -> View | None:
        return self._seen(caller).view_of(memory.organization)


def _alike(near: _Neighbourhood, min_likeness: float, min_cosine: float) -> Iterator[Similar]:
    """Yield the memories near a memory with at least this likeness and cosine, the most alike first."""
    compared = {id for id in near.states if near.cosines[id] >= min_cosine}
    alike = sorted((-likeness(near.own_states, near.states[id]), id) for id in compared)
    for negative, id in alike:
        if -negative < min_likeness:
            return
        if (other := near.view.get(Memory, id)) is not None:
            yield Similar(other, -negative)


def _excerpt(memory: Memory) -> str:
    text = " ".join(memory.text.split())
    return text if len(text) <= _EXCERPT else f"{text[: _EXCERPT - 1]}…"


def similar_field(caller: Caller, by: str) -> dict[str, object]:
    """Return the field `similar` of an answer, on memories similar to the one just written; no field if there are none.

    `by` names the id that is shown of them: `id` or `uuid`.
    """
    note = caller.call.notes.get("similar")
    if note is None:
        return {}
    memories = note.facts["memories"]
    assert isinstance(memories, list)
    return {
        "similar": [
            {"id": each[by], "text": each["text"], **({"revised": True} if each["revised"] else {})}
            for each in memories
        ]
    }
