"""The operation on the encryption of a store, and its lines of `status`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minutebook.ask.operation import operation
from minutebook.config import Settings
from minutebook.record.caller import Caller
from minutebook.record.reason import count_of
from minutebook.store.disk.keys import place_of

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.ask.connection import StoreConnection
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


def status(api: "StoreConnection", settings: Settings) -> Mapping[str, str | None]:
    """Return the key of the store and its place; None for a store on a server."""
    if settings.store is not None:
        return {"encryption": None}
    state = api.run(encryption)
    if state.key is None:
        return {"encryption": "off"}
    plain = f"; still plain: {count_of(state.plain, 'file')}" if state.plain else ""
    return {"encryption": f"key {state.key} in {place_of(settings.key).name}{plain}"}
