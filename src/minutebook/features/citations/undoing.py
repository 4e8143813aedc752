"""Take confirmations back: the one before holds again."""

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.reason import Reason
from minutebook.domain.trust.acts import CONFIRM
from minutebook.domain.trust.done_acts import DoneAct, Undoing


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Return the way to take the confirmations of an act back; None if it confirmed nothing."""
    from minutebook.features.citations.confirming import Confirmations

    confirmations = app.get(Confirmations)
    confirmed = [each for each in act.entries if each.act == CONFIRM]
    if not confirmed:
        return None
    for each in confirmed:
        if not confirmations.is_last(each):
            return Undoing(Reason("it was confirmed again since"))

    def take_back(who: Caller) -> None:
        for each in confirmed:
            confirmations.take_back(who, each.organization, each.subject_kind, each.subject)

    return Undoing(after=take_back)
