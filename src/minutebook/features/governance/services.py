"""Composes the memories of the governance contract."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service

if TYPE_CHECKING:
    from minutebook.features.governance.governed import GovernedMemories


class GovernanceServices(FeatureServices):
    """The services of the governance contract."""

    @service
    def governed(self) -> "GovernedMemories":
        """Search, read and edit memories, each act audited."""
        from minutebook.features.governance.governed import GovernedMemories

        return GovernedMemories(self.app.memories, self.app.filtered_search, self.app.trail)
