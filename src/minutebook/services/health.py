"""Examine what is kept and derived; mend what is derived."""

from dataclasses import dataclass
from typing import Protocol

from minutebook.domain.lineage import Rule
from minutebook.embedding.service import Embedding
from minutebook.services.ledgers import Ledgers
from minutebook.services.mentions import Mentions
from minutebook.services.trail import Trail
from minutebook.store.protocol import Store


class Examinable(Store, Protocol):
    """A store that can tell how it is and rebuild what it derived."""

    def check(self) -> list[str]:
        """Say, a sentence each, what is not as it should be."""

    def rebuild_text_index(self) -> None:
        """Make the text index again from the records."""

    def rebuild_index(self) -> None:
        """Make the vector index again from the records."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong, and what to do about it."""

    finding: str
    remedy: str


def examine(
    store: Examinable, trail: Trail, embedding: Embedding, ledgers: Ledgers
) -> list[Finding]:
    """Look for damage in store and ledgers, breaks in the trails, and a model that will not load."""
    findings = [
        Finding(sentence, "run `minutebook doctor --repair`; if it stays, restore a backup")
        for sentence in store.check()
    ]
    for organization in store.organizations():
        broken = trail.verify(organization)
        if broken is not None:
            findings.append(
                Finding(
                    f"The audit trail of {organization} breaks at entry {broken.number}: "
                    f"{broken.reason}.",
                    "someone changed the store outside Minutebook; compare with a backup",
                )
            )
    findings += _of_ledgers(ledgers)
    if embedding.state == "error":
        findings.append(
            Finding(
                f"Search by meaning is off: {embedding.reason}", "run `minutebook model prepare`"
            )
        )
    return findings


def _of_ledgers(ledgers: Ledgers) -> list[Finding]:
    findings = [
        Finding(f"The ledger of {state.organization} is read-only: {state.reason}.", state.remedy)
        for state in ledgers.states()
        if state.reason is not None
    ]
    told = " ".join(each.finding for each in findings)
    findings += [
        Finding(f"In a ledger {damage.reason}.", damage.remedy)
        for damage in ledgers.damage()
        if damage.reason not in told
    ]
    for violation in ledgers.check():
        ids = ", ".join(violation.ids)
        if violation.rule is Rule.ONE_ACTIVE:
            remedy = "a person supersedes all of them with one decision"
        else:
            remedy = "run `minutebook ledger rebuild`; if it is refused, restore a backup"
        findings.append(Finding(f"In the ledger {violation.reason}: {ids}.", remedy))
    return findings


def mend(store: Examinable, mentions: Mentions) -> None:
    """Rebuild the text and vector indices and the mentions from the records."""
    store.rebuild_text_index()
    store.rebuild_index()
    mentions.rebuild()
