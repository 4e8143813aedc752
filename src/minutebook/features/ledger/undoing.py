"""Decisions stay on the record; what was declined may wait again."""

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.reason import Reason
from minutebook.domain.trust.done_acts import DoneAct, Undoing


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Return the way back of an act on a proposal, and say of a decision that it stays."""
    from minutebook.features.ledger.proposals import Proposals

    proposals, id = app.get(Proposals), act.named.subject
    match act.named.act:
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
