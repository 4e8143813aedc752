"""Where callers may have archives written and read."""

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from pathlib import Path

from minutebook.domain.errors import InvalidInput, StoreError
from minutebook.domain.instants import rfc3339

SUFFIX = ".jsonl"


class ArchivePaths:
    """Holds the paths that callers name to some folders and what is below them.

    A relative path is below the first folder, which is made on first use. Links are followed before
    the place is judged.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders

    def new(self, given: str | None, now: datetime) -> Path:
        """Give the path of a file to make: as named, or after the instant; InvalidInput, StoreError."""
        own = self._folders[0]
        try:
            own.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreError(f"{own}: {error.strerror}; name another in archive_roots") from error
        if given is not None:
            return self._allowed(given)
        stem = f"journal-{rfc3339(now).replace(':', '').replace('.', '-')}"
        names = (f"{stem}{'' if n == 1 else f'-{n}'}{SUFFIX}" for n in count(1))
        return next(path for name in names if not (path := own / name).exists())

    def known(self, given: str) -> Path:
        """Give the path of a file to read; InvalidInput."""
        return self._allowed(given)

    def _allowed(self, given: str) -> Path:
        if not given.strip() or "\0" in given:
            raise InvalidInput("file", "must be a path")
        try:
            path = (self._folders[0] / given).resolve()
            is_below = any(path.is_relative_to(folder.resolve()) for folder in self._folders)
        except (OSError, RuntimeError) as error:
            raise InvalidInput("file", f"must be a path that leads somewhere: {error}") from error
        if not is_below:
            places = ", ".join(map(str, self._folders))
            raise InvalidInput(
                "file", f"must be below {places}; the setting archive_roots names other folders"
            )
        return path
