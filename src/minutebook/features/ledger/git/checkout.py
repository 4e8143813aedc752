"""A person's work tree beside the branch: the new files appear in it, all else stays as it is.

A commit that only moved the branch would make the person's next `git commit` take the decision out
again: their index does not have it. So the entries of the files written, and no others, are brought
along in the index, as `git commit --only` does, under Git's own lock.
"""

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, FileStatus

from minutebook.record.errors import LedgerBusy, LedgerError


@dataclass(frozen=True, slots=True)
class Checkout:
    """The work tree and index of an open repository."""

    repository: pygit2.Repository
    root: Path
    control: Path
    """The folder of Git's own files for this work tree."""

    @property
    def lock(self) -> Path:
        """The file by which Git locks the index."""
        return self.control / "index.lock"

    @property
    def _next_index(self) -> Path:
        return self.control / "minutebook.index"

    @property
    def _index_before(self) -> Path:
        return self.control / "minutebook.index.before"

    @property
    def busy(self) -> LedgerBusy:
        """The error for a lock that another Git command holds."""
        return LedgerBusy(
            "another Git command is at work in {path} ({lock} exists)",
            "wait for it to end; if none is running, remove that file",
            path=self.root,
            lock=self.lock,
        )

    def prepare(self, mark: Path, files: Mapping[str, tuple[pygit2.Oid, bytes]]) -> None:
        """Lock the index, put the new one in place and write each file beside its path; `files` maps path to id and content.

        `mark` is the file of the pending write. The lock on the index is a hard link to it, so that a
        lock left by a kill is known to be ours. Raises LedgerBusy if another Git command has the lock,
        LedgerError if a file was changed or cannot be written; then call `abandon`.
        """
        try:
            os.link(mark, self.lock)
        except FileExistsError:
            raise self.busy from None
        self._check_unchanged(files)
        for path, (_, content) in files.items():
            draft = self._draft(path)
            draft.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(content)
        self._make_index({path: blob for path, (blob, _) in files.items()})
        self._install_index()

    def finish(self, mark: Path, files: Iterable[str]) -> None:
        """Put the prepared files in place and release the lock."""
        for path in files:
            with suppress(FileNotFoundError):
                self._draft(path).replace(self.root / path)
        self._remove_spare_indices()
        if self._is_ours(mark):
            self.lock.unlink()

    def abandon(self, mark: Path, files: Iterable[str]) -> None:
        """Restore the index, remove the prepared files and release the lock."""
        for path in files:
            self._draft(path).unlink(missing_ok=True)
        if self._is_ours(mark):
            self._restore_index()
            self._remove_spare_indices()
            self.lock.unlink()

    def _check_unchanged(self, files: Iterable[str]) -> None:
        """Raise LedgerError if a file has uncommitted changes or lies outside of the work tree."""
        for path in files:
            full = self.root / path
            if not full.resolve().is_relative_to(self.root.resolve()):
                remedy = "name a folder of the repository that is no symbolic link"
                raise LedgerError("{full} lies outside of the work tree", remedy, full=full)
            try:
                status = self.repository.status_file(path)
            except KeyError:
                continue
            if status not in (FileStatus.CURRENT, FileStatus.IGNORED):
                reason = "{full} has changes that were not committed"
                raise LedgerError(reason, "commit or discard them, then try again", full=full)

    def _install_index(self) -> None:
        """Put the new index in place and keep the one that was there.

        Call it before the branch moves. `git commit` reads the head, then the index, then locks the index.
        If the index were behind the head for a moment, it would commit that index, without the decision.
        If the head is behind the index, it finds the lock, or that the head has moved.
        """
        present = self.control / "index"
        if present.exists():
            os.link(present, self._index_before)
        else:
            self._index_before.touch()
        self._next_index.replace(present)

    def _restore_index(self) -> None:
        """Put back the index as it was before the act; remove it if there was none."""
        try:
            was_there = self._index_before.stat().st_size > 0
        except FileNotFoundError:
            return
        if was_there:
            self._index_before.replace(self.control / "index")
        else:
            (self.control / "index").unlink(missing_ok=True)

    def _remove_spare_indices(self) -> None:
        lock_of_next = self._next_index.with_name("minutebook.index.lock")
        for path in (self._next_index, lock_of_next, self._index_before):
            path.unlink(missing_ok=True)

    def _is_ours(self, mark: Path) -> bool:
        """Tell whether the lock on the index is a hard link to the file of this pending write."""
        try:
            return self.lock.samefile(mark)
        except FileNotFoundError:
            return False

    def _draft(self, path: str) -> Path:
        full = self.root / path
        return full.with_name(f".{full.name}.minutebook")

    def _make_index(self, files: Mapping[str, pygit2.Oid]) -> None:
        """Copy the index and give the copy the entries of these files."""
        self._remove_spare_indices()
        present = self.control / "index"
        if present.exists():
            shutil.copyfile(present, self._next_index)
        index = pygit2.Index(self._next_index)
        for path, blob in files.items():
            index.add(pygit2.IndexEntry(path, blob, FileMode.BLOB))
        index.write()
