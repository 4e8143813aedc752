"""Operations on the secrets in stored records."""

from typing import TYPE_CHECKING

from minutebook.domain.caller import Caller, in_call
from minutebook.features.screening.occurrences import Masked
from minutebook.operations.operation import operation

if TYPE_CHECKING:
    from minutebook.app import App
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
