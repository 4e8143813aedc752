"""The folders that a person trusts to name their repository, in a file of the data directory."""

import json
from collections.abc import Mapping
from pathlib import Path

from minutebook.config.folders.small_files import read_small
from minutebook.record.errors import InvalidInput
from minutebook.store.disk.atomic_file import replace_file

FILE = "trusted-folders.json"


class TrustedFolders:
    """The trusted folders, each with the one name of a repository that it may have."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE

    def has(self, place: str, repository: str) -> bool:
        """Tell whether a folder is trusted to have the name of a repository."""
        return self._read().get(place) == repository

    def add(self, place: str, repository: str) -> None:
        """Trust a folder to have this name of a repository, and no other."""
        self._write({**self._read(), place: repository})

    def remove(self, place: str) -> bool:
        """Trust a folder no longer; return whether it was trusted."""
        known = dict(self._read())
        if known.pop(place, None) is None:
            return False
        self._write(known)
        return True

    def _read(self) -> Mapping[str, str]:
        """Return the trusted folders. Raises InvalidInput if the file is damaged."""
        try:
            known = json.loads(read_small(self._path) or "{}")
        except (OSError, ValueError, RecursionError) as error:
            remedy = "is damaged ({error}); remove it, and trust the folders again"
            raise InvalidInput(str(self._path), remedy, error=error) from error
        if not isinstance(known, dict):
            raise InvalidInput(str(self._path), "must be an object; remove it and trust again")
        return known

    def _write(self, known: Mapping[str, str]) -> None:
        text = json.dumps(known, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        replace_file(self._path, text.encode())
