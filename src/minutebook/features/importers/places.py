"""The places of programs' files on this machine."""

from pathlib import Path

from minutebook.domain.errors import InvalidInput
from minutebook.features.importers.sources.reading.files import ImportSource
from minutebook.features.importers.sources.registry import SOURCES, SourceKind
from minutebook.machine import places_here


def usual_place(kind: SourceKind) -> Path | None:
    """Return the path at which a program keeps its files on this machine; None if that differs."""
    if (usual := kind.usual_place) is None:
        return None
    return places_here().folder(usual.variable, *usual.folder).joinpath(*usual.below)


def found_here() -> dict[str, ImportSource]:
    """Return the sources with files at their usual place, by name."""
    found = {}
    for name, kind in SOURCES.items():
        if (place := usual_place(kind)) is not None and place.exists():
            try:
                source = kind.files(place)
            except InvalidInput:
                continue
            if source.files:
                found[name] = source
    return found
