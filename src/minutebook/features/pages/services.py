"""Composes the reads that pages alone ask for."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service

if TYPE_CHECKING:
    from minutebook.features.pages.explained import ExplainedRecall
    from minutebook.features.pages.timeline import Timeline


class PageServices(FeatureServices):
    """The services of pages."""

    @service
    def explained(self) -> "ExplainedRecall":
        """Search, and show why each record was found."""
        from minutebook.features.pages.explained import ExplainedRecall

        return ExplainedRecall(self.infrastructure.records, self.app.combined)

    @service
    def timeline(self) -> "Timeline":
        """Read the facts known and true at an instant, and the changes since."""
        from minutebook.features.pages.timeline import Timeline

        return Timeline(self.infrastructure.records, self.app.trail)
