"""Suggestions wait again once the act that settled them is taken back."""

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.reason import Reason
from minutebook.domain.trust.done_acts import DoneAct, Undoing
from minutebook.features.tidying.findings import State
from minutebook.features.tidying.inbox import Inbox, name_of


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Let the suggestions that an act settled wait again, or name the command that applies them again."""
    inbox = app.get(Inbox)
    found = inbox.settled(act)
    settled = [each for each in found if each.state is not State.OPEN]
    if settled:
        return Undoing(after=lambda who: inbox.reopen(who, settled))
    if found:
        number = " ".join(name_of(caller, each) for each in found)
        return Undoing(Reason("`minutebook tidy apply {number}` applies it again", number=number))
    return None
