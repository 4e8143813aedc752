"""Secrets that were taken out stay out."""

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.reason import Reason
from minutebook.domain.trust.acts import MASK
from minutebook.domain.trust.done_acts import DoneAct, Undoing


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Say of masked records that their secrets are gone."""
    return Undoing(Reason("the secret is gone")) if act.named.act == MASK else None
