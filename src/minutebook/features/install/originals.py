"""The files of clients before Minutebook was entered, so that they are so again once it is taken out.

The earlier text of a file is kept beside it, once; which files and folders we made, and whether anybody else wrote since, is
noted in the data directory.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from minutebook.features.install.clients import (
    Installation,
    apply,
    backup_of,
    read_configuration,
    writing,
)
from minutebook.record.instants import rfc3339
from minutebook.store.disk.atomic_file import replace_file

_NAME = "clients.json"
_NOTHING = ("", "{}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileNote:
    """A file of a client since we first changed it: its parts of ours, the folders that we made for it.

    `existed` tells whether there was a file before. `written` is the digest of what we last wrote; empty once
    anybody else wrote between two changes of ours, or where something of ours was there before the first.
    """

    since: str
    existed: bool
    written: str
    parts: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


class Originals:
    """The files that were changed for Minutebook, as a data directory notes them."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._notes = _read(home / _NAME)
        self._folders: set[str] = set()

    def since(self, path: Path) -> str:
        """Return when a file was first changed; empty if it is not noted."""
        note = self._notes.get(str(path))
        return "" if note is None else note.since

    def paths(self) -> list[Path]:
        """Return the files in which something of ours is."""
        return [Path(path) for path in self._notes]

    def settled(self, plan: Installation) -> Installation:
        """Return a plan with the place for the earlier text, or with that text put back.

        Where the last part of ours goes from a file that nobody else wrote, the file is again what it was, byte for byte.
        """
        note, backup = self._notes.get(str(plan.path)), backup_of(plan.path)
        original = read_configuration(backup)
        if not plan.removes:
            is_first = note is None and plan.changed and plan.before is not None
            return replace(plan, backup=backup if is_first and original is None else None)
        if plan.before is None or self._left(plan):
            return plan
        if note is not None and note.written == _digest(plan.before):
            if original is not None:
                return replace(plan, after=original, is_deleted=False)
            if not note.existed:
                return replace(plan, after="", is_deleted=True)
        had_file = original is not None or (note is not None and note.existed)
        is_empty = plan.changed and plan.after.strip() in _NOTHING
        return replace(plan, is_deleted=plan.is_deleted or (is_empty and not had_file))

    def apply(self, plan: Installation, now: datetime) -> None:
        """Carry a settled plan out, and note it. Raises what `apply` of a plan raises, and OSError."""
        folders = tuple(map(str, (*_missing(plan.path.parent), *_missing(self._home))))
        apply(plan)
        path = str(plan.path)
        note = self._notes.get(path)
        if not plan.removes and plan.changed:
            if note is None:
                written = "" if "minutebook" in (plan.before or "") else _digest(plan.before)
                existed = plan.before is not None
                note = FileNote(since=rfc3339(now), existed=existed, written=written)
            parts = tuple(sorted({*note.parts, *plan.parts}))
            note = replace(note, parts=parts, folders=(*folders, *note.folders))
            self._notes[path] = _written(note, plan)
        elif plan.removes and (left := self._left(plan)):
            assert note is not None
            self._notes[path] = _written(replace(note, parts=tuple(sorted(left))), plan)
        elif plan.removes:
            self._forget(plan.path)
        self._write()

    def _left(self, plan: Installation) -> set[str]:
        """Return the parts of ours that stay in a file."""
        note = self._notes.get(str(plan.path))
        return set() if note is None else {*note.parts} - plan.parts

    def _forget(self, path: Path) -> None:
        """Drop the note and the backup of a file, and the folders made for it."""
        note = self._notes.pop(str(path), None)
        with writing(path):
            backup_of(path).unlink(missing_ok=True)
        self._folders |= {*note.folders} if note else set()
        if self._notes:
            # A folder that is still in use goes with the file that is taken out last.
            other = next(iter(self._notes))
            kept = _remove(self._folders)
            self._notes[other] = replace(
                self._notes[other], folders=(*self._notes[other].folders, *kept)
            )

    def _write(self) -> None:
        if self._notes:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
            notes = {path: asdict(note) for path, note in self._notes.items()}
            replace_file(self._home / _NAME, json.dumps(notes, indent=1).encode())
        elif (self._home / _NAME).exists():
            (self._home / _NAME).unlink()
            _remove({*self._folders, str(self._home)})


def _remove(folders: Collection[str]) -> list[str]:
    """Remove folders that are empty, the inmost first, and return the others."""
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):
            Path(folder).rmdir()
    return [folder for folder in folders if Path(folder).exists()]


def _read(path: Path) -> dict[str, FileNote]:
    """Read notes; of an unreadable list nothing is known."""
    try:
        noted: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return {file: FileNote(**note) for file, note in noted.items()}
    except (OSError, ValueError, RecursionError, TypeError, AttributeError):
        return {}


def _written(note: FileNote, plan: Installation) -> FileNote:
    """Return a note with the digest of the text that a plan wrote; empty if somebody else wrote before it."""
    is_ours = note.written == _digest(plan.before)
    return replace(note, written=_digest(plan.after) if is_ours else "")


def _digest(text: str | None) -> str:
    return sha256((text or "").encode()).hexdigest()


def _missing(folder: Path) -> Iterator[Path]:
    """Yield the folders that are to be made for one, the inmost first."""
    while not folder.exists():
        yield folder
        folder = folder.parent
