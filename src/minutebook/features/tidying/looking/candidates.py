"""Which memories may say the same as one, or otherwise."""

from minutebook.domain.errors import InvalidInput
from minutebook.domain.records import Memory
from minutebook.embedding.service import Embedding
from minutebook.features.tidying.looking.notes import Comparison, compare
from minutebook.language.revisions import DatedText
from minutebook.search.text import MAX_QUERY, check_query, parse_query
from minutebook.services.access.visibility import Clock, everything_in
from minutebook.services.knowledge.similar import SimilarMemories
from minutebook.store.protocol import Store

LOOKED_AT = 5
"""Memories with the same words that are compared where there is no model."""

LONGEST_WAIT = 30.0
"""Seconds that are waited for the model, if nobody has loaded it yet."""


class MemoryNeighbours:
    """Finds the memories that one is compared with: by meaning or, without a model, by words."""

    def __init__(
        self, store: Store, similar: SimilarMemories, embedding: Embedding, clock: Clock
    ) -> None:
        self._store = store
        self._similar = similar
        self._embedding = embedding
        self._clock = clock

    def of(self, memory: Memory) -> list[Memory]:
        """Return the memories that hold now and are like one, whoever asks."""
        view = everything_in(self._store, memory.organization).where(valid_at=self._clock())
        if self._similar.can_tell and not self._embedding.is_off:
            # What has no vectors yet is looked at when they come: they are a change, too.
            return self._similar.beside(view, memory)
        query = memory.text[: MAX_QUERY // 2]
        try:
            check_query(query)
        except InvalidInput:
            return []
        here = view.narrowed(scope=memory.scope, repository=memory.repository, user=memory.user)
        hits = here.match(Memory, parse_query(query), LOOKED_AT + 1)
        ids = frozenset(each.id for each in hits if each.id != memory.id)
        return view.where(ids=ids).find(Memory) if ids else []

    def compare(self, older: Memory, newer: Memory) -> Comparison:
        """Compare two memories of one organization: by the states of their words, which the model spells, or by words."""
        states = self._similar.states_of((older, newer))
        if len(states) == len((older, newer)) and not self._embedding.is_off:
            self._embedding.settle(LONGEST_WAIT)
        old, new = (
            DatedText(each.text, each.updated_at, states.get((each.organization, each.id)))
            for each in (older, newer)
        )
        speller = self._embedding.speller
        return compare(old, new, None if speller is None else speller.spell)
