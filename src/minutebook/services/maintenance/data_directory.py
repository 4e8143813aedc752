"""What stands in a data directory, and which of it cannot be made again."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ASIDE = "replaced-"
"""How the name of a folder begins into which a restore has put what was there before."""

_PASSING_NAMES = ("*.lock", "*.part", "*.sock", "*.pid", "*.log", "*.log.*", ".*", f"{ASIDE}*")


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """The folder around a database; `passing` are places in it that are derived, or hold copies."""

    database: Path
    passing: tuple[Path, ...]

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.database.parent

    @property
    def index(self) -> Path:
        """Where the engine keeps what it derived from the database."""
        return self.database.with_name(f"{self.database.name}-index")

    @property
    def log(self) -> Path:
        """Where the engine keeps what it has not carried over into the database yet."""
        return self.database.with_name(f"{self.database.name}-wal")

    @property
    def shared_memory(self) -> Path:
        """Where the engine keeps what its processes share."""
        return self.database.with_name(f"{self.database.name}-shm")

    def kept(self) -> list[Path]:
        """Give what stands in it, beside the database and its like, and cannot be made again."""
        if not self.path.is_dir():
            return []
        return [
            path
            for path in sorted(self.path.iterdir())
            if not path.name.startswith(self.database.name)
            and not any(fnmatch(path.name, pattern) for pattern in _PASSING_NAMES)
            and not self._is_passing(path)
        ]

    def kept_files(self) -> Iterator[tuple[str, Path]]:
        """Give the plain files of all that, by their names from the top; links are left out."""
        for top in self.kept():
            for path in [top, *sorted(top.rglob("*"))]:
                is_plain = path.is_file() and not path.is_symlink()
                if is_plain and path.suffix != ".lock" and not self._is_passing(path):
                    yield path.relative_to(self.path).as_posix(), path

    def _is_passing(self, path: Path) -> bool:
        return any(path.is_relative_to(place) for place in self.passing)
