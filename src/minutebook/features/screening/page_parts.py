"""The part of *Health* about secrets that are kept."""

from collections.abc import Mapping
from typing import Any

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.features.screening.secret_scan import SecretScan


def secrets(app: App, caller: Caller, about: object) -> Mapping[str, Any] | None:
    """Return how many secrets are kept."""
    count = sum(app.get(SecretScan).counts(caller).values())
    return {"count": count} if count else None
