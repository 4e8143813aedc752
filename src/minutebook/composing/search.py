"""Composes searches of memories, decisions, sessions and code."""

from typing import TYPE_CHECKING

from minutebook.composing.knowledge import KnowledgeServices
from minutebook.composing.ledger import LedgerServices
from minutebook.composing.service import service

if TYPE_CHECKING:
    from minutebook.services.search.code import CodeSearch
    from minutebook.services.search.combined import CombinedRecall
    from minutebook.services.search.decisions import DecisionSearch
    from minutebook.services.search.explained import ExplainedRecall
    from minutebook.services.search.filtered import FilteredSearch
    from minutebook.services.search.governed import GovernedMemories
    from minutebook.services.search.recall import Recall
    from minutebook.services.search.sessions import JournalSearch
    from minutebook.services.search.viewpoints import Viewpoints


class SearchServices(KnowledgeServices, LedgerServices):
    """Searches, each over the records of one kind or of several."""

    @service
    def decision_search(self) -> "DecisionSearch":
        """Search decisions."""
        from minutebook.services.search.decisions import DecisionSearch

        return DecisionSearch(self._store, self.embeddings, self.ledgers)

    @service
    def recall(self) -> "Recall":
        """Search memories and decisions."""
        from minutebook.services.search.recall import Recall

        return Recall(self._store, self.embeddings, self.clock, self.decision_search)

    @service
    def explained(self) -> "ExplainedRecall":
        """Search them, and show why each was found."""
        from minutebook.services.search.explained import ExplainedRecall

        return ExplainedRecall(self._store, self.combined)

    @service
    def viewpoints(self) -> "Viewpoints":
        """Search as another caller does, and tell what is left out."""
        from minutebook.services.search.viewpoints import Viewpoints

        return Viewpoints(self.infrastructure, self.explained, self.decision_search)

    @service
    def code_search(self) -> "CodeSearch":
        """Search code."""
        from minutebook.services.search.code import CodeSearch

        return CodeSearch(self._store, self.embeddings)

    @service
    def combined(self) -> "CombinedRecall":
        """Search memories, decisions, sessions and code together."""
        from minutebook.services.search.combined import CombinedRecall
        from minutebook.services.search.newest_first import NewestFirst
        from minutebook.services.search.passages import Passages

        newest = NewestFirst(self._store, self.embeddings)
        passages = Passages(self._store, self.embeddings)
        return CombinedRecall(self.recall, self.code_search, newest, passages)

    @service
    def filtered_search(self) -> "FilteredSearch":
        """Search memories that meet conditions."""
        from minutebook.services.search.filtered import FilteredSearch

        return FilteredSearch(self._store, self.embeddings, self.clock)

    @service
    def governed(self) -> "GovernedMemories":
        """Search for the governance contract, audited."""
        from minutebook.services.search.governed import GovernedMemories

        return GovernedMemories(self.memories, self.filtered_search, self.trail)

    @service
    def journal_search(self) -> "JournalSearch":
        """Search sessions."""
        from minutebook.services.search.sessions import JournalSearch

        return JournalSearch(self._store, self.embeddings)
