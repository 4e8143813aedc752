"""A folder of plain files that are named by their path below it, and never reached through a link."""

import hashlib
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minutebook.domain.errors import InvalidInput, StoreError
from minutebook.domain.reason import of_system

OTHER = "other"
"""The digest of a link, a folder or whatever else is no plain file."""


class PlainFolder:
    """Finds files by name, `/` between its parts; `argument` is the folder's name in errors."""

    def __init__(self, root: Path, argument: str) -> None:
        self.root = root
        self._argument = argument

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder if it is missing, and translate the errors of the work inside.

        Raises InvalidInput if there is something else, StoreError if it cannot be read.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            yield
        except (FileExistsError, NotADirectoryError) as error:
            raise InvalidInput(
                self._argument, "must be a folder: {path}", path=self.root
            ) from error
        except OSError as error:
            raise StoreError(of_system(self.root, error)) from error

    def path(self, name: str) -> Path:
        """Return where a file of a name is."""
        return self.root.joinpath(*name.split("/"))

    def make_parents(self, path: Path) -> None:
        """Make the folders above a file. Raises InvalidInput if one of them is a link."""
        reached = self.root
        for name in path.parent.relative_to(self.root).parts:
            reached /= name
            self.check_is_no_link(reached)
            reached.mkdir(exist_ok=True)

    def check_is_no_link(self, path: Path) -> None:
        """Raise InvalidInput if a path is a link, which may lead out of the folder."""
        if path.is_symlink():
            raise InvalidInput(
                self._argument, "must not lead elsewhere: {path} is a link", path=path
            )


def digest_at(path: Path) -> str:
    """Return the digest of a plain file; empty if there is nothing, OTHER if it is something else."""
    if not is_plain(path):
        return OTHER if path.is_symlink() or path.exists() else ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_plain(path: Path) -> bool:
    """Tell whether there is a plain file, no link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False
