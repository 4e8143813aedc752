"""Operations on decisions: record, list, accept them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from minutebook.ask.memories import Hit, in_folder
from minutebook.ask.operation import check_filled, check_range, is_at_keyboard, operation
from minutebook.features.ledger.mirror.waiting import is_in_git
from minutebook.record.caller import Caller, FolderScope
from minutebook.record.errors import InvalidInput
from minutebook.record.filters import sees
from minutebook.record.reason import must_be_one_of
from minutebook.record.records import Decision, Proposal
from minutebook.record.rights.redaction import REASON

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.features.ledger.decisions import DecisionActs
    from minutebook.features.ledger.proposals import Proposals


@operation("ledger", writes=True)
def decide(
    app: "App",
    caller: Caller,
    title: str,
    target: str,
    rationale: str,
    consequences: Sequence[str] = (),
    supersedes: Sequence[str] = (),
    folder: FolderScope | None = None,
) -> Decision:
    """Put a decision on the record, in place of those that `supersedes` names."""
    from minutebook.record.writing.decision_drafts import DecisionDraft

    draft = DecisionDraft(title, target, rationale, tuple(consequences))
    if supersedes:
        return _decisions(app).supersede(caller, tuple(supersedes), draft)
    return _decisions(app).record(in_folder(caller, folder), draft)


@operation("ledger", writes=True)
def propose(
    app: "App",
    caller: Caller,
    title: str,
    target: str,
    rationale: str,
    consequences: Sequence[str] = (),
    supersedes: Sequence[str] = (),
) -> Proposal:
    """Keep a decision for a person to accept."""
    from minutebook.record.writing.decision_drafts import DecisionDraft

    draft = DecisionDraft(title, target, rationale, tuple(consequences))
    return _proposals(app).propose(caller, draft, tuple(dict.fromkeys(supersedes)))


@operation("ledger")
def search_decisions(app: "App", caller: Caller, query: str, limit: int, mode: str) -> list[Hit]:
    """Find decisions, and those that hold now in their place, as the mode says. Raises InvalidInput for an unknown mode."""
    from minutebook.features.ledger.search import DecisionMode, DecisionSearch

    check_filled(query=query)
    check_range("limit", limit, 20)
    if mode not in list(DecisionMode):
        raise InvalidInput("mode", must_be_one_of(DecisionMode))
    found = app.get(DecisionSearch).search(caller, query, DecisionMode(mode), limit)
    app.note_answer(
        caller, "search_decisions", query, ((each.record, each.score) for each in found)
    )
    return [
        Hit(each.record, each.record.text, each.relevance, each.score, shares=each.hit.shares)
        for each in found
    ]


@operation("ledger")
def holding(app: "App", caller: Caller, of: str | None = None) -> list[Decision]:
    """List the decisions that hold, the newest first; with `of` those that hold in the place of one."""
    acts = _decisions(app)
    if of is None:
        return acts.latest(caller)
    found = acts.read(caller, of)
    if isinstance(found, Proposal):
        return []
    return [each for each in acts.active_successors(found) if sees(caller, each)]


@operation("ledger")
def decision_history(app: "App", caller: Caller, id: str) -> list[Decision]:
    """List every decision on the same target as the one with this id, oldest first."""
    acts = _decisions(app)
    return acts.on_target_of(caller, acts.read(caller, id))


@operation("ledger")
def read_decision(app: "App", caller: Caller, id: str) -> Decision | Proposal:
    """Read a decision or a proposal."""
    return _decisions(app).read(caller, id)


@dataclass(frozen=True, slots=True)
class DecisionList:
    """Decisions; a phrase for each ledger that is read-only; how many decisions from Git wait to be accepted."""

    decisions: list[Decision]
    read_only: list[str]
    waiting: int


@operation("ledger")
def decisions(
    app: "App",
    caller: Caller,
    target: str | None = None,
    every: bool = False,  # noqa: FBT001, FBT002
) -> DecisionList:
    """List the decisions that hold; with a target all decisions on it, with `every` all decisions."""
    from minutebook.features.ledger.repositories import Ledgers

    acts = _decisions(app)
    if target is not None:
        found = acts.history(caller, target)
    else:
        found = acts.everything(caller) if every else acts.active_by_target(caller)
    states = [each for each in app.get(Ledgers).states(caller) if each.reason is not None]
    if is_at_keyboard(caller):
        read_only = [
            f"in {each.path} is read-only: {each.reason}; {each.remedy}" for each in states
        ]
    else:
        read_only = [f"is read-only: {REASON}"] * len(states)
    waiting = [each for each in _proposals(app).pending(caller) if is_in_git(each)]
    return DecisionList(found, read_only, len(waiting))


@dataclass(frozen=True, slots=True)
class Pending:
    """A proposal that is not settled, and from when it can be accepted."""

    proposal: Proposal
    opens: datetime


@operation("ledger")
def proposals(app: "App", caller: Caller) -> list[Pending]:
    """List the open proposals."""
    waiting = _proposals(app)
    return [Pending(each, waiting.opens(each)) for each in waiting.pending(caller)]


@operation("ledger")
def has_secret(app: "App", caller: Caller) -> bool:
    """Tell whether the secret is at hand here, so that the caller need not give it."""
    from minutebook.features.ledger.keys.approval_secret import ApprovalSecret

    return is_at_keyboard(caller) and app.get(ApprovalSecret).given is not None


@operation("ledger", writes=True)
def accept(app: "App", caller: Caller, id: str, secret: str | None = None) -> Decision:
    """Make a proposal the truth; without a secret by the one that is at hand here."""
    from minutebook.features.ledger.keys.approval_secret import ApprovalSecret

    if secret is None and is_at_keyboard(caller):
        secret = app.get(ApprovalSecret).given
    return _proposals(app).accept(caller, id, secret)


def _decisions(app: "App") -> "DecisionActs":
    # Imported late: the command line imports this module only to ask a daemon for its operations.
    from minutebook.features.ledger.decisions import DecisionActs

    return app.get(DecisionActs)


def _proposals(app: "App") -> "Proposals":
    from minutebook.features.ledger.proposals import Proposals

    return app.get(Proposals)


OPERATIONS = (
    *(decide, propose, search_decisions, holding, decision_history),
    *(read_decision, decisions, proposals, has_secret, accept),
)
