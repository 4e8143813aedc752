"""The view of an index that a search reads: immutable blocks, their dead records, and the last change."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias

import numpy as np

from minutebook.store.sidecar import sizes
from minutebook.store.sidecar.block import Block, Mask, P, Places, merged

Witness: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnConditions:
    """Conditions on the columns of a block, as in a Filter: allowed values of facets, instants in microseconds, ids."""

    facets: Sequence[tuple[str, Collection[str | None]]] = ()
    valid_at: int | None = None
    differs_between: tuple[int, int] | None = None
    since: int | None = None
    until: int | None = None
    with_hidden: bool = False
    ids: Collection[bytes] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Layer(Generic[P]):
    """A block, the mask of its dead records, which changed or were removed since (None: none), and its file (None: in memory)."""

    block: Block[P]
    dead: Mask | None = None
    file: str | None = None

    @property
    def alive(self) -> int:
        """The number of records that are not dead."""
        return len(self.block) - (0 if self.dead is None else int(np.count_nonzero(self.dead)))

    def with_dead(self, ids: Sequence[bytes]) -> "Layer[P]":
        """Return the layer with these records marked as dead, too."""
        places = self.block.places_of(ids)
        if not len(places):
            return self
        dead = np.zeros(len(self.block), np.bool_) if self.dead is None else self.dead.copy()
        dead[places] = True
        return replace(self, dead=dead)

    def mask(self, conditions: ColumnConditions) -> Mask | None:
        """Return the mask of the records that are alive and meet the conditions; None if all do."""
        if conditions.ids is not None:
            mask = np.zeros(len(self.block), np.bool_)
            mask[self.places_among(conditions.ids, conditions)] = True
            return mask
        masks = list(self._masks(conditions, slice(None)))
        return np.logical_and.reduce(masks) if masks else None

    def places(self, conditions: ColumnConditions) -> Places | None:
        """Return the positions, ascending, of the records that are alive and meet the conditions; None if all do."""
        if conditions.ids is not None:
            return self.places_among(conditions.ids, conditions)
        mask = self.mask(conditions)
        return None if mask is None else np.flatnonzero(mask)

    def count(self, conditions: ColumnConditions) -> int:
        """Return the number of records that are alive and meet the conditions."""
        mask = self.mask(conditions)
        return len(self.block) if mask is None else int(np.count_nonzero(mask))

    def places_among(self, ids: Collection[bytes], conditions: ColumnConditions) -> Places:
        """Return the positions, ascending, of those of some records that are alive and meet the conditions."""
        places = np.sort(self.block.places_of(list(ids)))
        masks = list(self._masks(conditions, places))
        return places[np.logical_and.reduce(masks)] if masks else places

    def _masks(self, conditions: ColumnConditions, at: Places | slice) -> Iterator[Mask]:
        """Yield the mask of each condition but that on ids, for the records at positions `at`; none for one that all meet."""
        block, extent, instant = self.block, self.block.extent, conditions.valid_at
        if self.dead is not None:
            yield ~self.dead[at]
        if not conditions.with_hidden and extent.any_hidden:
            yield ~block.hidden[at]
        if instant is not None and not extent.holds_at(instant):
            yield block.holds_at(instant, at)
        if conditions.differs_between is not None:
            one, other = conditions.differs_between
            yield block.holds_at(one, at) != block.holds_at(other, at)
        if conditions.since is not None and extent.first_kept < conditions.since:
            yield block.kept[at] >= conditions.since
        if conditions.until is not None and extent.last_kept >= conditions.until:
            yield block.kept[at] < conditions.until
        for name, allowed in conditions.facets:
            yield block.facets[name].among(allowed, at)


@dataclass(frozen=True, slots=True, eq=False)
class IndexView(Generic[P]):
    """The layers, oldest first, that hold every record of one index as of `sequence`.

    `witness` is the id and sequence of the latest change in the layers: a store without this change
    is not the one that they were made from. `pending` counts the changes that are not in
    files yet.
    """

    sequence: int = 0
    witness: Witness | None = None
    layers: tuple[Layer[P], ...] = ()
    pending: int = 0

    @property
    def files(self) -> list[str]:
        """The files that the layers came from."""
        return [layer.file for layer in self.layers if layer.file is not None]

    @property
    def size(self) -> int:
        """The number of records, with dead ones."""
        return sum(len(layer.block) for layer in self.layers)

    @property
    def unsaved(self) -> int:
        """The number of live records that are in memory only."""
        return sum(layer.alive for layer in self.layers if layer.file is None)

    @property
    def saved(self) -> int:
        """The number of live records that are in files."""
        return sum(layer.alive for layer in self.layers if layer.file is not None)

    def layers_after(self, ids: Sequence[bytes], block: Block[P] | None) -> tuple[Layer[P], ...]:
        """Return the layers after records with these ids changed; the block has those that still exist."""
        layers = [layer.with_dead(ids) for layer in self.layers] if ids else list(self.layers)
        layers = [layer for layer in layers if layer.file is not None or layer.alive]
        if block is None:
            return tuple(layers)
        last = Layer(block)
        while (
            layers
            and layers[-1].file is None
            and len(layers[-1].block) < sizes.GROWTH * len(last.block)
            and len(layers[-1].block) + len(last.block) <= sizes.LARGEST_IN_MEMORY
        ):
            before = layers.pop()
            last = Layer(merged([(before.block, before.dead), (last.block, last.dead)]))
        return (*layers, last)
