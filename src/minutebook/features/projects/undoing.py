"""Records that were moved go back to their projects."""

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.trust.done_acts import DoneAct, Undoing
from minutebook.features.projects.assigning import ASSIGN


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Have the records of an assignment put back."""
    return Undoing() if act.named.act == ASSIGN else None
