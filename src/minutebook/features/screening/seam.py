"""The functions of this feature that others call: its operation, the part of *Health*, undoing."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minutebook.app import App
from minutebook.domain.caller import Caller, in_call
from minutebook.domain.reason import Reason
from minutebook.domain.trust.acts import MASK
from minutebook.domain.trust.done_acts import DoneAct, Undoing
from minutebook.features.screening.secret_scan import Masked
from minutebook.operations.operation import operation

if TYPE_CHECKING:
    from minutebook.features.screening.secret_scan import SecretScan


@operation("knowledge", is_long=True)
def scan_secrets(app: "App", caller: Caller) -> Masked:
    """Find the secrets in stored records."""
    return Masked([], list(_scan(app).scan(caller)))


@operation("knowledge", writes=True, is_long=True)
def mask_secrets(app: "App", caller: Caller, reason: str) -> Masked:
    """Replace the secrets in stored records, for good."""
    return _scan(app).mask(in_call(caller, reason=reason))


def _scan(app: "App") -> "SecretScan":
    # A command that only asks for operations need not import what does them.
    from minutebook.features.screening.secret_scan import SecretScan

    return app.get(SecretScan)


OPERATIONS = (scan_secrets, mask_secrets)


def secrets(app: App, caller: Caller, about: object) -> Mapping[str, Any] | None:
    """Return how many secrets are kept."""
    from minutebook.features.screening.secret_scan import SecretScan

    count = sum(app.get(SecretScan).counts(caller).values())
    return {"count": count} if count else None


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Say of masked records that their secrets are gone."""
    return Undoing(Reason("the secret is gone")) if act.named.act == MASK else None
