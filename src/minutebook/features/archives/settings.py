"""The settings of archives and backups."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from minutebook.config import Settings
from minutebook.config.kinds import FOLDER, ROOTS, at_least, setting
from minutebook.record.filters import default_organization
from minutebook.record.rights.roots import NamedRoots, Roots


@dataclass(frozen=True, kw_only=True)
class ArchiveSettings(Settings):
    """The settings of archives and backups."""

    FORMER: ClassVar[tuple[str, ...]] = ("backup_keep",)

    archive_roots: NamedRoots = setting(
        (),
        ROOTS,
        "Folders where clients may have archives written and read, with all below them, or a table of "
        "them as for index_roots; none named: `backups` in the data directory. Over HTTP a list "
        "opens nothing: each set of scopes has a folder of its own.",
    )
    backup_every: float = setting(
        0.0,
        at_least(0.0),
        "Hours from one backup to the next that the daemon or server makes by itself, and restores "
        "for a test; 0: none. `minutebook backup --rotate` makes one as these at once.",
        is_common=True,
    )
    backup_folder: Path | None = setting(
        None,
        FOLDER,
        "Folder of these backups, better on another disk; none named: `backups` in the data directory.",
        is_common=True,
    )

    @property
    def backups(self) -> Path:
        """The folder in which clients may name archives, unless `archive_roots` names others."""
        return self.home / "backups"

    @property
    def scheduled_backups(self) -> Path:
        """The folder of scheduled backups."""
        return self.backup_folder or self.backups


def copies(settings: Settings) -> Iterable[Path]:
    """Yield the folders in which archives and backups are written."""
    own = settings.of(ArchiveSettings)
    archives = Roots(own.archive_roots, default_organization(settings.caller())).all()
    yield from archives or (own.backups,)
    yield own.scheduled_backups
