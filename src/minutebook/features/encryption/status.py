"""The line of `minutebook status` about encryption."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from minutebook.config import Settings
from minutebook.disk.keys import place_of
from minutebook.domain.counts import count_of
from minutebook.features.encryption.operations import encryption

if TYPE_CHECKING:
    from minutebook.api.connection import Operating


def status(api: "Operating", settings: Settings) -> Mapping[str, str | None]:
    """Return the key of the store and its place; None for a store on a server."""
    if settings.store is not None:
        return {"encryption": None}
    state = api.run(encryption)
    if state.key is None:
        return {"encryption": "off"}
    plain = f"; still plain: {count_of(state.plain, 'file')}" if state.plain else ""
    return {"encryption": f"key {state.key} in {place_of(settings.key).name}{plain}"}
