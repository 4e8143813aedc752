"""Find turns and summaries by meaning and by words; each hit has its cosine distance."""

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Generic, TypeVar

from minutebook.memory.access.provenance import attribute
from minutebook.memory.access.visibility import Records
from minutebook.memory.embeddings import Embeddings
from minutebook.memory.search.doubt import note_doubt, note_empty
from minutebook.memory.search.signals import COMPARED, Retriever
from minutebook.record.caller import Caller
from minutebook.record.records import Category, Summary, Turn

CANDIDATES = 150
"""How many candidates each signal proposes, in each organization."""

R = TypeVar("R", bound=Turn | Summary)


@dataclass(frozen=True, slots=True)
class JournalHit(Generic[R]):
    """A record, its fused score, its cosine distance (None while it has no vector), and its relevance in [0, 1]."""

    record: R
    score: float
    distance: float | None
    relevance: float


class JournalSearch:
    """Ranks the turns and the summaries that the caller may see."""

    def __init__(self, store: Records, embeddings: Embeddings) -> None:
        self._store = store
        self._signals = Retriever(store, embeddings)

    def turns(
        self, caller: Caller, query: str, limit: int, session: str | None = None
    ) -> list[JournalHit[Turn]]:
        """Return the best turns, best first; only those of one session if it is named.

        They are chosen by meaning (0.73) and BM25 (0.27), lifted by their neighbours; without a model by words alone.
        Turns without a vector come last. Doubt or an empty answer is noted in the call.
        """
        named = {} if session is None else {"session": session}
        return self._search(Turn, caller, query, limit, named)

    def summaries(
        self, caller: Caller, query: str, limit: int, category: Category | None = None
    ) -> list[JournalHit[Summary]]:
        """Return the best summaries, best first; only those of one category if it is named."""
        named = {} if category is None else {"category": category}
        return self._search(Summary, caller, query, limit, named)

    def _search(
        self, of: type[R], caller: Caller, query: str, limit: int, named: Mapping[str, object]
    ) -> list[JournalHit[R]]:
        asked = self._signals.ask(query, caller, of)
        reach = list(self._store.seen_by(caller).narrowed(**named))
        signals = self._signals.gather(of, reach, asked, CANDIDATES)
        judged = self._signals.judged(query, signals, {of: reach})
        self._signals.lift(of, reach, query, signals, signals.best(max(limit, COMPARED)))
        scores = signals.fused()
        best = nsmallest(limit, scores, key=lambda key: (-scores[key], key))
        records = self._signals.read(of, reach, best)
        found = []
        for key in best:
            if key not in records:
                continue
            cosine = (signals.vector or {}).get(key)
            distance = None if cosine is None else 1.0 - cosine
            found.append(JournalHit(records[key], scores[key], distance, judged.relevance(key)))
        if found:
            note_doubt(caller, judged.chance)
        else:
            note_empty(caller, {of: reach})
        found.sort(key=_nearest_first)
        attribute(caller, (each.record for each in found))
        return found


def _nearest_first(found: JournalHit[R]) -> tuple[bool, float, float, str]:
    distance = found.distance
    return (distance is None, distance or 0.0, -found.score, found.record.id)
