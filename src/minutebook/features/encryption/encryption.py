"""Encrypt a data directory, encrypt it with another key, or decrypt it."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from minutebook.app import App
from minutebook.config import Settings
from minutebook.config.places import backups_of, data_directory
from minutebook.config.places import sync_folder as folder_of_sync
from minutebook.memory.maintenance.data_directory import ARCHIVE, ASIDE, BACKUP, DataDirectory
from minutebook.memory.maintenance.doctor import Check, Finding
from minutebook.record.caller import Caller
from minutebook.record.errors import StoreError
from minutebook.record.reason import Reason, count_of, os_error_reason
from minutebook.store.disk.atomic_file import replacing, scratch_folder, sync_folder, sync_tree
from minutebook.store.disk.encryption import Key, decrypting, encrypting, key_id_of
from minutebook.store.disk.keys import KeyPlace, check_outside, place_of
from minutebook.store.sqlite import encryption as database

_ON_SERVER = Reason(
    "the store is a database on a server: whoever runs that encrypts its disks; `minutebook encrypt` is for "
    "a store in a file"
)
_DRAFT = "encryption"


@dataclass(frozen=True, slots=True)
class EncryptionState:
    """The id of the key of an encrypted store, None if it is plain, and the files of an encrypted one that are plain."""

    key: str | None
    plain: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Converted:
    """The result of a conversion: the id of the store's new key, None if it is plain, and the number of other files converted.

    `earlier` are the backups with another key, `outside` the plain backups outside the directory.
    """

    key: str | None
    files: int
    earlier: tuple[Path, ...]
    outside: tuple[Path, ...]


class Encryption:
    """Encrypts a data directory; `derived` is a folder in it that is deleted, since it can be made again."""

    def __init__(self, directory: DataDirectory, places: KeyPlace, derived: Path) -> None:
        self._directory = directory
        self._places = places
        self._derived = derived

    def state(self) -> EncryptionState:
        """Return the key of the store and the files that are plain nevertheless."""
        key = None if self._directory.is_on_server else database.key_id_of(self._directory.database)
        if key is None:
            return EncryptionState(None)
        return EncryptionState(key, tuple(p for p in self._files() if _key_id_of(p) is None))

    def faults(self) -> list[tuple[str, str]]:
        """Return the faults of the encryption, each as a sentence without its full stop, and the remedy."""
        state = self.state()
        if state.key is None:
            return []
        faults = []
        if state.plain:
            count, first = len(state.plain), state.plain[0]
            finding = (
                f"The store is encrypted, and {count:,} files beside it are plain, such as {first}"
            )
            faults.append((finding, "end clients and servers, then run `minutebook encrypt` again"))
        if (open_to_others := self._places.check_private()) is not None:
            faults.append((open_to_others, "`chmod 600` it"))
        return faults

    def encrypt(self, *, with_new_key: bool = False) -> Converted:
        """Encrypt the store, its backups and archives with a new key, which is stored before anything is changed.

        An encrypted store keeps its key unless `with_new_key`. If the process is killed, all files can be read as
        before, and the next run completes the work. Raises StoreBusy if the store is in use, InvalidInput if the
        key would be in the directory, EncryptionKeyMissing, StoreError.
        """
        self._check_file()
        check_outside(self._places, self._directory.path)
        with self._directory.reserved():
            present = self._directory.key()
            if present is not None and not with_new_key:
                return self._convert(present, present)
            key = Key.generate()
            self._places.add(key)
            return self._convert(present, key)

    def decrypt(self) -> Converted:
        """Decrypt the store and its archives; encrypted backups stay so, and can still be restored.

        Raises as `encrypt` does.
        """
        self._check_file()
        with self._directory.reserved():
            return self._convert(self._directory.key(), None)

    def _check_file(self) -> None:
        """Raise StoreError if the store is on a server."""
        if self._directory.is_on_server:
            raise StoreError(_ON_SERVER)

    def _convert(self, present: Key | None, key: Key | None) -> Converted:
        """Convert all files from the present key to another; None is no encryption."""
        home = self._directory.path
        try:
            if present != key:
                self._convert_database(present, key)
            shutil.rmtree(self._derived, ignore_errors=True)
            # An encrypted backup holds a copy of the store with the key of its time, and keeps it.
            to_convert = [p for p in self._files() if p.suffix != BACKUP or _key_id_of(p) is None]
            changed = sum(self._convert_file(path, key) for path in to_convert)
        except OSError as error:
            raise StoreError(os_error_reason(error.filename or home, error)) from error
        id = None if key is None else key.id
        backups = [p for p in self._files() if p.suffix == BACKUP]
        earlier = tuple(p for p in backups if _key_id_of(p) not in (None, id))
        outside = tuple(
            p
            for p in backups_of(self._directory)
            if not self._directory.holds(p) and _key_id_of(p) is None
        )
        return Converted(id, changed, earlier, outside)

    def _convert_database(self, present: Key | None, key: Key | None) -> None:
        path = self._directory.database
        with scratch_folder(path.parent / _DRAFT) as draft:
            copy = draft / path.name
            with database.copied_with_key(path, present, copy, key):
                sync_tree(draft)
                # Deleted before the store is replaced, so that no plain index outlives it; the next process rebuilds it.
                shutil.rmtree(self._directory.index, ignore_errors=True)
                copy.replace(path)
                sync_folder(path.parent)

    def _convert_file(self, path: Path, key: Key | None) -> bool:
        """Encrypt a file with a key, or decrypt it for None; return whether it was changed."""
        id = _key_id_of(path)
        if id == (None if key is None else key.id) or database.key_id_of(path) is not None:
            return False
        times = path.stat()
        with (
            path.open("rb") as file,
            decrypting(file, str(path), self._places) as content,
            replacing(path) as draft,
            encrypting(draft, key) as written,
        ):
            shutil.copyfileobj(content, written)
        # The times stay, since backups are ordered by their age.
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        return True

    def _files(self) -> Iterator[Path]:
        """Yield the backups, archives and put-aside stores in the directory."""
        home = self._directory.path
        folders = [folder for folder in self._directory.copies if self._directory.holds(folder)]
        found = set(home.glob(f"*{BACKUP}"))
        for folder in folders:
            found.update(folder.rglob(f"*{BACKUP}"), folder.rglob(f"*{ARCHIVE}"))
        found.update(home.glob(f"{ASIDE}*/{self._directory.database.name}*"))
        yield from sorted(p for p in found if p.is_file() and not p.is_symlink())


def _key_id_of(path: Path) -> str | None:
    """Return the id of the key of a file or database; None if it is plain."""
    return key_id_of(path) or database.key_id_of(path)


def encryption_of(settings: Settings) -> Encryption:
    """Return the encryption of the data directory of these settings."""
    return Encryption(data_directory(settings), place_of(settings.key), folder_of_sync(settings))


def status(app: App, caller: Caller) -> Mapping[str, str | None]:
    """Return the key of the store and its place; None for a store on a server."""
    settings = app.settings
    if settings.store is not None:
        return {"encryption": None}
    state = encryption_of(settings).state()
    if state.key is None:
        return {"encryption": "off"}
    plain = f"; still plain: {count_of(len(state.plain), 'file')}" if state.plain else ""
    return {"encryption": f"key {state.key} in {place_of(settings.key).name}{plain}"}


def checks(app: App) -> Iterable[Check]:
    """Yield the check for plain files in an encrypted directory."""
    faults = encryption_of(app.settings).faults
    yield Check(
        "The encryption", lambda: [Finding(f"{each}.", remedy) for each, remedy in faults()]
    )
