"""Erased records stay erased."""

from minutebook.app import App
from minutebook.record.caller import Caller
from minutebook.record.reason import Reason
from minutebook.record.trust.done_acts import DoneAct, Undoing
from minutebook.record.trust.trail import ERASE


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Say of an erasure that nothing is left of its records."""
    return Undoing(Reason("no byte of it is left")) if act.named.act == ERASE else None
