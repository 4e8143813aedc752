"""Take the texts of erased decisions out of the ledgers in Git, and out of the tables that follow them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from minutebook.app import App
from minutebook.features.ledger.repositories import Ledgers
from minutebook.memory.access.audit import forget_erased
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.origin import responsible_author
from minutebook.record.records import Decision, Kind
from minutebook.record.trust.trail import ERASE
from minutebook.record.writing.decision_drafts import erased
from minutebook.store.protocol import Store

if TYPE_CHECKING:
    from minutebook.features.ledger.git.repository import Repository


class LedgerTexts:
    """Erases the texts of decisions from the history of ledgers that Minutebook keeps by itself."""

    def __init__(self, app: App) -> None:
        self._store, self._trail = app.infrastructure.store, app.trail
        self._ledgers = app.get(Ledgers)

    def check(self, organization: str) -> None:
        """Raise LedgerError if the history of an organization's ledger is not ours alone to rewrite."""
        from minutebook.features.ledger.git.erasing import check_can_erase

        check_can_erase(self._ledgers.repository(organization))

    def erase(self, caller: Caller, organization: str, ids: Sequence[str]) -> None:
        """Rewrite the history without the texts of some decisions, and set the tables to its new commits.

        After a kill in between, repeat the call: the tables name commits that are gone. Raises LedgerError
        if Git fails, Refused if the caller may not.
        """
        from minutebook.features.ledger.git.erasing import erase

        repository = self._ledgers.repository(organization)
        with self._ledgers.locked(organization) as ledger:
            ledger.refresh_head()
            with self._store.transaction(organization):
                for id in ids:
                    with self._trail.audited(
                        caller, organization, ERASE, Kind.DECISION, id
                    ) as audit:
                        decision = self._ledgers.tables.find(organization, id)
                        if decision is None or decision == erased(decision):
                            audit.changes_nothing()
                            continue
                        audit.check(decision)
                        policy.check_may_remove_work_of(
                            caller, responsible_author(decision.author, decision.origin)
                        )
                        forget_erased(self._store, [(organization, Kind.DECISION, id)])
                        self._store.put(erased(decision))
                        audit.changes(None, erased(decision).text)
                # Last of the steps that may fail: a branch that was moved is not moved back.
                erase(repository, ids)
                head = update_commit_ids(self._store, organization, repository)
                if head is not None:
                    self._ledgers.tables.put_mark(organization, head)
        self._ledgers.forget_fault(organization)


def update_commit_ids(store: Store, organization: str, repository: "Repository") -> str | None:
    """Set the decisions' commit ids to those of a history that was rewritten; return its head, None if it is empty."""
    from minutebook.features.ledger.git.history import changes_since

    head = repository.head()
    if head is not None:
        for written in changes_since(repository, None, head).decisions:
            known = store.get(Decision, organization, written.id)
            if known is not None and known.commit_id != written.commit_id:
                store.put(replace(known, commit_id=written.commit_id))
    return head
