"""An index derived from records: brought up to date and saved."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeAlias

from minutebook.record.errors import StoreError
from minutebook.record.reason import os_error_reason
from minutebook.store.disk.encryption import Key
from minutebook.store.disk.filelock import FileLock
from minutebook.store.sidecar import files, sizes
from minutebook.store.sidecar.block import Block, P
from minutebook.store.sidecar.files import Identity
from minutebook.store.sidecar.view import IndexView, Witness

_REBUILD_WAIT = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class ChangedRecords(Generic[P]):
    """A page of the changes after some sequence: the ids, and a block of those records that belong in the index.

    The page covers changes up to `sequence`; `witness` is the last change in it.
    """

    sequence: int
    ids: Sequence[bytes]
    block: Block[P] | None
    witness: Witness | None
    is_last: bool


class RecordSnapshot(Protocol[P]):
    """One snapshot of the records that an index is derived from."""

    def sequence(self) -> int:
        """Return the sequence of the organization's latest change."""

    def unread(self, since: int) -> int:
        """Return how much there is to read after a sequence: the number of changes, of any kind; long texts count more."""

    def page(self, since: int) -> ChangedRecords[P]:
        """Return the records that changed after a sequence, a bounded number of changes at a time."""

    def knows(self, witness: Witness) -> bool:
        """Tell whether a record changed at that sequence or later."""


Sources: TypeAlias = Callable[[], AbstractContextManager[RecordSnapshot[P]]]


