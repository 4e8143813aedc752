"""Rank memories, decisions and code in one list."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from minutebook.domain.caller import Caller
from minutebook.domain.records import CodeChunk, Decision, Kind, Memory
from minutebook.search.fusion import Hit, Signal, z_normalise
from minutebook.services.access.provenance import attribute
from minutebook.services.search.code import CodeSearch
from minutebook.services.search.recall import Recall
from minutebook.services.search.signals import Key


@dataclass(frozen=True, slots=True)
class Ranked:
    """A record, its score in the whole list, and what each signal contributed."""

    record: Memory | Decision | CodeChunk
    score: float
    hit: Hit[Key]
    details: Mapping[str, float] = field(default_factory=dict)
    """What the vector signal was made of, by name."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Records of several kinds, best first, and the size of the graph that was walked."""

    results: list[Ranked]
    subgraph_nodes: int = 0

    def count(self, kind: Kind) -> int:
        """Return how many results are of a kind."""
        return sum(each.record.kind is kind for each in self.results)


class CombinedRecall:
    """Searches memories, decisions and code, and ranks what was found in one list."""

    def __init__(self, recall: Recall, code: CodeSearch) -> None:
        self._recall = recall
        self._code = code

    def recall(
        self,
        caller: Caller,
        query: str,
        limit: int,
        weights: Mapping[Signal, float],
        kinds: Collection[Kind],
        *,
        project: str | None = None,
        language: str | None = None,
    ) -> Ranking:
        """Rank records of some kinds: memories, decisions beside them, chunks of code.

        Memories and decisions are scored together. Code is scored by itself: where both are found,
        each list's scores become z-scores. `project` and `language` narrow the code. Raises
        NotFound for an unknown project, InvalidInput for an unknown language.
        """
        texts = Ranking([])
        if Kind.MEMORY in kinds:
            texts = self._texts(caller, query, limit, weights, Kind.DECISION in kinds)
        code: list[Ranked] = []
        if Kind.CHUNK in kinds:
            found = self._code.search(
                caller, query, limit, project=project, language=language, weights=weights
            )
            code = [Ranked(each.chunk, each.score, each.hit) for each in found]
        ranked = _merged(texts.results, code, limit)
        attribute(caller, (each.record for each in ranked))
        return Ranking(ranked, texts.subgraph_nodes)

    def _texts(
        self,
        caller: Caller,
        query: str,
        limit: int,
        weights: Mapping[Signal, float],
        with_decisions: bool,  # noqa: FBT001
    ) -> Ranking:
        recall = self._recall.recall_with_decisions if with_decisions else self._recall.recall
        found = recall(caller, query, limit, weights)
        results = [
            Ranked(each.memory, each.hit.score, each.hit, each.details) for each in found.hits
        ]
        results += [Ranked(each.decision, each.hit.score, each.hit) for each in found.decisions]
        results.sort(key=lambda each: -each.score)
        return Ranking(results, found.subgraph_nodes)


def _merged(texts: list[Ranked], code: list[Ranked], limit: int) -> list[Ranked]:
    """Put two lists into one order, each measured by its own mean and deviation."""
    if not texts or not code:
        return texts or code
    merged = [
        replace(each, score=score)
        for ranked in (texts, code)
        for each, score in zip(ranked, z_normalise([r.score for r in ranked]), strict=True)
    ]
    return sorted(merged, key=lambda each: (-each.score, each.record.id))[:limit]
