"""Removes the local copies of remotes; one that is half removed by a kill is never taken for a whole one."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from minutebook.app import App
from minutebook.config.places import sync_folder
from minutebook.features.sync.known import KnownRecords
from minutebook.features.sync.replication import TRAVELLING
from minutebook.features.sync.rows import SyncRows
from minutebook.memory.intake import Removals
from minutebook.record.errors import StoreBusy, StoreError
from minutebook.record.reason import cause_of
from minutebook.record.records import Key

_GONE = ".gone-"
"""The beginning of the name of a copy that is being removed."""


class CopiesOfRemotes:
    """The `ErasedCopies` in local copies of remotes and in files to be sent, which a sync makes again."""

    def __init__(self, app: App) -> None:
        infrastructure = app.infrastructure
        self._store, self._locks = infrastructure.store, infrastructure.locks
        self._randbits = infrastructure.randbits
        self._removals = Removals(infrastructure)
        self._mentions, self._work = app.mentions, sync_folder(app.settings)
        self._rows = SyncRows(infrastructure.database)

    def note(self, keys: Sequence[Key]) -> None:
        """Update the state of removed records in each remote, because it may contain their texts."""
        for remote in self._rows.remotes():
            known = KnownRecords(
                *(self._store, self._removals, self._rows, remote, self._mentions, self._randbits),
                frozenset(TRAVELLING),
            )
            for key in keys:
                known.observe(key)

    def remove(self) -> Sequence[str]:
        """Remove the copies; return the steps left to a person.

        Raises StoreBusy while a sync is under way, StoreError if a file cannot be removed.
        """
        if self._work.exists():
            with self._locks.hold("sync", 30.0) as held:
                if held is None:
                    raise StoreBusy(
                        "a sync is under way; `minutebook erase --resume` when it is done"
                    )
                try:
                    remove_copies(self._work, ignore_errors=False)
                except OSError as error:
                    reason = "{path}: {cause}; remove it by hand, then `minutebook erase --resume` ends the erasure"
                    raise StoreError(
                        reason, path=error.filename or self._work, cause=cause_of(error)
                    ) from error
        if not self._rows.remotes():
            return ()
        return (
            "run `minutebook sync REMOTE` now, and once more when your other machines have: until then the "
            "remote's files hold what was erased",
        )


def remove_copies(work: Path, *, only_begun: bool = False, ignore_errors: bool = True) -> None:
    """Remove the folders of remotes, with copies and files to be sent; `only_begun`: those that a kill left half removed.

    Each is renamed first, so that no sync goes on with one that is half removed. Raises OSError if one cannot be
    removed, unless errors are ignored.
    """
    paths = sorted(work.iterdir()) if work.exists() else []
    for path in paths:
        if path.name.startswith(_GONE):
            shutil.rmtree(path, ignore_errors=ignore_errors)
        elif not only_begun:
            with suppress(OSError):
                path = path.rename(path.with_name(_GONE + path.name))
            shutil.rmtree(path, ignore_errors=ignore_errors)
    with suppress(OSError):
        # Fails if the folder is not empty.
        work.rmdir()
