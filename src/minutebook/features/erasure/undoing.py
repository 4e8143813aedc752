"""Erased records stay erased."""

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.reason import Reason
from minutebook.domain.trust.done_acts import DoneAct, Undoing
from minutebook.domain.trust.trail import ERASE


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Say of an erasure that nothing is left of its records."""
    return Undoing(Reason("no byte of it is left")) if act.named.act == ERASE else None
