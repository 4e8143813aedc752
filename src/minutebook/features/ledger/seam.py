"""The functions of this feature that the core calls: checks of `doctor`, the decisions of a day, undoing."""

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from minutebook.app import App
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.repositories import Ledgers
from minutebook.memory.maintenance.doctor import Check, Finding
from minutebook.record.caller import Caller
from minutebook.record.day import DayLine, DayPart, DaySpan, DayTopic
from minutebook.record.reason import Reason, counted
from minutebook.record.trust.done_acts import DoneAct, Undoing


def checks(app: App) -> Iterable[Check]:
    """Yield the checks of the ledgers and of the secret that accepts proposals."""
    yield Check("The ledger", lambda: _ledger_findings(app.get(Ledgers)))
    yield Check("The secret", lambda: _secret_findings(app.get(ApprovalSecret)))


def _secret_findings(secret: ApprovalSecret) -> list[Finding]:
    if not secret.differs_from_pinned():
        return []
    finding = "The secret that is set here is not the one that accepts proposals"
    remedy = "set AGENT_MEMORY_SECRET here as it was when `minutebook ledger secret` pinned it"
    return [Finding(finding, remedy)]


def _ledger_findings(ledgers: Ledgers) -> list[Finding]:
    from minutebook.features.ledger.lineage import Rule

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


def decided(app: App, caller: Caller, span: DaySpan) -> Iterator[DayPart]:
    """Yield the decisions that were recorded."""
    from minutebook.features.ledger.decisions import DecisionActs

    everything = app.get(DecisionActs).everything(caller)
    found = [each for each in everything if span.holds(each.created_at)]
    if found:
        counts = [counted("{count:,} decision", "{count:,} decisions", len(found))]
        lines = [
            DayLine(
                Reason("Decided: {title}", title=each.title),
                each.created_at,
                f"/decisions/{quote(each.id, safe='')}",
                each.repository or "",
                "" if each.origin is None else each.origin.client,
            )
            for each in found
        ]
        yield DayPart(DayTopic.LEARNED, counts, lines)


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Return how an act on a proposal is undone, or why an act on a decision cannot be; None for other acts."""
    from minutebook.features.ledger.proposals import Proposals

    proposals, id = app.get(Proposals), act.naming_entry.subject
    match act.naming_entry.act:
        case "decline":
            return Undoing(run=lambda who: proposals.reopen(who, id))
        case "reopen":
            return Undoing(run=lambda who: proposals.decline(who, id))
        case "record" | "supersede" | "accept":
            return Undoing(
                Reason(
                    "a decision stays on the record; `minutebook decide` puts another in its place"
                )
            )
        case "propose":
            return Undoing(Reason("`minutebook tidy refuse {id}` declines it", id=id))
        case _:
            return None
