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
"""Judges an act on the ledger as it is; gives the new decision, then what it changes, or raises."""

FollowUp = Callable[[Decision], None]
"""Does what else belongs to the transaction of the act."""


def nothing_more(decision: Decision) -> None:
    """Write nothing but the decision."""


@contextmanager
def _in_git() -> Iterator[list[Decision]]:
    """Hold the committed decisions, to raise LedgerError that names the commit if the store fails after it."""
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
        """Return a draft as it may be kept; first of all, since a commit cannot be taken back."""
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
        follow_up: FollowUp = nothing_more,
    ) -> Decision:
        """Commit to the ledger the decisions that `plan` makes of a draft, and keep the records.

        Raises Refused or Conflict if `plan` does, LedgerError if Git fails, StoreError if the store
        does. Nothing is changed by then, unless the store fails after the commit: LedgerError says
        so, and the commit is taken in later.
        """
        embedding = self._decisions.embed(draft.text)
        what = f"{act.capitalize()} {draft.target}: {draft.title}"
        # The lock, and whatever has to be waited for, come before the transaction.
        with self.ledgers.deciding(draft.organization) as deciding:

            def attempt() -> Decision:
                with _in_git() as in_git:

                    def commit(draft: Decision) -> Decision:
                        in_git[:] = deciding.commit(what, caller, plan)
                        made, *replaced = in_git
                        for superseded in replaced:
                            self._store.put(superseded)
                        follow_up(made)
                        return made

                    return self._decisions.commit(caller, act, draft, embedding, commit)

            made = deciding.repeat(attempt)
        if embedding is None:
            self._embeddings.notify()
        self._note_written(caller, made)
        return made

    def believe(self, caller: Caller, proposal: Proposal, now: datetime) -> Decision:
        """Take in a decision that Git brought and that waited as a proposal, and close that; return it.

        Raises Conflict if it was settled meanwhile, Git does not have it any more or its date has not come.
        """
        embedding = self._decisions.embed(proposal.text)
        tables, organization = self.ledgers.tables, proposal.organization
        with self.ledgers.deciding(organization) as deciding:

            def attempt() -> Decision:
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

            made = deciding.repeat(attempt)
        self._embeddings.notify()
        return made
