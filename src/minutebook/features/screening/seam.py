"""The functions of this feature that the core calls: the part of *Health* about secrets, and undoing."""

from collections.abc import Mapping
from typing import Any

from minutebook.app import App
from minutebook.features.screening.secret_scan import SecretScan
from minutebook.record.caller import Caller
from minutebook.record.reason import Reason
from minutebook.record.trust.acts import MASK
from minutebook.record.trust.done_acts import DoneAct, Undoing


def secrets(app: App, caller: Caller, about: object) -> Mapping[str, Any] | None:
    """Return how many secrets are kept."""
    count = sum(app.get(SecretScan).counts(caller).values())
    return {"count": count} if count else None


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Say of masked records that their secrets are gone."""
    return Undoing(Reason("the secret is gone")) if act.named.act == MASK else None
