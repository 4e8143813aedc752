"""Examine records and what is derived from them; rebuild what is derived."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from minutebook.domain.caller import Caller
from minutebook.domain.errors import StoreDamaged
from minutebook.domain.filters import default_organization
from minutebook.domain.lineage import Rule
from minutebook.domain.records import Kind
from minutebook.embedding import builtin
from minutebook.embedding.service import Embedding
from minutebook.services.access.audit import EVERYTHING, Trail
from minutebook.services.access.audit_proof import proof_of
from minutebook.services.knowledge.mentions import Mentions
from minutebook.services.ledger.approval_secret import Secret
from minutebook.services.ledger.repositories import Ledgers
from minutebook.services.maintenance.encryption import Encryption
from minutebook.services.maintenance.erasure_order import Orders
from minutebook.services.maintenance.scheduled_backups import BackupState, ScheduledBackups
from minutebook.store.protocol import Tended


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong, and what to do about it; `is_damage` if the database itself cannot be read."""

    finding: str
    remedy: str
    is_damage: bool = False


_OUTSIDE = "someone changed the store outside Minutebook; compare with a backup"
BACK_UP = "`minutebook backup --rotate` makes one now"
ANALYSE = "leave Minutebook running; `minutebook doctor --repair` does it at once"


class Doctor:
    """Examines a store, its audit trails, its ledgers and the model."""

    def __init__(
        self,
        store: Tended,
        trail: Trail,
        embedding: Embedding,
        mentions: Mentions,
        ledgers: Ledgers,
        backups: ScheduledBackups,
        secret: Secret,
        erasures: Orders,
        encryption: Encryption,
    ) -> None:
        self._encryption = encryption
        self._store = store
        self._trail = trail
        self._embedding = embedding
        self._mentions = mentions
        self._ledgers = ledgers
        self._backups = backups
        self._secret = secret
        self._erasures = erasures

    def examine(self) -> list[Finding]:
        """Find damage in the store, the trails and the ledgers, and other faults.

        Other faults: a backup that was not made, a plain file in an encrypted directory, a secret that is not the pinned one, a model that fails
        to load. A part too damaged to be read is a finding; the rest is examined all the same.
        """
        findings = [
            *self._read("The store", lambda: _of_store(self._store)),
            *self._read("The audit trail", lambda: _of_trails(self._store)),
            *self._read("The ledger", lambda: _of_ledgers(self._ledgers)),
            *_of_backups(self._backups.state()),
            *(Finding(f"{finding}.", remedy) for finding, remedy in self._encryption.faults()),
        ]
        if self._erasures.read() is not None:
            finding = "An erasure was cut short: what it was about may still be there"
            findings.append(Finding(finding, "run `minutebook erase --resume`"))
        if self._secret.is_another():
            finding = "The secret that is set here is not the one that accepts proposals"
            remedy = "set AGENT_MEMORY_SECRET here as it was when `minutebook secret set` pinned it"
            findings.append(Finding(finding, remedy))
        model = self._embedding
        if model.state == "error" and not model.is_off:
            reason = f"Search by meaning is off: {model.reason}"
            findings.append(Finding(reason, builtin.PREPARE))
        elif (damage := model.damage()) is not None:
            reason = f"Search by meaning may find the wrong records: {damage}"
            findings.append(Finding(reason, builtin.PREPARE))
        return findings

    def mend(self, caller: Caller) -> None:
        """Rebuild every index and the mentions from the records, and enter it in the trail.

        Raises StoreDamaged if the records are not whole.
        """
        self._store.rebuild()
        self._mentions.rebuild()
        home = default_organization(caller)
        self._trail.log(caller, home, "rebuild", Kind.HEAD, [EVERYTHING])

    def _read(self, what: str, look: Callable[[], list[Finding]]) -> list[Finding]:
        try:
            return look()
        except StoreDamaged as error:
            finding = f"{what} cannot be read: {error.what}"
            return [Finding(finding, _repair(self._store), is_damage=True)]


def of_damage(sentences: Iterable[str], backups: Sequence[Path]) -> list[Finding]:
    """Return what is lost of a damaged database, and which backups bring it back."""
    findings = [Finding(sentence, "", is_damage=True) for sentence in sentences]
    if not backups:
        finding = "No backup of this store was found in its data directory or where one was made"
        remedy = (
            "`minutebook restore BACKUP --replace` brings one back that you kept elsewhere; "
            "`minutebook doctor --start-anew` puts the database aside and begins an empty store"
        )
        return [*findings, Finding(finding, remedy)]
    others = "".join(f"; an earlier one is {path}" for path in backups[1:])
    remedy = f"run `minutebook restore {shlex.quote(str(backups[0]))} --replace`{others}"
    return [*findings, Finding("A backup holds what there was when it was made", remedy)]


def _repair(store: Tended) -> str:
    return f"run `minutebook doctor --repair`; if it stays, {store.recovery}"


def _of_store(store: Tended) -> list[Finding]:
    repair = _repair(store)
    findings = [
        Finding(sentence, repair, is_damage="is damaged" in sentence) for sentence in store.check()
    ]
    waiting = store.to_analyse()
    findings += [Finding(sentence, remedy) for sentence, remedy in store.file_faults()]
    if waiting:
        sentence = f"Some texts are still being analysed anew for search by words: {waiting:,}."
        findings.append(Finding(sentence, ANALYSE))
    return findings


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


def _of_backups(state: BackupState) -> list[Finding]:
    if state.failure is not None:
        finding = f"The backup of {state.failure.at:%Y-%m-%d %H:%M} failed: {state.failure.reason}."
        return [Finding(finding, BACK_UP)]
    if state.next_at is not None and state.gone is not None:
        finding = f"The last backup is gone, or is not whole: {state.gone}."
        return [Finding(finding, BACK_UP)]
    if state.next_at is not None and state.last is None:
        return [Finding("No backup was made by the schedule yet.", BACK_UP)]
    return []
