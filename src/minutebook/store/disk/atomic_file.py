"""Files that are written whole or not at all, and folders for work in progress.

A file is written under another name beside its place, as a part whose name begins with a dot, and flushed; then the part
gets the name, and the folder is flushed. A process that is killed meanwhile leaves a part, which
`clear_abandoned` removes: each new part in the same folder does so, and so does each start of an app.
"""

import errno
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from minutebook.record.errors import InvalidInput, StoreError
from minutebook.record.reason import cause_of
from minutebook.store.disk.os_locks import try_lock

if sys.platform == "darwin":
    import fcntl

PART = ".minutebook.part"
"""The end of the name of a part: a file that is being written. The name begins with a dot."""

_FOLDER = ".d"
"""The end of the name of a folder for work in progress; before it stands the name of a part, which is the folder's lock."""

_TARGET = "target"
"""The file in such a folder with the path of another folder in which the same work may leave parts."""

_IS_WINDOWS = sys.platform == "win32"

_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP}
"""The error numbers of file systems that cannot flush a folder."""


@contextmanager
def new_file(path: Path, called: str) -> Iterator[BinaryIO]:
    """Open a file, readable by its owner alone, that gets its name once its content is on disk.

    `called` is the path as error messages show it. Raises InvalidInput if the name is taken or its folder does
    not exist, StoreError if the file cannot be written.
    """
    is_named = False

    def give_name(part: Path, path: Path) -> None:
        nonlocal is_named
        _take_free_name(part, path)
        is_named = True

    try:
        with _part_of(path, give_name) as file:
            yield file
    except FileExistsError as error:
        raise InvalidInput(
            "file", "must be new: {called} is there already", called=called
        ) from error
    except OSError as error:
        if is_named:
            # The folder could not be flushed. The caller gets an error, so no file may stay.
            with suppress(OSError):
                path.unlink()
        if not path.parent.is_dir():
            remedy = "must be in a folder that exists; make that of {called} first"
            raise InvalidInput("file", remedy, called=called) from error
        raise StoreError(
            "{called}: {cause}; nothing was kept of it", called=called, cause=cause_of(error)
        ) from error


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace a file by one with this content. Raises OSError if that fails; then the old one stays."""
    with _part_of(path, Path.replace, mode) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces the one at its path, if there is one, once its content is on disk.

    Raises OSError if it cannot be written; then the old one stays.
    """
    with _part_of(path, Path.replace) as file:
        yield file


@contextmanager
def synced_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file and sync it at the end, for a path that nothing refers to yet.

    Raises OSError if the path exists or the file cannot be written.
    """
    with path.open("xb") as file:
        yield file
        _sync(file)


@contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """Make an empty folder for work in progress beside a path, readable by its owner alone.

    The caller may rename it; else it is removed at the end. Raises OSError if it cannot be made.
    """
    clear_abandoned(beside.parent)
    part, handle = _new_part(beside)
    folder = part.with_name(part.name + _FOLDER)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        # The part is removed last, because a folder without its part counts as abandoned.
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)
        # What cannot be removed is no reason to fail: `clear_abandoned` does it later.
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def noting_parts(home: Path, path: Path) -> Iterator[None]:
    """Note in the folder `home` that work may leave parts beside a path: `clear_abandoned_and_noted` removes them after a kill."""
    clear_abandoned_and_noted(home)
    with scratch_folder(home / path.name) as folder:
        (folder / _TARGET).write_text(str(path.parent), encoding="utf-8")
        yield


def clear_abandoned_and_noted(home: Path) -> int:
    """Remove the unfinished files of killed processes in a folder and in the folders noted there; return their number."""
    removed = _clear_parts(home)
    for work in _abandoned_folders(home):
        with suppress(OSError, UnicodeDecodeError):
            removed += clear_abandoned(Path((work / _TARGET).read_text(encoding="utf-8")))
        shutil.rmtree(work, ignore_errors=True)
    return removed


def clear_abandoned(folder: Path) -> int:
    """Remove the unfinished files of killed processes in a folder, except notes; return the number of files.

    Files of living processes are locked, and stay.
    """
    removed = _clear_parts(folder)
    for work in _abandoned_folders(folder):
        if not (work / _TARGET).exists():
            shutil.rmtree(work, ignore_errors=True)
    return removed


def sync_tree(folder: Path) -> None:
    """Flush a folder with all files and folders below it to the disk. Raises OSError if one cannot be flushed."""
    for parent, _, files in os.walk(folder):
        for name in files:
            # Windows flushes only what may be written.
            with Path(parent, name).open("rb+" if _IS_WINDOWS else "rb") as file:
                _flush(file.fileno())
        sync_folder(Path(parent))


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where system and file system can."""
    if _IS_WINDOWS:
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _flush(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(handle)


def _sync(file: BinaryIO) -> None:
    file.flush()
    _flush(file.fileno())


def _flush(handle: int) -> None:
    """Flush an open file or folder to the disk itself."""
    if sys.platform == "darwin":
        # There fsync leaves it in the drive's own memory. Some file systems know nothing else.
        with suppress(OSError):
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


@contextmanager
def _part_of(
    path: Path, give_name: Callable[[Path, Path], object], mode: int = 0o600
) -> Iterator[BinaryIO]:
    """Open a part of a file to be written; after it is flushed, call `give_name` with the part's path and the final one."""
    clear_abandoned(path.parent)
    part, handle = _new_part(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            part.chmod(mode)
            _sync(file)
            if not _IS_WINDOWS:
                # While it is still locked, or another process would take it for an abandoned one.
                give_name(part, path)
        if _IS_WINDOWS:
            give_name(part, path)
        sync_folder(path.parent)
    finally:
        # What cannot be removed is no reason to fail: `clear_abandoned` does it later.
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _clear_parts(folder: Path) -> int:
    return sum(_clear(part) for part in _files_like(folder, f".*{PART}"))


def _files_like(folder: Path, pattern: str) -> list[Path]:
    """Return the files with a name of this pattern; none if this user may not read the folder."""
    with suppress(PermissionError):
        return list(folder.glob(pattern))
    return []


def _abandoned_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders for work in progress of which the part is gone: no process works there."""
    for work in _files_like(folder, f".*{PART}{_FOLDER}"):
        if not work.with_name(work.name.removesuffix(_FOLDER)).exists():
            yield work


def _new_part(path: Path) -> tuple[Path, int]:
    """Make a part beside a path, locked as long as it is open; return its path and file descriptor."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        # Before it was locked, another process may have removed it as abandoned.
        if _IS_WINDOWS or (try_lock(handle) and os.fstat(handle).st_nlink):
            return part, handle
        os.close(handle)
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _clear(part: Path) -> bool:
    """Remove a part if the process that made it has ended; tell whether it was removed."""
    with suppress(OSError):
        if _IS_WINDOWS:
            # Windows does not remove a file that a process has open.
            part.unlink()
            return True
        handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if try_lock(handle):
                part.unlink()
                return True
        finally:
            os.close(handle)
    return False


def _take_free_name(part: Path, path: Path) -> None:
    """Rename a file to a free name. Raises FileExistsError if the name is taken."""
    if _IS_WINDOWS:
        part.rename(path)
        return
    try:
        # Unlike a rename, a link never takes the place of a file.
        path.hardlink_to(part)
    except PermissionError:
        # Some file systems have no hard links.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            part.replace(path)
        except OSError:
            path.unlink()
            raise
