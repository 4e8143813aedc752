"""Operations on stored secrets: find them, replace them."""

from typing import TYPE_CHECKING

from minutebook.ask.operation import operation
from minutebook.features.screening.secret_scan import Masked, SecretScan
from minutebook.record.caller import Caller, with_call

if TYPE_CHECKING:
    from minutebook.app import App


@operation("knowledge", is_long=True)
def scan_secrets(app: "App", caller: Caller) -> Masked:
    """Find the secrets in stored records."""
    return Masked([], list(app.get(SecretScan).scan(caller)))


@operation("knowledge", writes=True, is_long=True)
def mask_secrets(app: "App", caller: Caller, reason: str) -> Masked:
    """Replace the secrets in stored records, for good."""
    return app.get(SecretScan).mask(with_call(caller, reason=reason))


OPERATIONS = (scan_secrets, mask_secrets)
