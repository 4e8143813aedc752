"""Wire words to domain words and back, for the `ledger` contract."""

from collections.abc import Mapping, Sequence
from typing import Any

from minutebook.app import App
from minutebook.features.ledger.search import DecisionHit, DecisionMode, DecisionSearch
from minutebook.record.caller import Caller
from minutebook.record.ids import ledger_id_of
from minutebook.record.records import Decision, Proposal
from minutebook.record.writing.decision_drafts import DecisionDraft
from minutebook.serve.contracts.contract import Operation

PREVIEW = 200
"""Characters of a preview at most."""

Shape = dict[str, Any]


def record_decision(
    app: App,
    caller: Caller,
    title: str,
    target: str,
    rationale: str,
    consequences: list[str],
    supersedes: list[str],
) -> Shape:
    """Record the first decision on a target, or one that replaces all active decisions on it."""
    from minutebook.features.ledger.decisions import DecisionActs

    if supersedes:
        return supersede_decision(app, caller, title, target, rationale, supersedes, consequences)
    draft = DecisionDraft(title, target, rationale, tuple(consequences))
    decision = app.get(DecisionActs).record(caller, draft)
    return _done(f"Recorded on {decision.target!r}.", decision_id=decision.id)


def supersede_decision(
    app: App,
    caller: Caller,
    title: str,
    target: str,
    rationale: str,
    old_decision_ids: list[str],
    consequences: list[str],
) -> Shape:
    """Record a decision that replaces all active decisions on its target."""
    from minutebook.features.ledger.decisions import DecisionActs

    draft = DecisionDraft(title, target, rationale, tuple(consequences))
    old = _ids(old_decision_ids)
    decision = app.get(DecisionActs).supersede(caller, old, draft)
    return _done(f"Recorded in place of {', '.join(old)}.", decision_id=decision.id)


def search_decisions(app: App, caller: Caller, query: str, limit: int, mode: str) -> Shape:
    """Find decisions, followed to those that hold now."""
    found = app.get(DecisionSearch).search(caller, query, DecisionMode(mode), limit)
    app.note_answer(
        caller, "search_decisions", query, ((each.record, each.score) for each in found)
    )
    message = f"Found {len(found)}." if found else "Nothing was decided about this."
    return _done(message, results=[_result(each) for each in found])


def accept_proposal(app: App, caller: Caller, proposal_id: str) -> Shape:
    """Make a proposal the truth, with the secret that the server was started with."""
    from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
    from minutebook.features.ledger.proposals import Proposals

    id = read_id(proposal_id)
    decision = app.get(Proposals).accept(caller, id, app.get(ApprovalSecret).given)
    replaced = f", in place of {', '.join(decision.supersedes)}" if decision.supersedes else ""
    return _done(f"Accepted as {decision.id}{replaced}.")


def propose_decision(
    app: App,
    caller: Caller,
    title: str,
    target: str,
    rationale: str,
    consequences: list[str],
    supersedes: list[str],
) -> Shape:
    """Keep a decision for a person to accept."""
    from minutebook.features.ledger.proposals import Proposals

    draft = DecisionDraft(title, target, rationale, tuple(consequences))
    proposal = app.get(Proposals).propose(caller, draft, _ids(supersedes))
    return _done("Proposed; an admin accepts it after its review.", proposal_id=proposal.id)


OPERATIONS: Mapping[str, Operation] = {
    "record_decision": record_decision,
    "supersede_decision": supersede_decision,
    "search_decisions": search_decisions,
    "accept_proposal": accept_proposal,
    "propose_decision": propose_decision,
}


def _done(message: str, **more: Any) -> Shape:
    return {"status": "success", "message": message, **more}


def _result(found: DecisionHit) -> Shape:
    record = found.record
    return {
        "id": record.id,
        "score": found.score,
        "status": record.status,
        "preview": _preview(record),
        "kind": record.kind,
    }


def _preview(record: Decision | Proposal) -> str:
    text = f"{record.target}: {record.title}. {record.rationale}"
    return text if len(text) <= PREVIEW else f"{text[: PREVIEW - 1]}…"


def _ids(texts: Sequence[str]) -> tuple[str, ...]:
    """Read ids, each once, in the order given."""
    return tuple(dict.fromkeys(map(read_id, texts)))


def read_id(text: str) -> str:
    """Read an id with or without `.md`; an invalid one is unknown to the service as any other."""
    return ledger_id_of(text) or text
