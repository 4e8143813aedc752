"""Decisions: the active one of each target and its history; proposals that wait for an admin."""

from typing import Any
from urllib.parse import quote

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.pages.lineage import drawing
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.pages.frame.catalogue import later
from minutebook.features.pages.frame.differences import differences
from minutebook.features.pages.frame.page import Goto, Page, View, Visit
from minutebook.features.pages.frame.wording import Trouble, trouble_of
from minutebook.features.pages.views.memories import with_reason
from minutebook.record.errors import MinutebookError
from minutebook.record.records import Decision, DecisionStatus, Proposal, ProposalStatus
from minutebook.record.rights.redaction import redacted_for


def listed(visit: Visit) -> Page:
    """Show the active decisions by target, and the proposals that wait."""
    app, caller = visit.app, visit.caller
    by_target: dict[str, list[Decision]] = {}
    for each in app.get(DecisionActs).active_by_target(caller):
        by_target.setdefault(each.target, []).append(each)
    waiting = [
        (each, app.get(Proposals).opens(each)) for each in app.get(Proposals).pending(caller)
    ]
    facts = {
        "by_target": by_target,
        "waiting": waiting,
        "done": DONE.get(visit.query.get("done", "")),
    }
    return Page("ledger/decisions.html", facts)


def show(visit: Visit, trouble: Trouble | None = None) -> Page:
    """Show a decision with its chain, or a proposal beside the decision it would replace."""
    app, caller = visit.app, visit.caller
    found = app.get(DecisionActs).read(caller, visit.path["id"])
    chain = app.get(DecisionActs).on_target_of(caller, found)
    if isinstance(found, Proposal):
        before = [each for each in chain if each.status is DecisionStatus.ACTIVE]
    else:
        before = [each for each in chain if each.id in found.supersedes]
    facts: dict[str, Any] = {
        "record": found,
        "chain": chain,
        "drawing": drawing(chain),
        "compared": [(each, differences(_text(each), _text(found))) for each in before],
        "is_pending": isinstance(found, Proposal) and found.status is ProposalStatus.PENDING,
        "is_declined": isinstance(found, Proposal) and found.status is ProposalStatus.DECLINED,
        "opens": app.get(Proposals).opens(found) if isinstance(found, Proposal) else None,
        "now": app.clock(),
        "trouble": trouble,
        "done": DONE.get(visit.query.get("done", "")),
    }
    return Page("ledger/decision.html", facts, 200 if trouble is None else trouble.status)


def accept(visit: Visit) -> Page | Goto:
    """Make a proposal the decision that holds."""
    try:
        secret = visit.form.get("secret", "") or None
        made = visit.app.get(Proposals).accept(visit.caller, visit.path["id"], secret)
    except MinutebookError as error:
        return _refused(visit, error)
    return Goto(f"/decisions/{quote(made.id, safe='')}?done=accept")


def decline(visit: Visit) -> Page | Goto:
    """Settle a proposal without a decision."""
    try:
        visit = with_reason(visit)
        visit.app.get(Proposals).decline(visit.caller, visit.path["id"])
    except MinutebookError as error:
        return _refused(visit, error)
    return Goto("/decisions?done=decline")


def reopen(visit: Visit) -> Page | Goto:
    """Let a declined proposal wait again."""
    try:
        visit = with_reason(visit)
        visit.app.get(Proposals).reopen(visit.caller, visit.path["id"])
    except MinutebookError as error:
        return _refused(visit, error)
    return Goto(f"/decisions/{quote(visit.path['id'], safe='')}?done=reopen")


VIEWS: dict[tuple[str, str], tuple[str, View]] = {
    ("GET", "/decisions"): ("decisions", listed),
    ("GET", "/decisions/{id}"): ("decision", show),
    ("POST", "/decisions/{id}/accept"): ("accept", accept),
    ("POST", "/decisions/{id}/decline"): ("decline", decline),
    ("POST", "/decisions/{id}/reopen"): ("reopen", reopen),
}

DONE = {
    "accept": later("Accepted: this holds now."),
    "decline": later("Declined; what held before still does."),
    "reopen": later("It waits again."),
}


def _refused(visit: Visit, error: MinutebookError) -> Page:
    return show(visit, trouble_of(redacted_for(visit.caller, error)))


def _text(record: Decision | Proposal) -> str:
    parts = [record.title, record.rationale, *(f"– {each}" for each in record.consequences)]
    return "\n\n".join(parts)
