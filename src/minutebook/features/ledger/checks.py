"""The checks of `doctor` on the ledgers."""

from collections.abc import Iterable

from minutebook.app import App
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.lineage import Rule
from minutebook.features.ledger.repositories import Ledgers
from minutebook.services.maintenance.doctor import Check, Finding


def checks(app: App) -> Iterable[Check]:
    """Yield the checks of the ledgers and of the secret that accepts proposals."""
    yield Check("The ledger", lambda: _of_ledgers(app.get(Ledgers)))
    yield Check("The secret", lambda: _of_secret(app.get(ApprovalSecret)))


def _of_secret(secret: ApprovalSecret) -> list[Finding]:
    if not secret.is_another():
        return []
    finding = "The secret that is set here is not the one that accepts proposals"
    remedy = "set AGENT_MEMORY_SECRET here as it was when `minutebook ledger secret` pinned it"
    return [Finding(finding, remedy)]


def _of_ledgers(ledgers: Ledgers) -> list[Finding]:
    findings = [
        Finding(f"The ledger of {state.organization} is read-only: {state.reason}.", state.remedy)
        for state in ledgers.states()
        if state.reason is not None
    ]
    sentences = " ".join(each.finding for each in findings)
    findings += [
        Finding(f"In a ledger {damage.reason}.", damage.remedy)
        for damage in ledgers.damage()
        if damage.reason not in sentences
    ]
    for violation in ledgers.check():
        ids = ", ".join(violation.ids)
        if violation.rule is Rule.ONE_ACTIVE:
            remedy = "a person supersedes all of them with one decision"
        else:
            remedy = "run `minutebook ledger rebuild`; if it is refused, restore a backup"
        findings.append(Finding(f"In the ledger {violation.reason}: {ids}.", remedy))
    return findings
