"""Record decisions, and find those that hold and their history."""

from collections.abc import Sequence
from functools import partial

from minutebook.app import App
from minutebook.features.ledger import lineage
from minutebook.features.ledger.recording import DecisionWriter
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput
from minutebook.record.ids import decision_id
from minutebook.record.records import Decision, DecisionStatus, Kind, Proposal
from minutebook.record.writing.decision_drafts import (
    MIN_RATIONALE,
    MIN_RATIONALE_TO_SUPERSEDE,
    DecisionDraft,
    build_decision,
    check_draft,
)
from minutebook.record.writing.targets import target_key


class DecisionActs:
    """Records and supersedes decisions, and reads those that a caller may see."""

    def __init__(self, app: App) -> None:
        self._store = app.infrastructure.records
        self._writer = app.get(DecisionWriter)
        self._ledgers = self._writer.ledgers
        self._trail, self._clock = app.trail, app.clock
        self._randbits = app.infrastructure.randbits

    def record(self, caller: Caller, draft: DecisionDraft) -> Decision:
        """Record the first decision on a target.

        Raises Decided, which names it, if a decision is active there. Raises InvalidInput if the
        draft is not whole, Refused if the caller may not record it, LedgerError if Git fails.
        """
        check_draft(draft, MIN_RATIONALE)
        draft = self._writer.screened(caller, draft)
        now = self._clock()
        id = decision_id(now, self._randbits)
        with self._trail.audit_refusals(caller, None, "record", Kind.DECISION, id):
            lineage.check_may_record(caller, ())
            decision = self._ledgers.tables.with_first_spelling(
                build_decision(caller, draft, id, now)
            )

        def plan() -> list[Decision]:
            """Return the decision to be committed, once the ledger is locked and the target still free."""
            lineage.check_may_record(
                caller, self._ledgers.tables.active_on(lineage.scoped_target(decision))
            )
            return [decision]

        return self._writer.record(caller, "record", decision, plan)

    def supersede(self, caller: Caller, old_ids: Sequence[str], draft: DecisionDraft) -> Decision:
        """Record a decision that replaces all active decisions on its target, in their scope.

        Raises InvalidInput if the draft does not fit, NotFound if a decision is
        unknown, Conflict if one is not active or on another target, Forbidden if an agent would
        overrule a person, LedgerError if the ledger cannot be written.
        """
        check_draft(draft, MIN_RATIONALE_TO_SUPERSEDE)
        draft = self._writer.screened(caller, draft)
        if not old_ids:
            raise InvalidInput("old_decision_ids", "must name at least one decision")
        now = self._clock()
        id = decision_id(now, self._randbits)
        self._ledgers.sync_visible(caller)
        first = self._store.read(caller, Decision, old_ids[0])
        with self._trail.audit_refusals(caller, first.organization, "supersede", Kind.DECISION, id):
            decision = lineage.with_scope_of(first, build_decision(caller, draft, id, now))
            decision = self._ledgers.tables.with_first_spelling(decision)

        def plan() -> list[Decision]:
            """Return the new decision and the old ones as it supersedes them, once the ledger is locked."""
            old = [self._store.read(caller, Decision, old_id) for old_id in dict.fromkeys(old_ids)]
            key = lineage.scoped_target(decision)
            lineage.check_may_supersede(caller, key, old, self._ledgers.tables.active_on(key))
            accepted = [each for each in old if self._ledgers.tables.was_accepted(each)]
            lineage.check_may_overrule(caller, accepted)
            return lineage.superseding(decision, old)

        return self._writer.record(caller, "supersede", decision, plan)

    def read(self, caller: Caller, id: str) -> Decision | Proposal:
        """Return a decision or a proposal. Raises NotFound if the caller sees none with that id."""
        self._ledgers.sync_visible(caller)
        if id.startswith(Kind.PROPOSAL):
            return self._store.read(caller, Proposal, id)
        return self._store.read(caller, Decision, id)

    def active_by_target(self, caller: Caller) -> list[Decision]:
        """Return the active decisions, sorted by target; several on one target if branches disagree."""
        self._ledgers.sync_visible(caller)
        found = self._found(caller, status=DecisionStatus.ACTIVE)
        return sorted(found, key=lambda each: (each.target, each.created_at, each.id))

    def active_successors(self, decision: Decision) -> tuple[Decision, ...]:
        """Return the active decisions at the end of a chain; several if branches disagree."""
        return lineage.active_successors(
            decision, partial(self._ledgers.tables.find, decision.organization)
        )

    def latest(self, caller: Caller) -> list[Decision]:
        """Return the active decisions, newest first."""
        self._ledgers.sync_visible(caller)
        return _by_age(self._found(caller, status=DecisionStatus.ACTIVE))[::-1]

    def starting_with(self, caller: Caller, typed: str) -> list[Decision]:
        """Return the decisions with an id, target or title that begins with the typed text, active ones first."""
        start = target_key(typed)
        found = [
            decision
            for decision in self.everything(caller)[::-1]
            if any(
                target_key(text).startswith(start)
                for text in (decision.id, decision.target, decision.title)
            )
        ]
        return sorted(found, key=lambda decision: decision.status is not DecisionStatus.ACTIVE)

    def on_target_of(self, caller: Caller, found: Decision | Proposal) -> list[Decision]:
        """Return every decision on the target of a decision or proposal, oldest first."""
        key = lineage.scoped_target(found)
        here = self._found(caller, target_key=key.target_key)
        return _by_age([each for each in here if lineage.scoped_target(each) == key])

    def history(self, caller: Caller, target: str) -> list[Decision]:
        """Return every decision on a target in any spelling, oldest first."""
        self._ledgers.sync_visible(caller)
        return _by_age(self._found(caller, target_key=target_key(target)))

    def everything(self, caller: Caller) -> list[Decision]:
        """Return every decision, oldest first."""
        self._ledgers.sync_visible(caller)
        return _by_age(self._found(caller))

    def _found(self, caller: Caller, **conditions: object) -> list[Decision]:
        return self._store.seen_by(caller).narrowed(**conditions).find(Decision)


def _by_age(decisions: list[Decision]) -> list[Decision]:
    return sorted(decisions, key=lambda each: (each.created_at, each.id))
