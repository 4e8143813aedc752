"""The parts of a wheel that Git does not have: compiled catalogues of the pages' texts, the files of the built-in models.

As a program, and for the tests, it compiles the catalogues alone.
"""

import os
import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LOCALES = Path("src", "minutebook", "features", "pages", "locale")
MODELS = Path("src", "minutebook", "features", "models", "built_in", "files")


class BuildHook(BuildHookInterface[Any]):
    """Adds both to a wheel that is built, and makes them where the package is installed to be edited."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the catalogues and derive the models before files are gathered.

        On a platform for which the weights are not packaged the wheel has no models.
        """
        root = Path(self.root)
        compile_catalogues(root)
        build_data["artifacts"].append(f"/{LOCALES.as_posix()}/**/*.mo")
        if _derive_models(root):
            build_data["artifacts"].append(f"/{MODELS.as_posix()}/*")


def _derive_models(root: Path) -> bool:
    """Derive the models' files where the weights are installed; tell whether they are."""
    try:
        import onnx  # noqa: F401
    except ImportError:
        return False
    sys.path[:0] = [str(root), str(root / "src")]
    # By name, so that the rest stands without that feature.
    return bool(import_module("tools.models.derive").derive(root / MODELS))


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
