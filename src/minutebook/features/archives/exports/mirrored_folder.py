"""A folder of files that a program writes again and again, beside people's own files.

Only what changed is written; a file that is not the program's, or that somebody edited, stays. What was
written is noted in a file of the folder before it is there, so that a run may end anywhere.
"""

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from minutebook.disk.atomic_file import replace_file
from minutebook.domain.errors import StoreError
from minutebook.domain.reason import of_system
from minutebook.features.archives.exports.plain_folder import PlainFolder, digest_at

NOTES = ".minutebook-export.jsonl"
"""The file that holds a line a write: the file's name and digest."""

_PART = ".minutebook.part"


class MirroredFolder:
    """Writes files below a folder; call `write` for each, then `finish`."""

    def __init__(self, root: Path) -> None:
        """Open a folder, made if it is missing. Raises InvalidInput if its place does not fit."""
        self._folder = PlainFolder(root, "PATH")
        self._root = root
        self._known: dict[str, set[str]] = defaultdict(set)
        self._written: dict[str, str] = {}
        self.changed = 0
        self.removed = 0
        self.kept: list[str] = []
        """The files that were not touched, since somebody else wrote or edited them."""
        with self._folder.opened():
            self._read_notes()

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """Write a file, `/` between its folders, unless it holds the same already.

        Raises InvalidInput if one of its folders is a link, StoreError if it cannot be written.
        """
        path = self._folder.path(name)
        try:
            self._folder.make_parents(path)
            self._write(name, path, pieces)
        except OSError as error:
            raise StoreError(of_system(path, error)) from error

    def finish(self) -> None:
        """Remove the files of earlier runs that were not written this time, and tidy the notes.

        Raises StoreError if that fails.
        """
        try:
            for name in sorted(self._known.keys() - self._written.keys()):
                path = self._folder.path(name)
                digest = digest_at(path)
                if digest in self._known[name]:
                    path.unlink()
                    self.removed += 1
                elif digest:
                    self.kept.append(name)
            lines = [_line(name, digest) for name, digest in sorted(self._written.items())]
            replace_file(self._root / NOTES, b"".join(lines))
        except OSError as error:
            raise StoreError(of_system(self._root, error)) from error

    def _write(self, name: str, path: Path, pieces: Iterable[bytes]) -> None:
        part = path.with_name(_PART)
        with suppress(FileNotFoundError):
            part.unlink()
        digest = hashlib.sha256()
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for piece in pieces:
                file.write(piece)
                digest.update(piece)
        new, here = digest.hexdigest(), digest_at(path)
        if here not in ("", new) and here not in self._known[name]:
            part.unlink()
            self.kept.append(name)
            self._written[name] = max(self._known[name], default=new)
            return
        self._written[name] = new
        if here == new:
            part.unlink()
            return
        if new not in self._known[name]:
            self._note(name, new)
        part.replace(path)
        self.changed += 1

    def _read_notes(self) -> None:
        """Read the notes; foreign files are passed over, and no name in a note leads outside."""
        with suppress(FileNotFoundError):
            for line in (self._root / NOTES).read_bytes().splitlines():
                try:
                    name, digest = json.loads(line)
                except (ValueError, TypeError, RecursionError):
                    # The last line of a run that was killed while it wrote it.
                    continue
                if isinstance(name, str) and not {"", ".", ".."} & set(name.split("/")):
                    self._known[name].add(str(digest))

    def _note(self, name: str, digest: str) -> None:
        with (self._root / NOTES).open("ab") as file:
            file.write(_line(name, digest))


def _line(name: str, digest: str) -> bytes:
    return json.dumps([name, digest]).encode() + b"\n"
