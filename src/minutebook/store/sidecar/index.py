"""The vectors of one space, derived from records: brought up to date, searched and saved."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias

from minutebook.store.filelock import FileLock
from minutebook.store.protocol import Candidate
from minutebook.store.sidecar import files, sizes
from minutebook.store.sidecar.block import Block
from minutebook.store.sidecar.files import Identity
from minutebook.store.sidecar.view import Conditions, Query, View, Witness

_REBUILD_WAIT = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """What changed after some sequence: the ids, and a block of those that have vectors.

    The page leads up to `sequence`; `witness` is the last change in it, and nothing follows a page
    that `is_last`.
    """

    sequence: int
    ids: Sequence[bytes]
    block: Block | None
    witness: Witness | None
    is_last: bool


class Source(Protocol):
    """One snapshot of the records that an index is derived from."""

    def sequence(self) -> int:
        """Give the sequence of the organization's latest change."""

    def page(self, since: int) -> Page:
        """Give what changed after a sequence, up to a bounded number of changes."""

    def knows(self, witness: Witness) -> bool:
        """Tell whether a record changed at that sequence or later."""


Sources: TypeAlias = Callable[[], AbstractContextManager[Source]]


class Index:
    """Keeps one view for all threads; `want_saving` is called when much of it is unsaved."""

    def __init__(
        self, folder: Path, identity: Identity, sources: Sources, want_saving: Callable[[], None]
    ) -> None:
        self._folder = folder
        self._identity = identity
        self._sources = sources
        self._want_saving = want_saving
        self._turn = threading.Lock()
        self._saving = threading.Lock()
        self._view: View | None = None
        self._next_try = 0

    def nearest(self, conditions: Conditions, vector: Query, limit: int) -> list[Candidate]:
        """Rank records by the cosine of their nearest vector, as of the latest commit."""
        return self.current().nearest(conditions, vector, limit)

    def nearest_in(
        self, source: Source, conditions: Conditions, vector: Query, limit: int
    ) -> list[Candidate]:
        """Do the same as of a transaction that may yet be undone: keep nothing of what is read."""
        view = self.current()
        while view.sequence < source.sequence():
            view = _advanced(view, source.page(view.sequence))
        return view.nearest(conditions, vector, limit)

    def current(self) -> View:
        """Give the view as of the latest commit."""
        with self._sources() as source:
            latest = source.sequence()
        view = self._view
        if view is None or view.sequence < latest:
            with self._turn:
                view = self._view = self._caught_up(self._view)
        if self._is_worth_saving(view):
            self._want_saving()
        return view

    def save(self) -> None:
        """Save what is unsaved, if it is much and no other process is at it."""
        with self._saving:
            view = self.current()
            if self._is_worth_saving(view):
                # Searches go on meanwhile, and read again what changed since `view`.
                view = self._view = self._saved(view)
                # What could not be saved is not tried again at each search.
                self._next_try = view.pending + sizes.LEAST_SAVED if view.pending else 0

    def rebuild(self) -> None:
        """Make the index anew from the records."""
        with self._saving, self._turn:
            with files.locked(self._folder, wait=_REBUILD_WAIT):
                files.remove_all(self._folder)
            self._view = self._saved(self._caught_up(View()))
            self._next_try = 0

    def _is_worth_saving(self, view: View) -> bool:
        enough = max(sizes.LEAST_SAVED, view.saved // sizes.SAVED_SHARE)
        return view.pending >= max(enough, self._next_try)

    def _caught_up(self, view: View | None) -> View:
        """Read page after page; a whole file's worth is saved on the way, which bounds memory."""
        if view is None:
            view = self._loaded() or View()
        while True:
            with self._sources() as source:
                page = source.page(view.sequence)
            view = _advanced(view, page)
            if page.is_last:
                return view
            if view.unsaved >= sizes.LARGEST:
                view = self._saved(view)

    def _loaded(self) -> View | None:
        """Open the files, if they are sound and were made from these records."""
        view = files.load(self._folder, self._identity)
        if view is None:
            return None
        with self._sources() as source:
            is_ours = view.sequence <= source.sequence() and (
                view.witness is None or source.knows(view.witness)
            )
        return view if is_ours else None

    def _saved(self, view: View) -> View:
        """Save a view; or take over what another process has saved since the view was loaded."""
        lock: FileLock | None = files.try_lock(self._folder)
        if lock is None:
            return view
        try:
            other = self._loaded()
            if other is None:
                view = replace(view, layers=tuple(replace(a, file=None) for a in view.layers))
            elif other.files != view.files:
                return other
            return files.save(self._folder, self._identity, view)
        finally:
            lock.close()


def _advanced(view: View, page: Page) -> View:
    return View(
        page.sequence,
        page.witness or view.witness,
        view.changed(page.ids, page.block),
        view.pending + len(page.ids),
    )
