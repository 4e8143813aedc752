"""A file that is there whole, under its name and on the disk, or not at all; folders for the work.

All is written beside its place, in a part whose name begins with a dot, and flushed; then the part
gets the name, and the folder is flushed. A process that is killed meanwhile leaves a part, which
`clear_left` removes: each new part in the same folder does so, and so does each start of an app.
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
"""How the name of a file ends that is being written; it begins with a dot."""

_FOLDER = ".d"
"""How the name of a folder for work in progress ends, after that of its part, which is its lock."""

_TARGET = "target"
"""The file in such a folder that names another folder where the same work leaves parts."""

_IS_WINDOWS = sys.platform == "win32"

_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP}
"""What file systems answer that cannot flush a folder."""


@contextmanager
def new_file(path: Path, called: str) -> Iterator[BinaryIO]:
    """Open a file, readable by its owner alone, that gets its name once its content is on disk.

    `called` is the path as errors tell it. Raises InvalidInput if the name is taken or its folder is
    not there, StoreError if the file cannot be written.
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
            # The folder could not be flushed: a file of which nobody is told must not stay.
            with suppress(OSError):
                path.unlink()
        if not path.parent.is_dir():
            remedy = "must be in a folder that exists; make that of {called} first"
            raise InvalidInput("file", remedy, called=called) from error
        raise StoreError(
            "{called}: {cause}; nothing was kept of it", called=called, cause=cause_of(error)
        ) from error


def replace_file(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace a file by one with this content. Raises OSError if that fails; the old one stays."""
    with _part_of(path, Path.replace, mode) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of another, if there is one, once its content is on disk.

    Raises OSError if it cannot be written; the old one stays.
    """
    with _part_of(path, Path.replace) as file:
        yield file


@contextmanager
def synced_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file and sync it at the end, for a path that nothing refers to yet.

    Raises OSError if there is one, or it cannot be written.
    """
    with path.open("xb") as file:
        yield file
        _sync(file)


@contextmanager
def scratch_folder(beside: Path) -> Iterator[Path]:
    """Make an empty folder for work in progress beside a path, readable by its owner alone.

    It may be renamed; else it is removed at the end. Raises OSError if it cannot be made.
    """
    clear_left(beside.parent)
    part, handle = _new_part(beside)
    folder = part.with_name(part.name + _FOLDER)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        # A process that finds a folder without its part takes it for abandoned.
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)
        # What cannot be removed is no reason to fail: `clear_left` does it later.
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def noted_in(home: Path, path: Path) -> Iterator[None]:
    """Note in a folder that work leaves parts beside a path, for `clear_noted` if this is killed."""
    clear_noted(home)
    with scratch_folder(home / path.name) as folder:
        (folder / _TARGET).write_text(str(path.parent), encoding="utf-8")
        yield


def clear_noted(home: Path) -> int:
    """Remove the unfinished files of killed processes in a folder and in the folders noted there; count them."""
    removed = _clear_parts(home)
    for work in _dead_folders(home):
        with suppress(OSError, UnicodeDecodeError):
            removed += clear_left(Path((work / _TARGET).read_text(encoding="utf-8")))
        shutil.rmtree(work, ignore_errors=True)
    return removed


def clear_left(folder: Path) -> int:
    """Remove the unfinished files of killed processes in a folder, but for notes; count them.

    What a living process works on is locked, and stays.
    """
    removed = _clear_parts(folder)
    for work in _dead_folders(folder):
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
    """Open a draft of the file; once synced, call `give_name` with its path and the final one."""
    clear_left(path.parent)
    part, handle = _new_part(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            part.chmod(mode)
            _sync(file)
            if not _IS_WINDOWS:
                # While it is locked still: nobody is to take it for one that was left.
                give_name(part, path)
        if _IS_WINDOWS:
            give_name(part, path)
        sync_folder(path.parent)
    finally:
        # What cannot be removed is no reason to fail: `clear_left` does it later.
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _clear_parts(folder: Path) -> int:
    return sum(_clear(left) for left in _left_in(folder, f".*{PART}"))


def _left_in(folder: Path, pattern: str) -> list[Path]:
    """Return the files with a name of this pattern; nothing in a folder that this user may not read."""
    with suppress(PermissionError):
        return list(folder.glob(pattern))
    return []


def _dead_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders for work in progress with a free lock."""
    for work in _left_in(folder, f".*{PART}{_FOLDER}"):
        if not work.with_name(work.name.removesuffix(_FOLDER)).exists():
            yield work


def _new_part(path: Path) -> tuple[Path, int]:
    """Make a file beside a path, locked as long as it is open."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        # Before it was locked, another may have taken it for one that was left.
        if _IS_WINDOWS or (try_lock(handle) and os.fstat(handle).st_nlink):
            return part, handle
        os.close(handle)
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _clear(part: Path) -> bool:
    """Remove a part with a dead maker; tell whether. One that cannot be removed stays."""
    with suppress(OSError):
        if _IS_WINDOWS:
            # What its maker has open cannot be removed there.
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
        # Some file systems know no links.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            part.replace(path)
        except OSError:
            path.unlink()
            raise
