"""The folders of this machine that a caller may name: those of their organization."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from minutebook.record.caller import Caller
from minutebook.record.filters import default_organization

Folders = tuple[Path, ...]

NamedRoots = Folders | Mapping[str, Folders | Mapping[str, Folders]]
"""A plain list of folders, or a table: for each organization a list, or a table with a list for each repository."""


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders that a setting names; `home` is the organization to which a plain list belongs: that of callers without a token."""

    named: NamedRoots
    home: str

    def all(self) -> Folders:
        """Return the folders that are named for anybody."""
        if not isinstance(self.named, Mapping):
            return self.named
        found: list[Path] = []
        for folders in self.named.values():
            lists = folders.values() if isinstance(folders, Mapping) else [folders]
            found.extend(chain(*lists))
        return tuple(found)

    def folders_of(self, caller: Caller) -> Folders:
        """Return the folders that are named for a caller: their organization's and repositories'.

        A plain list is for callers without a token, and for those of its organization.
        """
        organization = default_organization(caller)
        if not isinstance(self.named, Mapping):
            is_theirs = not caller.token or organization == self.home
            return self.named if is_theirs else ()
        folders = self.named.get(organization, ())
        if not isinstance(folders, Mapping):
            return folders
        open_to = caller.repositories
        lists = [each for name, each in folders.items() if open_to is None or name in open_to]
        return tuple(chain(*lists))
