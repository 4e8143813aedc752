"""Where each organization's ledger lies."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from minutebook.domain.caller import ANYBODY
from minutebook.domain.errors import LedgerError
from minutebook.domain.ids import uuid_named
from minutebook.store.file_locks import FileLocks
from minutebook.store.named_locks import NamedLocks

if TYPE_CHECKING:
    # Git takes time to import; who has no ledger does without it.
    from minutebook.ledger.repository import Repository

FOLDER = "docs/decisions"
"""Where decisions lie in a person's repository when its top is named."""

_PATIENCE = 30.0
_PLAIN = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_OWN = "own"


@dataclass(frozen=True, slots=True)
class LedgerPlace:
    """Where ledgers lie: `own` holds a repository an organization, made on first use.

    `named` is a repository that a person named, or a folder in one; it is the ledger of the
    organization `home`. `durability` is the store's: whether an act survives a power cut. `user` is
    the person whose process this is.
    """

    own: Path
    home: str
    named: Path | None = None
    durability: Literal["full", "normal"] = "full"
    user: str = ANYBODY


class LedgerPlaces:
    """Finds the ledger of an organization: one that a person named, or one of our own."""

    def __init__(self, ledger_place: LedgerPlace, locks: NamedLocks) -> None:
        self._place = ledger_place
        self._locks = locks
        self.home = ledger_place.home
        self.user = ledger_place.user

    def repository(self, organization: str) -> "Repository":
        """Return the ledger of an organization, without creating or opening anything."""
        from minutebook.ledger.repository import Repository

        root = self._named(organization)
        if root is None:
            path = self._own(organization)
            alone = partial(self._locks.hold, f"ledger {path}", _PATIENCE)
            return Repository.own(path, organization, alone, self._place.durability)
        control = root[0] / ".git"
        # Beside the repository, for processes that share it from another data directory.
        beside = FileLocks(control / "minutebook")
        locks: NamedLocks = beside if control.is_dir() else self._locks
        alone = partial(locks.hold, "ledger", _PATIENCE)
        return Repository.shared(root[0], root[1], organization, alone, self._place.durability)

    def _named(self, organization: str) -> tuple[Path, str] | None:
        """Return the top of the repository that the setting names, and the folder in it, or None."""
        named = self._named_for(organization)
        if named is None:
            return None
        for top in (named, *named.parents):
            if (top / ".git").exists():
                folder = named.relative_to(top).as_posix()
                return top, FOLDER if folder == "." else folder
        raise LedgerError(
            f"{named} lies in no Git repository",
            "run `git init` in the project's folder, or name another ledger",
        )

    def _named_for(self, organization: str) -> Path | None:
        """Return the path that the setting names for an organization's ledger, or None."""
        return self._place.named if organization == self._place.home else None

    def _own(self, organization: str) -> Path:
        plain = _PLAIN.fullmatch(organization) is not None
        return self._place.own / (organization if plain else str(uuid_named(organization)))

    def exists(self, organization: str) -> bool:
        """Tell whether there is a repository, so that looking makes none."""
        return self._named_for(organization) is not None or self._own(organization).exists()

    def path(self, organization: str) -> str:
        """Return the path where an organization's ledger is, or will be."""
        return str(self._named_for(organization) or self._own(organization))

    def mark_id(self, organization: str) -> str:
        """Name the mark that says how far an organization's ledger was followed."""
        named = self._named_for(organization)
        return _OWN if named is None else str(named)