class Index(Generic[P]):
    """An index with one view for all threads; it calls `want_saving` when many changes are unsaved.

    Its files are encrypted with `key`, if there is one.
    """

    def __init__(
        self,
        folder: Path,
        identity: Identity,
        payload: type[P],
        sources: Sources[P],
        want_saving: Callable[[], None],
        key: Key | None = None,
    ) -> None:
        self._key = key
        self._folder = folder
        self._identity = identity
        self._payload = payload
        self._sources = sources
        self._want_saving = want_saving
        self._turn = threading.Lock()
        self._saving = threading.Lock()
        self._view: IndexView[P] | None = None
        self._next_try = 0

    def within(self, source: RecordSnapshot[P]) -> IndexView[P]:
        """Return a view with the changes of an open transaction; the index itself stays as it was."""
        view = self.current()
        while view.sequence < source.sequence():
            view = _advanced(view, source.page(view.sequence))
        return view

    def current(self) -> IndexView[P]:
        """Return the view as of the latest commit."""
        with self._sources() as source:
            return self.as_of(source.sequence())

    def as_of(self, latest: int) -> IndexView[P]:
        """Return the view as of the sequence `latest` or a later one, reading the changes that it lacks."""
        view = self._view
        if view is None or view.sequence < latest:
            with self._turn:
                view = self._view = self._caught_up(self._view)
        if self._is_worth_saving(view):
            self._want_saving()
        return view

    def behind(self) -> int:
        """Return how much the view lacks, as `RecordSnapshot.unread` counts it."""
        view = self._known()
        with self._sources() as source:
            return source.unread(view.sequence)

    def if_large(self, latest: int) -> IndexView[P] | None:
        """Return the view `as_of` a sequence; None if it has few records, or lacks many changes."""
        view = self._known()
        is_near = view.sequence >= latest or self.behind() <= sizes.BEHIND
        return self.as_of(latest) if view.size >= sizes.MANY_TEXTS and is_near else None

    def advance(self) -> bool:
        """Read one page of changes into the view; tell whether it was the last."""
        with self._turn:
            view, is_last = self._read(self._view or self._loaded() or IndexView())
            self._view = view
        if self._is_worth_saving(view):
            self._want_saving()
        return is_last

    def save(self) -> None:
        """Save the view if it has many unsaved changes, few are still to be read, and no other process saves."""
        with self._saving:
            view = self._view
            # If many are still to be read, the reader saves them on the way, and can stop between two pages.
            if view is not None and self._is_worth_saving(view) and self.behind() <= sizes.BEHIND:
                with self._turn:
                    # Records that were removed since must not get into a file again.
                    view = self._view = self._caught_up(view)
                # Searches go on meanwhile; the changes that they read since `view` are read again.
                view = self._view = self._saved(view)
                # If saving failed, it is not tried again at each search.
                self._next_try = view.pending + sizes.LEAST_SAVED if view.pending else 0

    def rebuild(self) -> None:
        """Make the index anew from the records."""
        with self._saving, self._turn:
            with files.locked(self._folder, wait=_REBUILD_WAIT):
                files.remove_all(self._folder)
            self._view = self._saved(self._caught_up(IndexView()))
            self._next_try = 0

    def scrub(self) -> None:
        """Bring the files up to date, without any trace of records that were removed or changed.

        Only segments with such records are rewritten. Raises StoreError if they cannot be, StoreBusy if
        another process holds the lock of the files.
        """
        with self._saving, self._turn:
            while True:
                view = self._caught_up(self._loaded())
                with files.locked(self._folder, wait=_REBUILD_WAIT):
                    saved = self._loaded()
                    if saved is None:
                        # They are of another store, or damaged.
                        files.remove_all(self._folder)
                        view = replace(
                            view, layers=tuple(replace(a, file=None) for a in view.layers)
                        )
                    elif saved.files != view.files:
                        # Another process has saved meanwhile.
                        continue
                    try:
                        self._view = files.scrub(self._folder, self._identity, view, self._key)
                    except OSError as error:
                        raise StoreError(
                            os_error_reason(error.filename or self._folder, error)
                        ) from error
                self._next_try = 0
                return

    def _is_worth_saving(self, view: IndexView[P]) -> bool:
        share = min(view.saved // sizes.SAVED_SHARE, sizes.MOST_UNSAVED)
        enough = max(sizes.LEAST_SAVED, share)
        return view.pending >= max(enough, self._next_try)

    def _caught_up(self, view: IndexView[P] | None) -> IndexView[P]:
        """Return the view with all changes read, page by page; a file's worth is saved on the way, which bounds memory."""
        view, is_last = self._read(view or self._loaded() or IndexView())
        while not is_last:
            view, is_last = self._read(view)
        return view

    def _read(self, view: IndexView[P]) -> tuple[IndexView[P], bool]:
        """Return the view with one more page of changes, and whether that was the last."""
        if view.unsaved >= sizes.LARGEST:
            view = self._saved(view)
        with self._sources() as source:
            page = source.page(view.sequence)
        return _advanced(view, page), page.is_last

    def _known(self) -> IndexView[P]:
        """Return the view as it is, without reading changes."""
        if self._view is None:
            with self._turn:
                self._view = self._view or self._loaded() or IndexView()
        return self._view

    def _loaded(self) -> IndexView[P] | None:
        """Return the view of the files; None if they are damaged or were made from another store's records."""
        view = files.load(self._folder, self._identity, self._payload, self._key)
        if view is None:
            return None
        with self._sources() as source:
            is_ours = view.sequence <= source.sequence() and (
                view.witness is None or source.knows(view.witness)
            )
        return view if is_ours else None

    def _saved(self, view: IndexView[P]) -> IndexView[P]:
        """Save a view and return it; or return the view of the files, if another process saved them since this was loaded."""
        lock: FileLock | None = files.try_lock(self._folder)
        if lock is None:
            return view
        try:
            other = self._loaded()
            if other is None:
                view = replace(view, layers=tuple(replace(a, file=None) for a in view.layers))
            elif other.files != view.files:
                return other
            return files.save(self._folder, self._identity, view, self._key)
        finally:
            lock.close()


def _advanced(view: IndexView[P], page: ChangedRecords[P]) -> IndexView[P]:
    return IndexView(
        page.sequence,
        page.witness or view.witness,
        view.layers_after(page.ids, page.block),
        view.pending + len(page.ids),
    )
