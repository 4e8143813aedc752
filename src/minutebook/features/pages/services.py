"""Composes what pages alone ask for."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service

if TYPE_CHECKING:
    from minutebook.features.pages.timeline import Timeline


class PageServices(FeatureServices):
    """The services of pages."""

    @service
    def timeline(self) -> "Timeline":
        """Read the facts known and true at an instant, and the changes since."""
        from minutebook.features.pages.timeline import Timeline

        return Timeline(self.infrastructure.records, self.app.trail)
