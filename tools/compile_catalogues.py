"""Compile the catalogues of the pages' texts: what the build of the wheel does, `make` and the tests."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LOCALES = Path("src", "minutebook", "features", "pages", "locale")


class CompileCatalogues(BuildHookInterface[Any]):
    """Puts the compiled catalogues into the wheel; Git has only their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile them before files are gathered."""
        compile_catalogues(Path(self.root))
        build_data["artifacts"].append(f"/{LOCALES.as_posix()}/**/*.mo")


def compile_catalogues(root: Path) -> None:
    """Write a .mo beside each .po below the project's root; a fuzzy text is left out."""
    for source in _sources(root):
        _compile(source)


def compile_stale(root: Path) -> None:
    """Compile those whose .mo is missing, or older than what people write."""
    for source in _sources(root):
        made = source.with_suffix(".mo")
        if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
            _compile(source)


def _sources(root: Path) -> list[Path]:
    return sorted((root / LOCALES).rglob("*.po"))


def _compile(source: Path) -> None:
    with source.open("rb") as file:
        catalogue = read_po(file, locale=source.parents[1].name)
    # Without one Babel writes the present moment, and no two builds would be alike.
    catalogue.creation_date = datetime(1980, 1, 1, tzinfo=UTC)
    # Another process may read it meanwhile.
    made = source.with_suffix(f".mo.{os.getpid()}")
    with made.open("wb") as file:
        write_mo(file, catalogue)
    made.replace(source.with_suffix(".mo"))


if __name__ == "__main__":
    compile_catalogues(Path(__file__).resolve().parent.parent)
