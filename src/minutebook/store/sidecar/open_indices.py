"""The indices that a process has open: as many as were asked for last."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from minutebook.store.sidecar.index import Index

MOST = 1024
"""Indices that stay open: each maps some ten files, and a process may map 65,000."""

K = TypeVar("K", bound=Hashable)


class OpenIndices(Generic[K]):
    """Indices by key; of too many, the one that was asked for longest ago is let go.

    Who uses one meanwhile keeps it. What of it was not saved is read from the changes again.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._indices: OrderedDict[K, Index[Any]] = OrderedDict()

    def get(self, key: K) -> Index[Any] | None:
        """Return the index of a key, which was asked for last now; None if it is not open."""
        with self._guard:
            index = self._indices.get(key)
            if index is not None:
                self._indices.move_to_end(key)
            return index

    def add(self, key: K, index: Index[Any]) -> Index[Any]:
        """Keep an index open, unless another is for its key; return the one that is."""
        with self._guard:
            kept = self._indices.setdefault(key, index)
            self._indices.move_to_end(key)
            while len(self._indices) > MOST:
                self._indices.popitem(last=False)
            return kept
