"""Composes the moves of records to projects."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service

if TYPE_CHECKING:
    from minutebook.features.projects.assigning import Assigning


class ProjectServices(FeatureServices):
    """Records and the projects that they are about."""

    @service
    def assigning(self) -> "Assigning":
        """Move records to the repositories that they are about."""
        from minutebook.features.projects.assigning import Assigning

        return Assigning(self.infrastructure, self.app.writer, self.app.sessions)
