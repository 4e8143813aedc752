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
"""How many the vector signal proposes, and how many the lexical one."""

LEAST_ACTIVE = 20
"""If fewer of the candidates are active, a second search looks through active decisions alone."""

ACTIVE_BONUS = 1.0
"""Added to the score of an active decision."""

INACTIVE_FACTOR = 0.1
"""The factor on the score of a decision or proposal that is not active."""

MOST_FOLLOWED = 10_000
"""The most decisions that are read along a chain, from one to the decision that holds now."""


class DecisionMode(StrEnum):
    """The kinds of results of a search for decisions.

    `strict`: active decisions, one a target. `balanced`: one decision a target, active ones first.
    `audit`: every decision and proposal that matched, and the active decisions in their place.
    """

    STRICT = "strict"
    BALANCED = "balanced"
    AUDIT = "audit"


@dataclass(frozen=True, slots=True)
class DecisionHit:
    """A decision or proposal with its score, its signals and its relevance in [0, 1].

    `followed` has the ids of the chain from the decision that matched to the one before this; it is empty if
    this one matched best itself.
    """

    record: Decision | Proposal
    score: float
    hit: FusedHit[Key]
    followed: tuple[str, ...] = ()
    relevance: float = 0.0


@dataclass(slots=True)
class _DecisionSignals:
    """The signals of decisions, their records, and by which chain of ids each was reached that did not match itself."""

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
        """Return the best decisions, at most `limit`, best first.

        The score is 0.73 of meaning and 0.27 of BM25 over the candidates, by words alone without a model; active
        decisions get 1 more, others keep a tenth. The caller's call notes doubt and an empty answer.
        """
        classes = (Decision, Proposal) if mode is DecisionMode.AUDIT else (Decision,)
        # While the model loads, words alone answer.
        asked = self._signals.ask(query, caller, Decision)
        found = self._candidates(caller, asked, classes)
        signals = found.signals
        views = list(self._store.seen_by(caller))
        looked_through: dict[type[TextRecord], list[View]] = dict.fromkeys(classes, views)
        # A decision that was followed to has the scores of the one that matched, which must count once.
        own = signals.among(signals.keys() - found.followed.keys())
        judged = self._signals.judged(query, own, looked_through)
        hits = fuse(signals.found(), TEXT_WEIGHTS, len(found.records), signals.strengths())
        ranked = []
        for hit in hits:
            record, followed = found.records[hit.id], found.followed.get(hit.id, ())
            score = _with_status(record, hit.score)
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
        """Return the signals of the decisions that held at an instant (None: now), to be ranked with other records."""
        found = self._candidates(caller, asked)
        active = {
            key: record
            for key, record in found.records.items()
            if isinstance(record, Decision) and self._was_active(record, at)
        }
        return Candidates(found.signals.among(active), active, found.followed)

    def _was_active(self, decision: Decision, at: datetime | None) -> bool:
        """Tell whether a decision was active at an instant (None: now): made by then, and not yet replaced."""
        if at is None or decision.status is not DecisionStatus.SUPERSEDED:
            is_made = at is None or decision.created_at <= at
            return is_made and decision.status is DecisionStatus.ACTIVE
        if decision.created_at > at:
            return False
        find = self._ledgers.tables.find
        later = [find(decision.organization, id) for id in decision.superseded_by]
        return all(each is not None and each.created_at > at for each in later)

    def _candidates(
        self,
        caller: Caller,
        asked: Asked,
        classes: Iterable[type[Decision | Proposal]] = (Decision,),
    ) -> _DecisionSignals:
        """Return the best of each signal, each with its cosine, and the active decisions that replaced them.

        An active decision gets the best score of all that it replaced. However many superseded decisions
        match, active ones are among the candidates.
        """
        self._ledgers.sync_visible(caller)
        total = _DecisionSignals(self._signals.empty(asked.embedding), {}, {})
        for view in self._store.seen_by(caller):
            for cls in classes:
                if view.count(cls):
                    self._add(view, cls, asked, total)
        return total

    def _add(
        self, view: View, cls: type[Decision | Proposal], asked: Asked, total: _DecisionSignals
    ) -> None:
        """Add to `total` the candidates in a view and the active decisions that replaced them."""
        found = self._gather(view, cls, asked, total)
        active = [each for each in found if each.status is DecisionStatus.ACTIVE]
        if cls is Decision and len(active) < LEAST_ACTIVE:
            only_active = view.narrowed(status=DecisionStatus.ACTIVE)
            if only_active.count(cls) < view.count(cls):
                found += self._gather(only_active, cls, asked, total)
        for record in found:
            if isinstance(record, Decision) and record.status is not DecisionStatus.ACTIVE:
                self._credit_successors(view, record, total)

    def _gather(
        self, view: View, cls: type[Decision | Proposal], asked: Asked, total: _DecisionSignals
    ) -> list[Decision | Proposal]:
        """Add to `total` the candidates of each signal in a view, each with its cosine; return the records."""
        found = self._signals.gather(cls, [view], asked, CANDIDATES)
        records = self._signals.read(cls, [view], found.keys())
        total.records |= records
        total.signals.add(found.among(records))
        return list(records.values())

    def _credit_successors(self, view: View, old: Decision, total: _DecisionSignals) -> None:
        """Raise the scores of the active decisions that replaced an old one to at least its scores."""
        old_key = (old.organization, old.id)
        for active, path in self._active_successors(view, old):
            key = (active.organization, active.id)
            total.records[key] = active
            signals = total.signals
            for scores in (*signals.found().values(), signals.late, signals.covered):
                if old_key in scores and scores[old_key] > scores.get(key, float("-inf")):
                    scores[key] = scores[old_key]
                    total.followed[key] = path

    def _active_successors(
        self, view: View, old: Decision
    ) -> list[tuple[Decision, tuple[str, ...]]]:
        """Return the active decisions at the end of a chain, each with the ids from the old one to the one before it.

        Leaves out those that the caller may not see.
        """
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


def _with_status(record: Decision | Proposal, score: float) -> float:
    """Return a score raised for an active decision, lowered for any other record."""
    is_active = isinstance(record, Decision) and record.status is DecisionStatus.ACTIVE
    return score + ACTIVE_BONUS if is_active else score * INACTIVE_FACTOR


def _shown(ranked: Iterable[DecisionHit], mode: DecisionMode) -> Iterable[DecisionHit]:
    """Yield the hits that a mode shows, in their order."""
    shown: set[object] = set()
    for each in ranked:
        if mode is DecisionMode.AUDIT:
            yield each
        elif mode is DecisionMode.BALANCED or each.record.status is DecisionStatus.ACTIVE:
            target_key = scoped_target(each.record)
            if target_key not in shown:
                shown.add(target_key)
                yield each
