"""Which folders of this machine a caller may name: those of their organization."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from minutebook.record.caller import Caller
from minutebook.record.filters import default_organization

Folders = tuple[Path, ...]

NamedRoots = Folders | Mapping[str, Folders | Mapping[str, Folders]]
"""Folders of the organization into which whoever comes without a token writes, and of the default
one; or a table: of each organization its folders, or a table of those of each repository."""


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders that a setting names; `home` is the organization to which a plain list belongs."""

    named: NamedRoots
    home: str

    def all(self) -> Folders:
        """Return every folder that is named for anybody."""
        if not isinstance(self.named, Mapping):
            return self.named
        return tuple(
            folder
            for of in self.named.values()
            for part in (of.values() if isinstance(of, Mapping) else [of])
            for folder in part
        )

    def folders_of(self, caller: Caller) -> Folders:
        """Return the folders that are named for a caller: their organization's and repositories'.

        A plain list is for callers without a token, and for those of its organization.
        """
        organization = default_organization(caller)
        if not isinstance(self.named, Mapping):
            is_theirs = not caller.token or organization == self.home
            return self.named if is_theirs else ()
        of = self.named.get(organization, ())
        if not isinstance(of, Mapping):
            return of
        return tuple(
            folder
            for repository, folders in of.items()
            if caller.repositories is None or repository in caller.repositories
            for folder in folders
        )
