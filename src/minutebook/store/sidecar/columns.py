"""Selection of records by the columns of an index: in milliseconds, where SQL needs 0.1 to 0.5 s for a million rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from typing import Any

import numpy as np

from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.block import Places
from minutebook.store.sidecar.view import ColumnConditions, IndexView, Layer

_KEPT_ORDERS: Mapping[tuple[str, ...], bool] = {
    ("ingestion_time",): False,
    ("-ingestion_time",): True,
}


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The records of a view that meet conditions on its columns."""

    _view: IndexView[Any]
    _conditions: ColumnConditions

    def count(self) -> int:
        """Return the number of records that meet the conditions."""
        return sum(layer.count(self._conditions) for layer in self._view.layers)

    def ids(self, *, descending: bool, limit: int | None = None) -> list[str]:
        """Return the ids of the records that meet the conditions, sorted, at most `limit`."""
        found: list[bytes] = []
        for layer in self._view.layers:
            ids = layer.block.ids[self._places(layer)]
            found += ids[:: -1 if descending else 1][:limit].tolist()
        return [_text(id) for id in sorted(found, reverse=descending)[:limit]]

    def first(self, order: Sequence[str], needed: int) -> list[str] | None:
        """Return the ids of the `needed` first records in an order, and some more, unsorted.

        Returns None if SQL is as quick: if all records meet the conditions, or if very many do and the columns do not
        have the field of the order.
        """
        needed += sizes.SPARE
        count = self.count()
        if needed > sizes.MOST_NAMED or count == sum(layer.alive for layer in self._view.layers):
            return None
        if (is_latest := _KEPT_ORDERS.get(tuple(order))) is not None:
            return self._first_kept(needed, is_latest=is_latest)
        return self.ids(descending=False) if count <= sizes.MOST_NAMED else None

    def _first_kept(self, needed: int, *, is_latest: bool) -> list[str]:
        found: list[tuple[int, bytes]] = []
        for layer in self._view.layers:
            places = self._places(layer)
            kept = layer.block.kept[places]
            places = places[_ends(kept, needed, is_latest=is_latest)]
            found += zip(
                layer.block.kept[places].tolist(), layer.block.ids[places].tolist(), strict=True
            )
        first = nlargest(needed, found) if is_latest else nsmallest(needed, found)
        return [_text(id) for _, id in first]

    def _places(self, layer: Layer[Any]) -> Places:
        places = layer.places(self._conditions)
        return np.arange(len(layer.block)) if places is None else places


def _ends(values: Any, needed: int, *, is_latest: bool) -> Places:
    """Return the positions of the `needed` greatest values if `is_latest`, else least; of equal ones the last, else first."""
    if len(values) <= needed:
        return np.arange(len(values))
    place = len(values) - needed if is_latest else needed - 1
    bound = np.partition(values, place)[place]
    beyond = np.flatnonzero(values > bound if is_latest else values < bound)
    equal, missing = np.flatnonzero(values == bound), needed - len(beyond)
    return np.concatenate([beyond, equal[-missing:] if is_latest else equal[:missing]])


def _text(id: bytes) -> str:
    return id.decode("utf-8", "surrogatepass")
