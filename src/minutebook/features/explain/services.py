"""Composes the explanations of searches."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service
from minutebook.features.ledger.services import LedgerServices
from minutebook.features.pages.services import PageServices

if TYPE_CHECKING:
    from minutebook.features.explain.viewpoints import Viewpoints


class ExplainServices(FeatureServices):
    """Searches that tell why."""

    @service
    def viewpoints(self) -> "Viewpoints":
        """Search as another caller does, and list the records left out."""
        from minutebook.features.explain.viewpoints import Viewpoints

        explained = self.app.get(PageServices).explained
        decided = self.app.get(LedgerServices).decision_search
        return Viewpoints(self.infrastructure, explained, decided)
