"""Records that came from another machine: they are taken back there."""

from minutebook.app import App
from minutebook.features.sync.machines import ACT
from minutebook.record.caller import Caller
from minutebook.record.reason import Reason
from minutebook.record.trust.done_acts import DoneAct, Undoing


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Say of a sync that the other machine's acts are taken back there."""
    if act.named.act != ACT:
        return None
    return Undoing(Reason("take it back on the machine where it was done, then sync again"))
