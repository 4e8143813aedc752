"""A memory as a retriever of LangChain."""

from typing import Any

from minutebook.adapters.extras import needing
from minutebook.adapters.provenance import own_metadata, provenance_of
from minutebook.api import Minutebook

with needing("langchain", "langchain_core langchain-core"):
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import Field


class MinutebookRetriever(BaseRetriever):
    """Retrieves the answers to a question, memories, decisions and sessions: a document each, its id the record's.

    A document's metadata has the memory's own, and beside it `relevance`, `source`, when it was so, whose words these
    are, and what perhaps revises it. `filters` are further arguments of `Minutebook.recall`: `{"sources": ["memory"]}`
    leaves memories alone. What is below `least_relevance` is left out.
    """

    memory: Minutebook
    limit: int = 10
    least_relevance: float = 0.0
    filters: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        hits = self.memory.recall(query, limit=self.limit, **self.filters)
        return [
            Document(
                page_content=hit.text,
                id=hit.id,
                metadata={**own_metadata(hit), **provenance_of(hit)},
            )
            for hit in hits
            if hit.relevance >= self.least_relevance
        ]
