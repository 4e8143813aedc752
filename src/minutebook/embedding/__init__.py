"""Tell how near two texts are.

`protocol` says what an embedder is, `service` holds the one in use; features open them. Nothing heavier than numpy is
imported until a model opens.
"""

from minutebook.embedding.protocol import Embedded, Embedder, Model, Rows, Vector
from minutebook.embedding.service import CacheStats, Embedding
from minutebook.search.late_interaction import TokenStates

__all__ = [
    "CacheStats",
    "Embedded",
    "Embedder",
    "Embedding",
    "Model",
    "Rows",
    "TokenStates",
    "Vector",
]
