"""A data directory: its files, those that cannot be derived again, its users, and an empty store in place of a damaged one."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path

from minutebook.record.errors import StoreBusy, StoreDamaged, StoreError
from minutebook.record.reason import Reason, cause_of
from minutebook.store.disk.atomic_file import clear_abandoned, clear_abandoned_and_noted
from minutebook.store.disk.encryption import Key
from minutebook.store.disk.filelock import FileLock
from minutebook.store.disk.keys import KeyPlace
from minutebook.store.file_locks import FileLocks
from minutebook.store.sqlite import SqliteStore, missing_database
from minutebook.store.sqlite.encryption import IN_USE, key_of
from minutebook.store.sqlite.exclusive import exclusive_access

ARCHIVE = ".jsonl"
"""The end of an archive's name."""

BACKUP = ".tar"
"""The end of a backup's name."""

ASIDE = "replaced-"
"""The beginning of the name of a folder with the files that a restore or an empty store replaced."""

ON_SERVER = Reason(
    "the store is a database on a server: bring it back there, to any moment that its backups have; "
    "without the setting `store` the data directory itself is restored"
)
"""The reason why a data directory's database cannot be restored or put aside if the store is on a server."""

_LOCK = "the data directory"
"""The lock that every process using the directory shares, its store open or stopped, and that a restore holds alone."""

_DERIVED_NAMES = ("*.lock", "*.part", "*.sock", "*.pid", "*.log", "*.log.*", ".*", f"{ASIDE}*")


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """The folder around a database.

    `locks` is the folder of the named locks, `derived` are other places in it with derived files, `copies`
    are the places of archives and backups, `keys` is the place of an encrypted store's key. If the store
    `is_on_server`, the directory has no database.
    """

    database: Path
    locks: Path
    derived: tuple[Path, ...] = ()
    copies: tuple[Path, ...] = ()
    keys: KeyPlace | None = None
    is_on_server: bool = False

    @property
    def path(self) -> Path:
        """The path of the directory."""
        return self.database.parent

    @property
    def index(self) -> Path:
        """The folder of the indices derived from the database."""
        return self.database.with_name(f"{self.database.name}-index")

    @property
    def log(self) -> Path:
        """The write-ahead log, not yet carried over into the database."""
        return self.database.with_name(f"{self.database.name}-wal")

    @property
    def shared_memory(self) -> Path:
        """The shared memory of the engine's processes."""
        return self.database.with_name(f"{self.database.name}-shm")

    def key(self) -> Key | None:
        """Return the key of the database, None if it is plain or not there. Raises EncryptionKeyMissing."""
        return key_of(self.database, self.keys)

    def holds(self, path: Path) -> bool:
        """Tell whether a path is in the directory, links followed."""
        return path.resolve().is_relative_to(self.path.resolve())

    def kept(self) -> list[Path]:
        """Return the entries, apart from databases, that cannot be derived again."""
        if not self.path.is_dir():
            return []
        return [
            path
            for path in sorted(self.path.iterdir())
            if not path.name.startswith(self.database.name)
            and not any(fnmatch(path.name, pattern) for pattern in _DERIVED_NAMES)
            and not self._is_derived(path)
        ]

    def kept_files(self) -> Iterator[tuple[str, Path]]:
        """Yield the regular files of `kept` with their relative names, without symbolic links."""
        for top in self.kept():
            for path in [top, *sorted(top.rglob("*"))]:
                is_plain = path.is_file() and not path.is_symlink()
                if is_plain and path.suffix != ".lock" and not self._is_derived(path):
                    yield path.relative_to(self.path).as_posix(), path

    def _is_derived(self, path: Path) -> bool:
        return any(
            path.is_relative_to(folder) for folder in (self.locks, *self.derived, *self.copies)
        )

    def folder_aside(self, now: datetime) -> Path:
        """Make a folder for the files that a restore or an empty store replaces, and return it."""
        aside = self.path / f"{ASIDE}{now:%Y%m%dT%H%M%S%f}"
        aside.mkdir(mode=0o700)
        return aside

    def clear(self) -> int:
        """Remove the unfinished files that killed processes left; count them."""
        kept = (path for path in self.kept() if path.is_dir())
        folders = {*self.derived, *self.copies, *kept, *self.index.glob("*")}
        return clear_abandoned_and_noted(self.path) + sum(map(clear_abandoned, folders))

    def use(self) -> FileLock:
        """Make the directory unless it exists, and return a lock that marks it as used until it is closed.

        The unfinished files of killed processes are removed. Raises StoreBusy if a process has the
        directory alone, StoreError if it cannot be made.
        """
        make_home(self.path)
        self.clear()
        return FileLocks(self.locks).share(_LOCK)

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Keep Minutebook's other processes from the directory inside the block. Raises StoreBusy if one uses it."""
        with FileLocks(self.locks).hold(_LOCK) as held:
            if held is None:
                # A process that has stopped its database has no file open, and would go on in another database.
                raise StoreBusy("{path}: {cause}", path=self.database, cause=IN_USE)
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep all other processes from the directory and its database inside the block. Raises StoreBusy if one uses it."""
        with self.reserved(), ExitStack() as stack:
            if self.database.exists() and self.database.stat().st_size:
                # A damaged database has no lock of its own; the named lock keeps its users out.
                with suppress(StoreDamaged):
                    stack.enter_context(exclusive_access(self.database, self.key()))
            yield


def make_home(home: Path) -> None:
    """Make a data directory, accessible to its owner alone, unless it exists. Raises StoreError."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        reason = "{home}: {cause}; choose another data directory with --home"
        raise StoreError(reason, home=home, cause=cause_of(error)) from error


def start_anew(directory: DataDirectory, now: datetime) -> Path:
    """Put a damaged database aside and begin an empty store; return the folder with the damaged one.

    If it was encrypted, the new one is encrypted with the same key. Ledgers, settings and secret stay.
    Raises StoreBusy if others use the data directory, StoreError if the store is on a server.
    """
    if directory.is_on_server:
        raise StoreError(ON_SERVER)
    with directory.alone():
        key = directory.key()
        aside = directory.folder_aside(now)
        missing_database.put_aside(directory.database, aside)
    SqliteStore(directory.database, new_key=key).close()
    return aside
