"""The original files of clients, before Minutebook was entered, so that they can be restored when it is taken out.

The original text is kept in a backup beside the file. The data directory has notes on the files and folders that we
made, and on whether anybody else wrote to a file since.
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
    """The notes of a data directory on the client files that were changed for Minutebook."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._notes = _read(home / _NAME)
        self._folders: set[str] = set()

    def since(self, path: Path) -> str:
        """Return when a file was first changed, as RFC 3339; "" if it is not noted."""
        note = self._notes.get(str(path))
        return "" if note is None else note.since

    def paths(self) -> list[Path]:
        """Return the files with parts of ours."""
        return [Path(path) for path in self._notes]

    def with_original(self, plan: Installation) -> Installation:
        """Return a plan with the path of the backup, or, if it removes our last part, with the original text.

        The original is restored byte for byte if nobody else has written to the file since.
        """
        note, backup = self._notes.get(str(plan.path)), backup_of(plan.path)
        original = read_configuration(backup)
        if not plan.removes:
            is_first = note is None and plan.changed and plan.before is not None
            return replace(plan, backup=backup if is_first and original is None else None)
        if plan.before is None or self._remaining_parts(plan):
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
        """Write a plan that `with_original` returned, and note it. Raises as `clients.apply` does, and OSError."""
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
            self._notes[path] = _with_digest(note, plan)
        elif plan.removes and (remaining := self._remaining_parts(plan)):
            assert note is not None
            self._notes[path] = _with_digest(replace(note, parts=tuple(sorted(remaining))), plan)
        elif plan.removes:
            self._forget(plan.path)
        self._write()

    def _remaining_parts(self, plan: Installation) -> set[str]:
        """Return the parts of ours that remain in a plan's file."""
        note = self._notes.get(str(plan.path))
        return set() if note is None else {*note.parts} - plan.parts

    def _forget(self, path: Path) -> None:
        """Drop the note and the backup of a file, and the folders made for it."""
        note = self._notes.pop(str(path), None)
        with writing(path):
            backup_of(path).unlink(missing_ok=True)
        self._folders |= {*note.folders} if note else set()
        if self._notes:
            # A folder that is still in use is removed with the last file.
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
    """Remove the empty ones of some folders, the innermost first; return the others."""
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):
            Path(folder).rmdir()
    return [folder for folder in folders if Path(folder).exists()]


def _read(path: Path) -> dict[str, FileNote]:
    """Return the notes in a file, {} if it cannot be read."""
    try:
        noted: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return {file: FileNote(**note) for file, note in noted.items()}
    except (OSError, ValueError, RecursionError, TypeError, AttributeError):
        return {}


def _with_digest(note: FileNote, plan: Installation) -> FileNote:
    """Return a note with the digest of the text that a plan wrote, "" if somebody else had written before it."""
    is_ours = note.written == _digest(plan.before)
    return replace(note, written=_digest(plan.after) if is_ours else "")


def _digest(text: str | None) -> str:
    return sha256((text or "").encode()).hexdigest()


def _missing(folder: Path) -> Iterator[Path]:
    """Yield the missing ones of a folder and its parents, the innermost first."""
    while not folder.exists():
        yield folder
        folder = folder.parent
