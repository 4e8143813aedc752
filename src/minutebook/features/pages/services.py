"""Composes the reads that pages alone ask for."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service

if TYPE_CHECKING:
    from minutebook.features.pages.explained import ExplainedRecall


class PageServices(FeatureServices):
    """The services of pages."""

    @service
    def explained(self) -> "ExplainedRecall":
        """Search, and show why each record was found."""
        from minutebook.features.pages.explained import ExplainedRecall

        return ExplainedRecall(self.infrastructure.records, self.app.combined)
