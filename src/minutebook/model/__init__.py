"""Vectors and token states of texts, by which their likeness is measured.

`protocol` has the interface of an embedder, `service` the embedder in use; features open them. Nothing heavier than numpy is
imported until a model opens.
"""

from minutebook.model.protocol import Embedded, Embedder, Model, Rows, Vector
from minutebook.model.service import CacheStats, Embedding
from minutebook.text.late_interaction import TokenStates

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
