"""The resources of the `ledger` contract: the active decisions, one decision whole, a target's history."""

from collections.abc import Iterator, Mapping
from typing import Any

from minutebook.app import App
from minutebook.features.ledger.contract.adapter import read_id
from minutebook.memory.access.provenance import mark_of
from minutebook.record.caller import Caller
from minutebook.record.instants import rfc3339
from minutebook.record.origin import byline
from minutebook.record.records import Decision, Proposal
from minutebook.serve.contracts.resources import ResourceHandlers

INDEXED = 200
"""How many decisions the index holds."""

READS_AS_INSTRUCTIONS = "reads as instructions, and no person confirmed it"
"""Shown in a list in place of the target and title of such a decision."""

MOST_COMPLETIONS = 101
"""One more than the protocol shows, to tell that there are more."""

Shape = dict[str, Any]


def index(app: App, caller: Caller) -> Shape:
    """Show the active decisions, newest first, without their reasons.

    Clients load this list unasked, so it hides the words of a decision that reads as instructions.
    """
    from minutebook.features.ledger.decisions import DecisionActs

    found = app.get(DecisionActs).latest(caller)
    shown = [_index_entry(app, each) for each in found[:INDEXED]]
    return {"total": len(found), "decisions": shown}


def decision(app: App, caller: Caller, id: str) -> Shape:
    """Show one decision or proposal, complete."""
    from minutebook.features.ledger.decisions import DecisionActs

    found = app.get(DecisionActs).read(caller, read_id(id))
    if isinstance(found, Proposal):
        return _proposal(found) | mark_of(found)
    holds = [each.id for each in app.get(DecisionActs).active_successors(found)]
    return _decision(found) | {"holds_now": holds} | mark_of(found)


def history(app: App, caller: Caller, id: str) -> Shape:
    """Show every decision on the same target as the one with this id, oldest first."""
    from minutebook.features.ledger.decisions import DecisionActs

    found = app.get(DecisionActs).read(caller, read_id(id))
    chain = app.get(DecisionActs).on_target_of(caller, found)
    target = chain[0].target if chain else found.target
    return {"id": found.id, "target": target, "decisions": [_decision(each) for each in chain]}


def listing(app: App, caller: Caller) -> Iterator[Mapping[str, Any]]:
    """Describe the decisions of the index as resources."""
    from minutebook.features.ledger.decisions import DecisionActs

    for each in app.get(DecisionActs).latest(caller)[:INDEXED]:
        target, title = _listed_words(app, each)
        yield {
            "uri": _uri(each),
            "name": f"{target}: {title}",
            "description": f"{each.status}, decided by {byline(each.author, each.origin)} "
            f"({each.authorship})",
            "mimeType": "application/json",
        }


def complete_id(app: App, caller: Caller, typed: str) -> list[str]:
    """Return the ids of the decisions with an id, target or title that begins with `typed`."""
    from minutebook.features.ledger.decisions import DecisionActs

    return [
        each.id for each in app.get(DecisionActs).starting_with(caller, typed)[:MOST_COMPLETIONS]
    ]


HANDLERS = ResourceHandlers(
    readers={"decision-index": index, "decision": decision, "decision-history": history},
    listing=listing,
    completions={"decision/id": complete_id, "decision-history/id": complete_id},
)


def _uri(record: Decision | Proposal) -> str:
    return f"decision://{record.id}"


def _listed_words(app: App, decision: Decision) -> tuple[str, str]:
    """Return target and title as lists show them."""
    if app.doors.reads_as_instructions(decision, f"{decision.target}\n{decision.title}"):
        return READS_AS_INSTRUCTIONS, READS_AS_INSTRUCTIONS
    return decision.target, decision.title


def _index_entry(app: App, decision: Decision) -> Shape:
    target, title = _listed_words(app, decision)
    return {
        "id": decision.id,
        "uri": _uri(decision),
        "target": target,
        "title": title,
        "status": decision.status,
        "authorship": decision.authorship,
        "created_at": rfc3339(decision.created_at),
    }


def _common_fields(record: Decision | Proposal) -> Shape:
    return {
        "id": record.id,
        "kind": record.kind,
        "target": record.target,
        "title": record.title,
        "rationale": record.rationale,
        "consequences": list(record.consequences),
        "status": record.status,
        "author": byline(record.author, record.origin),
        "created_at": rfc3339(record.created_at),
        "supersedes": list(record.supersedes),
    }


def _decision(decision: Decision) -> Shape:
    return _common_fields(decision) | {
        "authorship": decision.authorship,
        "superseded_by": list(decision.superseded_by),
        "proposal": decision.proposal,
        "repository": decision.repository,
        "commit_id": decision.commit_id,
    }


def _proposal(proposal: Proposal) -> Shape:
    settled = proposal.settled_at
    return _common_fields(proposal) | {
        "repository": proposal.repository,
        "settled_at": None if settled is None else rfc3339(settled),
        "settled_by": proposal.settled_by,
        "decision": proposal.decision,
    }
