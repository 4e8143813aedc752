"""Composes the search for secrets among the records."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service

if TYPE_CHECKING:
    from minutebook.features.screening.secret_scan import SecretScan


class ScreeningServices(FeatureServices):
    """The look for secrets that are kept already."""

    @service
    def secret_scan(self) -> "SecretScan":
        """Find and replace the secrets that are kept."""
        from minutebook.features.screening.secret_scan import SecretScan

        return SecretScan(self.infrastructure, self.app.mentions)
