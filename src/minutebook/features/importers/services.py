"""Composes the importers of other programs' records."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service

if TYPE_CHECKING:
    from minutebook.features.importers.source_imports import SourceImports


class ImporterServices(FeatureServices):
    """Imports from other programs."""

    @service
    def source_imports(self) -> "SourceImports":
        """Import the records of other programs."""
        from minutebook.features.importers.source_imports import SourceImports

        return SourceImports(self.infrastructure, self.app.writer, self.app.mentions)
