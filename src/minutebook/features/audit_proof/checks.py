"""The checks of `doctor` on the audit trails."""

from collections.abc import Iterable

from minutebook.app import App
from minutebook.features.audit_proof.audit_proof import proof_of
from minutebook.memory.maintenance.doctor import Check, Finding
from minutebook.store.protocol import Tended

_OUTSIDE = "someone changed the store outside Minutebook; compare with a backup"


def checks(app: App) -> Iterable[Check]:
    """Yield the check of the trails and of the records that they prove."""
    yield Check("The audit trail", lambda: _of_trails(app.infrastructure.store))


def _of_trails(store: Tended) -> list[Finding]:
    findings = []
    for organization in store.organizations():
        proof = proof_of(store, organization)
        if proof.broken is not None:
            broken = f"breaks at entry {proof.broken.number}: {proof.broken.reason}"
            findings.append(Finding(f"The audit trail of {organization} {broken}.", _OUTSIDE))
        if proof.differences:
            first = proof.differences[0]
            more = len(proof.differences) - 1
            others = f", and {more:,} more" if more else ""
            finding = f"Records of {organization} are not as its audit trail says: {first.kind} {first.id}{others}."
            findings.append(Finding(finding, f"`minutebook audit verify` names them; {_OUTSIDE}"))
    return findings
