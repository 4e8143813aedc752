"""Find decisions: by meaning and by words, then along the chain to the active one."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from minutebook.app import App
from minutebook.features.ledger.lineage import scoped_target
from minutebook.features.ledger.repositories import Ledgers
from minutebook.memory.access.provenance import attribute
from minutebook.memory.access.visibility import View
from minutebook.memory.search.doubt import note_doubt, note_empty
from minutebook.memory.search.recall import Candidates
from minutebook.memory.search.signals import Asked, Key, Retriever, Signals
from minutebook.record.caller import Caller
from minutebook.record.records import Decision, DecisionStatus, Proposal, TextRecord
from minutebook.record.sources import Source
from minutebook.text.fusion import TEXT_WEIGHTS, FusedHit, fuse

CANDIDATES = 50
"""How many each of the vector and the lexical signal propose."""

ENOUGH = 20
"""If fewer of the candidates are active, active decisions are searched for by themselves, too."""

FOR_ACTIVE = 1.0
"""Added to the score of an active decision."""

OF_ENDED = 0.1
"""The factor on the score of a decision or proposal that is not active."""

MOST_FOLLOWED = 10_000
"""The most decisions that are read along a chain, from one to the decision that holds now."""


class DecisionMode(StrEnum):
    """The kinds of results of a search for decisions.

    `strict`: what holds. `balanced`: one decision a target, what holds before what does not.
    `audit`: every decision and proposal that matched, and what holds instead.
    """

    STRICT = "strict"
    BALANCED = "balanced"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True)
class DecisionHit:
    """A decision or proposal, its rank, its signals, the old one it follows from, its relevance in [0, 1].

    `followed` leads from the decision that matched to the one before this; empty where this matched
    best itself.
    """

    record: Decision | Proposal
    score: float
    hit: FusedHit[Key]
    followed: tuple[str, ...] = ()
    relevance: float = 0.0


@dataclass(slots=True)
class _DecisionSignals:
    """The signals of decisions, all of them read, and how truths were reached."""

    signals: Signals
    records: dict[Key, Decision | Proposal]
    followed: dict[Key, tuple[str, ...]]


class DecisionSearch:
    """Ranks the decisions that the caller may see, by themselves or with other records (a TextSource)."""

    source = Source.DECISION
    of = Decision

    def __init__(self, app: App) -> None:
        self._store = app.infrastructure.records
        self._signals = Retriever(self._store, app.embeddings)
        self._ledgers = app.get(Ledgers)

    def search(
        self, caller: Caller, query: str, mode: DecisionMode, limit: int
    ) -> list[DecisionHit]:
        """Rank by 0.73 meaning and 0.27 BM25 over the candidates; 1 more for active decisions.

        What is not active keeps a tenth of its score. Without a model words alone decide. The call notes doubt, and an
        empty answer.
        """
        classes = (Decision, Proposal) if mode is DecisionMode.AUDIT else (Decision,)
        # What holds is not kept back while the model loads.
        asked = self._signals.ask(query, caller, Decision)
        found = self._candidates(caller, asked, classes)
        signals = found.signals
        views = list(self._store.seen_by(caller))
        looked_through: dict[type[TextRecord], list[View]] = dict.fromkeys(classes, views)
        # What is followed to has the scores of what matched, which count once.
        own = signals.among(signals.keys() - found.followed.keys())
        judged = self._signals.judged(query, own, looked_through)
        hits = fuse(signals.found(), TEXT_WEIGHTS, len(found.records), signals.strengths())
        ranked = []
        for hit in hits:
            record, followed = found.records[hit.id], found.followed.get(hit.id, ())
            score = _ranked(record, hit.score)
            relevance = judged.relevance((hit.id[0], followed[0]) if followed else hit.id)
            ranked.append(DecisionHit(record, score, hit, followed, relevance))
        ranked.sort(key=lambda each: (-each.score, each.record.id))
        shown = list(_shown(ranked, mode))[:limit]
        if shown:
            note_doubt(caller, judged.chance)
        else:
            note_empty(caller, looked_through)
        attribute(caller, (each.record for each in shown))
        return shown

    def candidates(self, caller: Caller, asked: Asked, at: datetime | None) -> Candidates:
        """Return the signals of the decisions that hold (`at` None: now), to be ranked with other records."""
        found = self._candidates(caller, asked)
        active = {
            key: record
            for key, record in found.records.items()
            if isinstance(record, Decision) and self._held(record, at)
        }
        return Candidates(found.signals.among(active), active, found.followed)

    def _held(self, decision: Decision, at: datetime | None) -> bool:
        """Tell whether a decision held at an instant: it was made, and none that replaces it was yet."""
        if at is None or decision.created_at > at:
            return at is None and decision.status is DecisionStatus.ACTIVE
        if decision.status is not DecisionStatus.SUPERSEDED:
            return decision.status is DecisionStatus.ACTIVE
        find = self._ledgers.tables.find
        later = [find(decision.organization, id) for id in decision.superseded_by]
        return all(each is not None and each.created_at > at for each in later)

    def _candidates(
        self,
        caller: Caller,
        asked: Asked,
        classes: Iterable[type[Decision | Proposal]] = (Decision,),
    ) -> _DecisionSignals:
        """Return the best of each signal, each with its cosine, and the active decisions they lead to.

        A truth has the best score of all that lead to it. A long past does not crowd out what is
        active.
        """
        self._ledgers.sync_visible(caller)
        total = _DecisionSignals(self._signals.nothing(asked.embedding), {}, {})
        for view in self._store.seen_by(caller):
            for of in classes:
                self._add(view, of, asked, total)
        return total

    def _add(
        self, view: View, of: type[Decision | Proposal], asked: Asked, total: _DecisionSignals
    ) -> None:
        if not view.count(of):
            return
        found = self._gather(view, of, asked, total)
        if of is Decision and _count_active(found) < ENOUGH:
            here = view.narrowed(status=DecisionStatus.ACTIVE)
            found += self._gather(here, of, asked, total)
        for record in found:
            if isinstance(record, Decision) and record.status is not DecisionStatus.ACTIVE:
                self._credit_truths(view, record, total)

    def _gather(
        self, view: View, of: type[Decision | Proposal], asked: Asked, total: _DecisionSignals
    ) -> list[Decision | Proposal]:
        """Add the candidates of each signal in a place, each with its cosine; return the records."""
        found = self._signals.gather(of, [view], asked, CANDIDATES)
        records = self._signals.read(of, [view], found.keys())
        total.records |= records
        total.signals.add(found.among(records))
        return list(records.values())

    def _credit_truths(self, view: View, old: Decision, total: _DecisionSignals) -> None:
        """Add an old decision's score to that of the one that holds in its place."""
        before = (old.organization, old.id)
        for truth, path in self._truths(view, old):
            key = (truth.organization, truth.id)
            total.records[key] = truth
            signals = total.signals
            for scores in (*signals.found().values(), signals.late, signals.covered):
                if before in scores and scores[before] > scores.get(key, float("-inf")):
                    scores[key] = scores[before]
                    total.followed[key] = path

    def _truths(self, view: View, old: Decision) -> list[tuple[Decision, tuple[str, ...]]]:
        """Return the active ends of a chain that the caller may see, each with the ids that lead to it."""
        ends: list[tuple[Decision, tuple[str, ...]]] = []
        seen = {old.id}
        waiting: list[tuple[Decision, tuple[str, ...]]] = [(old, ())]
        while waiting and len(seen) < MOST_FOLLOWED:
            decision, path = waiting.pop(0)
            if decision.status is DecisionStatus.ACTIVE:
                if view.passes(decision):
                    ends.append((decision, path))
                continue
            for id in decision.superseded_by:
                following = self._ledgers.tables.find(view.organization, id)
                if following is not None and id not in seen:
                    seen.add(id)
                    waiting.append((following, (*path, decision.id)))
        return ends


def _count_active(found: Iterable[Decision | Proposal]) -> int:
    return sum(each.status is DecisionStatus.ACTIVE for each in found)


def _ranked(record: Decision | Proposal, score: float) -> float:
    is_active = isinstance(record, Decision) and record.status is DecisionStatus.ACTIVE
    return score + FOR_ACTIVE if is_active else score * OF_ENDED


def _shown(ranked: Iterable[DecisionHit], mode: DecisionMode) -> Iterable[DecisionHit]:
    shown: set[object] = set()
    for each in ranked:
        if mode is DecisionMode.AUDIT:
            yield each
        elif mode is DecisionMode.BALANCED or each.record.status is DecisionStatus.ACTIVE:
            target_key = scoped_target(each.record)
            if target_key not in shown:
                shown.add(target_key)
                yield each
