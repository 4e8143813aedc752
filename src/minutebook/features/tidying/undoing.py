"""Settled suggestions are taken back by their own undo, which lets them wait again."""

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.reason import Reason
from minutebook.domain.trust.done_acts import DoneAct, Undoing
from minutebook.features.tidying.findings import State
from minutebook.features.tidying.inbox import name_of
from minutebook.features.tidying.services import TidyingServices


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Return the way to take back settled suggestions, or that there is another; None if the act settled none."""
    inbox = app.get(TidyingServices).inbox
    found = inbox.settled(act)
    names = [name_of(caller, each) for each in found if each.state is not State.OPEN]
    if names:
        return Undoing(run=lambda who: [inbox.undo(who, each) for each in names])
    if found:
        number = " ".join(name_of(caller, each) for each in found)
        return Undoing(Reason("`minutebook tidy apply {number}` applies it again", number=number))
    if act.named.act in ("merge", "split"):
        return Undoing(Reason("its suggestion is gone; the entities are edited by hand"))
    return None
