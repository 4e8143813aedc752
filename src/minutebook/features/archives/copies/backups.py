"""Backups: one file with all of a data directory that is not derived, made while others write."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from minutebook.app import App
from minutebook.config.places import MOST_BACKUPS, data_directory
from minutebook.memory.access.audit import Trail
from minutebook.memory.access.visibility import Clock
from minutebook.memory.maintenance.data_directory import BACKUP, DataDirectory
from minutebook.record.caller import Caller
from minutebook.record.errors import StoreError
from minutebook.record.filters import default_organization
from minutebook.record.reason import cause_of, os_error_reason
from minutebook.record.records import Kind
from minutebook.store.disk.atomic_file import new_file, noting_parts, replacing, scratch_folder
from minutebook.store.disk.encryption import Key, encrypting
from minutebook.store.protocol import Tended

FORMAT, VERSION = "minutebook-backup", 1
MANIFEST = "manifest.json"
DATABASE = "minutebook.db"
"""The name of the copy of the store in a backup."""

_LOG = "backups.log"
"""The file in the data directory that lists backups: an instant and a path on each line."""


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A backup that was made: its path, the number of files in it, its size in bytes, and its digest."""

    path: Path
    files: int
    size: int
    digest: str


class Backups:
    """Makes backups of the data directory of a store."""

    def __init__(self, directory: DataDirectory, store: Tended, trail: Trail, clock: Clock) -> None:
        self._directory = directory
        self._store = store
        self._trail = trail
        self._clock = clock

    def make(self, caller: Caller, path: Path) -> BackedUp:
        """Write store, ledgers, settings and the approval secret, all of one moment, to a new file.

        The backup of an encrypted store is encrypted with its key, wherever it is written.
        A ledger that a person keeps in a repository of their own is left out. Raises InvalidInput
        if the name is taken, StoreError if the file cannot be written.
        """
        # The note of parts stays until the file has its name, so that a kill leaves no unknown part.
        with self._noted(path), new_file(path, str(path)) as file, ExitStack() as stack:
            draft = stack.enter_context(scratch_folder(path)) / DATABASE
            inside = stack.enter_context(encrypting(file, self._store.database.key))
            tar = stack.enter_context(tarfile.open(fileobj=inside, mode="w"))
            digests: dict[str, str] = {}
            # Ledgers change only inside a transaction of the store, so they do not change here, and the
            # moment of the store that is copied afterwards is the same.
            with self._store.transaction(*self._store.organizations()):
                moment = stack.enter_context(self._store.database.moment())
                for name, source in self._directory.kept_files():
                    digests[name] = _add(tar, name, source)
            moment.copy_to(draft)
            digests[DATABASE] = _add(tar, DATABASE, draft)
            digest = _add_manifest(tar, self._clock().isoformat(), digests)
            # Before the file gets its name, so that there is no backup without an entry in the trail.
            self._trail.log(caller, default_organization(caller), "backup", Kind.HEAD, [digest])
        _note(self._directory, path, self._clock())
        return BackedUp(path, len(digests), path.stat().st_size, digest)

    @contextmanager
    def _noted(self, path: Path) -> Iterator[None]:
        """Note that a backup is being written inside the block. Raises StoreError if that cannot be noted."""
        with ExitStack() as stack:
            try:
                stack.enter_context(noting_parts(self._directory.path, path))
            except OSError as error:
                name = error.filename or path
                raise StoreError(
                    "{name}: {cause}; nothing was kept of it", name=name, cause=cause_of(error)
                ) from error
            yield

    def known(self) -> list[tuple[Path, datetime]]:
        """Return the existing backups and the instants at which they were written, the latest first."""
        return [
            (path, datetime.fromtimestamp(path.stat().st_mtime, UTC))
            for path in known_backups(self._directory)[:MOST_BACKUPS]
        ]


def known_backups(directory: DataDirectory) -> list[Path]:
    """Return the existing backups of a data directory, the latest first.

    They are those that were noted when they were made, and files with the name of a backup in the directory and in the
    folders of its archives.
    """
    try:
        lines = (directory.path / _LOG).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    found = {Path(line.partition(" ")[2]) for line in lines}
    for folder in (directory.path, *directory.copies):
        found.update(folder.glob(f"*{BACKUP}"))
    there = [(path.stat().st_mtime, path) for path in found if path.is_file()]
    return [path for _, path in sorted(there, reverse=True)]


def pack(path: Path, folder: Path, made_at: datetime, key: Key | None) -> None:
    """Write the files in a folder as a backup, encrypted if there is a key, replacing the file at its path.

    Raises OSError or StoreError if a file cannot be read or written.
    """
    files = {
        each.relative_to(folder).as_posix(): each
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }
    # Files that the engine made beside the database are derived.
    kept = {n: f for n, f in files.items() if n == DATABASE or not n.startswith(DATABASE)}
    with (
        replacing(path) as file,
        encrypting(file, key) as inside,
        tarfile.open(fileobj=inside, mode="w") as tar,
    ):
        digests = {name: _add(tar, name, source) for name, source in kept.items()}
        _add_manifest(tar, made_at.isoformat(), digests)


def _note(directory: DataDirectory, path: Path, at: datetime) -> None:
    """Note the path of a backup, so that it is found if the store is lost."""
    # A backup must not fail because it cannot be noted.
    with suppress(OSError), (directory.path / _LOG).open("a", encoding="utf-8") as file:
        file.write(f"{at.isoformat()} {path}\n")


def _add(tar: tarfile.TarFile, name: str, source: Path) -> str:
    """Add a file to an archive under a name; return its digest."""
    try:
        with source.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
            reader = _DigestReader(file)
            tar.addfile(_member(name, size), reader)
    except OSError as error:
        raise StoreError(os_error_reason(source, error)) from error
    return reader.digest


def _add_manifest(tar: tarfile.TarFile, made_at: str, digests: dict[str, str]) -> str:
    manifest = {"format": FORMAT, "version": VERSION, "made_at": made_at, "sha256": digests}
    content = json.dumps(manifest, indent=1, sort_keys=True).encode()
    tar.addfile(_member(MANIFEST, len(content)), io.BytesIO(content))
    return hashlib.sha256(content).hexdigest()


def _member(name: str, size: int) -> tarfile.TarInfo:
    """Return the header of a file in an archive, without its owner and time."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member


class _DigestReader:
    """A file that computes its digest while it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._sum = hashlib.sha256()

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes read so far, in hexadecimal."""
        return self._sum.hexdigest()

    def read(self, size: int = -1) -> bytes:
        """Read some bytes."""
        data = self._file.read(size)
        self._sum.update(data)
        return data


def store_backups(app: App) -> Backups:
    """Return the backups of the store of an app."""
    return Backups(data_directory(app.settings), app.infrastructure.store, app.trail, app.clock)
