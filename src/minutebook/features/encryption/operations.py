"""How the store is encrypted."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minutebook.domain.caller import Caller
from minutebook.operations.operation import operation

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.features.encryption.encryption import Encryption


@dataclass(frozen=True, slots=True)
class EncryptionReport:
    """By which key the store is encrypted, if by one, and how many files beside it are still plain."""

    key: str | None
    plain: int


@operation()
def encryption(app: "App", caller: Caller) -> EncryptionReport:
    """Tell by which key the store in a file is encrypted."""
    state = _encryption(app).state()
    return EncryptionReport(state.key, len(state.plain))


def _encryption(app: "App") -> "Encryption":
    # A command that only asks for operations need not import what does them.
    from minutebook.features.encryption.encryption import encryption_of

    return encryption_of(app.settings)


OPERATIONS = (encryption,)
