"""How every decision comes on the record: embedded outside any lock, then in Git and tables at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from minutebook.app import App
from minutebook.features.ledger import lineage
from minutebook.features.ledger.mirror.tables import Bringer
from minutebook.features.ledger.repositories import Ledgers, after_commit
from minutebook.memory.record_writer import RecordWriter
from minutebook.record.caller import Caller
from minutebook.record.errors import StoreError
from minutebook.record.records import Decision, Proposal
from minutebook.record.writing.decision_drafts import DecisionDraft, accepted

Plan = Callable[[], Sequence[Decision]]
"""Judges an act on the ledger as it is now; returns the new decision, then those that it changes, or raises."""

FollowUp = Callable[[Decision], None]
"""Writes the other records of the transaction, given the decision as it was committed."""


@contextmanager
def _naming_commit() -> Iterator[list[Decision]]:
    """Yield a list for the committed decisions; if the store fails once it has one, raise a LedgerError with its commit."""
    committed: list[Decision] = []
    try:
        yield committed
    except StoreError as error:
        if not committed:
            raise
        raise after_commit(committed[0], error) from error


class DecisionWriter:
    """Makes decisions: one commit, one transaction, one audit entry."""

    def __init__(self, app: App) -> None:
        self._store, self._embeddings = app.infrastructure.records, app.embeddings
        self._note_written = app.note_written
        self.ledgers = app.get(Ledgers)
        self._proposals = RecordWriter[Proposal](app.infrastructure)
        self._decisions = RecordWriter[Decision](app.infrastructure)

    def screened(self, caller: Caller, draft: DecisionDraft) -> DecisionDraft:
        """Return a draft with its secrets masked, or raise as the setting says; before all else, as a commit is final."""
        return self._decisions.screened(caller, draft)

    def propose(self, caller: Caller, proposal: Proposal) -> None:
        """Keep a proposal, which is in no ledger, with its vectors and audit entry."""
        self._note_written(caller, self._proposals.write(caller, "propose", proposal))

    def record(
        self,
        caller: Caller,
        act: str,
        draft: Decision,
        plan: Plan,
        follow_up: FollowUp = lambda _: None,
    ) -> Decision:
        """Commit the decisions that `plan` returns for a draft to the ledger, and put them into the store.

        Raises Refused or Conflict if `plan` does, LedgerError if Git fails, StoreError if the store
        does. Nothing is changed then, unless the store fails after the commit: LedgerError says
        so, and the commit is taken in later.
        """
        embedding = self._decisions.embed(draft.text)
        summary = f"{act.capitalize()} {draft.target}: {draft.title}"
        # The lock, and whatever has to be waited for, come before the transaction.
        with self.ledgers.locked(draft.organization) as ledger:

            def attempt() -> Decision:
                """Write the draft and what follows from it, in one transaction that ends with the commit in Git."""
                with _naming_commit() as committed:

                    def commit(draft: Decision) -> Decision:
                        committed[:] = ledger.commit(summary, caller, plan)
                        made, *replaced = committed
                        for superseded in replaced:
                            self._store.put(superseded)
                        follow_up(made)
                        return made

                    return self._decisions.commit(caller, act, draft, embedding, commit)

            made = ledger.repeat(attempt)
        if embedding is None:
            self._embeddings.notify()
        self._note_written(caller, made)
        return made

    def accept_from_git(self, caller: Caller, proposal: Proposal, now: datetime) -> Decision:
        """Put the decision from Git for which a proposal waits into the tables, close the proposal, return the decision.

        Raises Conflict if it was settled meanwhile, Git does not have it any more or its date has not come.
        """
        embedding = self._decisions.embed(proposal.text)
        tables, organization = self.ledgers.tables, proposal.organization
        with self.ledgers.locked(organization) as ledger:

            def attempt() -> Decision:
                """Write the decision, those it superseded and the accepted proposal, in one transaction."""
                decision, others = self.ledgers.following.accept(
                    self.ledgers.repository(organization), proposal
                )

                def finish(decision: Decision) -> Decision:
                    kept = self._store.kept(proposal) or proposal
                    lineage.check_is_pending(kept)
                    by = Bringer(caller.name, f"with {proposal.id}", proposal.origin)
                    tables.take_in(organization, others, lambda _: by)
                    self._store.put(accepted(kept, decision, caller, now))
                    return decision

                return self._decisions.commit(caller, "accept", decision, embedding, finish)

            made = ledger.repeat(attempt)
        self._embeddings.notify()
        return made
