"""The paths at which callers may have archives written and read."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path

from minutebook.memory.maintenance.data_directory import ARCHIVE
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, StoreError
from minutebook.record.instants import rfc3339
from minutebook.record.reason import cause_of
from minutebook.record.rights.roots import Roots

_LONGEST_SLUG = 40


@dataclass(frozen=True, slots=True)
class ArchivePath:
    """The path of an archive, and the name by which its caller knows it, for messages."""

    path: Path
    called: str


class ArchivePaths:
    """Limits the paths that callers name to the folders that they may use.

    A caller with a token has a folder below `backups` (or below the first root for callers without
    one), shared only with callers of the same scopes, and the folders that a table names for their
    organization; no message tells them of a path outside. A relative path is below the caller's first folder,
    which is made on first use. Links are followed before a path is checked.
    """

    def __init__(self, backups: Path, roots: Roots) -> None:
        self._backups = backups
        self._roots = roots

    def new(self, caller: Caller, named: str | None, now: datetime) -> ArchivePath:
        """Return the path of a file to be written, named by the caller or, if `named` is None, after the instant `now`.

        Raises InvalidInput if the name does not fit, StoreError if its folder cannot be made.
        """
        own = self._own(caller)[0]
        for folder in (self._first, own):
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                reason = "{folder}: {cause}; archive_roots names others"
                raise StoreError(reason, folder=folder, cause=cause_of(error)) from error
        if named is not None:
            return self.known(caller, named)
        stem = f"journal-{rfc3339(now).replace(':', '').replace('.', '-')}"
        names = (f"{stem}{'' if n == 1 else f'-{n}'}{ARCHIVE}" for n in count(1))
        return self.known(caller, next(name for name in names if not (own / name).exists()))

    def known(self, caller: Caller, name: str) -> ArchivePath:
        """Return the path that the caller named.

        Raises InvalidInput if it lies outside the allowed folders.
        """
        if not name.strip() or "\0" in name:
            raise InvalidInput("file", "must be a path")
        own = self._own(caller)
        try:
            folders = [folder.resolve() for folder in own]
            path = (own[0] / name).resolve()
        except (OSError, RuntimeError):
            # The error must not tell anything of a path outside.
            raise self._outside(caller, own) from None
        for folder in folders:
            if path.is_relative_to(folder):
                is_own = caller.token and folder == folders[0]
                below = path.relative_to(folder).as_posix()
                return ArchivePath(path, below if is_own else str(path))
        raise self._outside(caller, own)

    def _outside(self, caller: Caller, own: Sequence[Path]) -> InvalidInput:
        if caller.token:
            return InvalidInput(
                "file", "must be a name as export_database gave it, of a file in your own folder"
            )
        places = ", ".join(map(str, own))
        remedy = "must be below {places}; the setting archive_roots names other folders"
        return InvalidInput("file", remedy, places=places)

    @property
    def _first(self) -> Path:
        """The parent folder of the folders for callers with a token."""
        named = self._roots.named
        return self._backups if isinstance(named, Mapping) or not named else named[0]

    def _own(self, caller: Caller) -> Sequence[Path]:
        named = self._roots.named
        if not caller.token:
            return self._roots.folders_of(caller) or [self._backups]
        roots = self._roots.folders_of(caller) if isinstance(named, Mapping) else ()
        return [self._first / _name_of_scopes(caller), *roots]


def _name_of_scopes(caller: Caller) -> str:
    """Return the name of the folder for callers with the same scopes, made of all scopes that bind them."""
    repositories = None if caller.repositories is None else sorted(caller.repositories)
    scopes = json.dumps([caller.organization, repositories, caller.user]).encode()
    slug = re.sub(r"[^A-Za-z0-9]+", "-", caller.organization or "any")[:_LONGEST_SLUG]
    return f"token-{slug}-{hashlib.sha256(scopes).hexdigest()[:16]}"
