"""The indices that a process has open: the most recently used ones."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from minutebook.store.sidecar.index import Index

MOST = 1024
"""The most indices that stay open: each maps some ten files, and a process may map 65,000."""

K = TypeVar("K", bound=Hashable)


class OpenIndices(Generic[K]):
    """Open indices by key; beyond MOST the least recently used one is dropped.

    A thread that is using it keeps it. Its unsaved changes are read again when it is opened again.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._indices: OrderedDict[K, Index[Any]] = OrderedDict()

    def get(self, key: K) -> Index[Any] | None:
        """Return the open index of a key, which becomes the most recently used; None if it is not open."""
        with self._guard:
            index = self._indices.get(key)
            if index is not None:
                self._indices.move_to_end(key)
            return index

    def add(self, key: K, index: Index[Any]) -> Index[Any]:
        """Keep an index open, unless there is one for its key; return the one that is open afterwards."""
        with self._guard:
            kept = self._indices.setdefault(key, index)
            self._indices.move_to_end(key)
            while len(self._indices) > MOST:
                self._indices.popitem(last=False)
            return kept
