"""A memory as a retriever of LlamaIndex."""

from typing import Any

from minutebook.adapters.extras import needing
from minutebook.adapters.provenance import own_metadata, provenance_of
from minutebook.api import Hit, Minutebook

with needing("llamaindex", "llama_index llama-index-core"):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class MinutebookRetriever(BaseRetriever):
    """Retrieves the answers to a question, memories, decisions and sessions: a node each, its score the relevance.

    A node's metadata has the memory's own, and beside it where it comes from, when it was so, whose words these are and
    what perhaps revises it; of that a model is shown nothing. `filters` are further arguments of `Minutebook.recall`:
    `sources=["memory"]` leaves memories alone.
    """

    def __init__(
        self,
        memory: Minutebook,
        *,
        limit: int = 10,
        least_relevance: float = 0.0,
        **filters: Any,
    ) -> None:
        """Leave out hits below `least_relevance`."""
        self._memory = memory
        self._limit = limit
        self._least = least_relevance
        self._filters = filters
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._memory.recall(query_bundle.query_str, limit=self._limit, **self._filters)
        return [
            NodeWithScore(node=_node_of(hit), score=hit.relevance)
            for hit in hits
            if hit.relevance >= self._least
        ]


def _node_of(hit: Hit) -> TextNode:
    provenance = provenance_of(hit)
    return TextNode(
        id_=hit.id,
        text=hit.text,
        metadata={**own_metadata(hit), **provenance},
        excluded_embed_metadata_keys=list(provenance),
        excluded_llm_metadata_keys=list(provenance),
    )
