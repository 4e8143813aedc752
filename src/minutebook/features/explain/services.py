"""Composes the explanations of searches."""

from typing import TYPE_CHECKING

from minutebook.app import FeatureServices
from minutebook.composing import service
from minutebook.features.ledger.services import LedgerServices

if TYPE_CHECKING:
    from minutebook.features.explain.explained import ExplainedRecall
    from minutebook.features.explain.viewpoints import Viewpoints


class ExplainServices(FeatureServices):
    """Searches that tell why."""

    @service
    def explained(self) -> "ExplainedRecall":
        """Search, and show why each record was found."""
        from minutebook.features.explain.explained import ExplainedRecall

        return ExplainedRecall(self.infrastructure.records, self.app.combined)

    @service
    def viewpoints(self) -> "Viewpoints":
        """Search as another caller does, and list the records left out."""
        from minutebook.features.explain.viewpoints import Viewpoints

        decided = self.app.get(LedgerServices).decision_search
        return Viewpoints(self.infrastructure, self.explained, decided)
