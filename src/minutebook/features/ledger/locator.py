"""Where each organization's ledger lies."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from minutebook.features.ledger.shared_folders import LocalLedger
from minutebook.record.caller import ANYBODY
from minutebook.record.errors import LedgerError
from minutebook.record.ids import uuid_named
from minutebook.store.file_locks import FileLocks
from minutebook.store.leases import SECONDS
from minutebook.store.named_locks import Held, NamedLocks

if TYPE_CHECKING:
    # Git takes time to import; who has no ledger does without it.
    from minutebook.features.ledger.git.repository import Repository

FOLDER = "docs/decisions"
"""Where decisions lie in a person's repository when its top is named."""

_WAIT_SECONDS = SECONDS + 10
"""Seconds to wait for a ledger's lock: longer than a server keeps one that was killed."""

_PLAIN = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_OWN = "own"


@dataclass(frozen=True, slots=True)
class LedgerFolders:
    """Where ledgers lie: the folder `managed` has a repository for each organization, made on first use.

    `external` is a person's repository, or a folder in one; it is the ledger of the organization
    `home`. `durability` is the store's: whether an act survives a power cut. `user` is the person
    whose process this is. `are_shared` tells whether servers on other machines than `machine` commit
    to these ledgers, too.
    """

    managed: Path
    home: str
    external: Path | None = None
    durability: Literal["full", "normal"] = "full"
    user: str = ANYBODY
    are_shared: bool = False
    machine: str = ""


class LedgerLocator:
    """Finds the ledger of an organization: a managed one, or an external one that a person named."""

    def __init__(self, folders: LedgerFolders, locks: NamedLocks) -> None:
        self._folders = folders
        self._locks = locks
        self.home = folders.home
        self.user = folders.user

    def repository(self, organization: str) -> "Repository":
        """Return the ledger of an organization, without creating or opening anything."""
        from minutebook.features.ledger.git.repository import Repository

        root = self._external_root(organization)
        if root is None:
            path = self._managed_path(organization)
            commit_lock = partial(self._hold_lock, organization, str(path))
            return Repository.managed(path, organization, commit_lock, self._folders.durability)
        top, folder = root
        commit_lock = partial(self._hold_external_lock, organization, top / ".git")
        return Repository.external(top, folder, organization, commit_lock, self._folders.durability)

    @contextmanager
    def _hold_lock(self, organization: str, path: str) -> Iterator[Held | None]:
        """Hold the lock of a ledger, named by its path, or by the organization if servers have different paths."""
        name = organization if self._folders.are_shared else path
        with self._locks.hold(f"ledger {name}", _WAIT_SECONDS) as held:
            yield held

    @contextmanager
    def _hold_external_lock(self, organization: str, control: Path) -> Iterator[Held | None]:
        """Hold the lock in a repository's Git folder `control`, for other stores, and that of the servers."""
        with ExitStack() as stack:
            server_lock: Held | None = None
            if self._folders.are_shared:
                server_lock = stack.enter_context(self._hold_lock(organization, ""))
                if server_lock is None:
                    yield None
                    return
            locks: NamedLocks = (
                FileLocks(control / "minutebook") if control.is_dir() else self._locks
            )
            file_lock = stack.enter_context(locks.hold("ledger", _WAIT_SECONDS))
            # Only that of the servers can be lost while it is held.
            yield file_lock if file_lock is None or server_lock is None else server_lock

    def _external_root(self, organization: str) -> tuple[Path, str] | None:
        """Return the top of the repository that the setting names, and the folder in it, or None."""
        named = self._external_path(organization)
        if named is None:
            return None
        for top in (named, *named.parents):
            if (top / ".git").exists():
                folder = named.relative_to(top).as_posix()
                return top, FOLDER if folder == "." else folder
        remedy = "run `git init` in the project's folder, or name another ledger"
        raise LedgerError("{path} lies in no Git repository", remedy, path=named)

    def _external_path(self, organization: str) -> Path | None:
        """Return the path that the setting names for an organization's ledger, or None."""
        return self._folders.external if organization == self._folders.home else None

    def _managed_path(self, organization: str) -> Path:
        plain = _PLAIN.fullmatch(organization) is not None
        return self._folders.managed / (organization if plain else str(uuid_named(organization)))

    def local(self, organization: str) -> LocalLedger:
        """Return this machine's view of a ledger. Raises LedgerError if Git cannot read it."""
        root = self._external_root(organization)
        if root is None:
            folder = self._folders.managed
            # No organization's folder has such a name.
            return LocalLedger(str(folder), folder / ".id", is_managed=True)
        from minutebook.features.ledger.git.objects import common_folder

        control = common_folder(self.repository(organization).open())
        id_file = control / "minutebook" / "id"
        return LocalLedger(str(root[0]), id_file, is_managed=False, within=root[1])

    def exists(self, organization: str) -> bool:
        """Tell whether an organization has a ledger; makes none, as opening a managed one does."""
        return (
            self._external_path(organization) is not None
            or self._managed_path(organization).exists()
        )

    def path(self, organization: str) -> str:
        """Return the path where an organization's ledger is, or will be."""
        return str(self._external_path(organization) or self._managed_path(organization))

    def mark_id(self, organization: str) -> str:
        """Return the id of the LedgerMark that says how far an organization's ledger was followed."""
        named = self._external_path(organization)
        return _OWN if named is None else str(named)
