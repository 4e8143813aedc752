"""The seams of the house: imports from the core to features, and between features.

`tools/house.toml` says which file belongs to which feature until it stands in `features/NAME/`, which features one may
import, and how many seams there may be, at most.
"""

import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

TABLE = Path(__file__).with_name("house.toml")
CORE = "core"
_FEATURES = "features"


@dataclass(frozen=True, slots=True, order=True)
class Seam:
    """An import of a feature's file by a file of the core or of another feature; paths are below the package."""

    part: str
    feature: str
    importer: str
    imported: str

    def __str__(self) -> str:
        return f"{self.part} → {self.feature}: {self.importer} imports {self.imported}"


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


@cache
def _features() -> Mapping[str, str]:
    """Return the feature of each path in the table; a folder's path ends with a slash."""
    named: Mapping[str, Mapping[str, Collection[str]]] = _table()["feature"]
    return {path: name for name, feature in named.items() for path in feature["paths"]}


def part_of(path: PurePosixPath) -> str:
    """Return the feature to which a file of the package belongs, or CORE; the longest path in the table decides."""
    if path.parts[0] == _FEATURES and len(path.parts) > 2:
        return path.parts[1]
    names = (str(path), *(f"{folder}/" for folder in path.parents))
    return next((found for name in names if (found := _features().get(name))), CORE)


def seams(imports: Mapping[PurePosixPath, Iterable[PurePosixPath]]) -> Sequence[Seam]:
    """Return the seams among files that import one another, in order; paths are below the package."""
    found = (
        Seam(part_of(path), part_of(imported), str(path), str(imported))
        for path, all_imported in imports.items()
        for imported in all_imported
    )
    return sorted({each for each in found if each.feature not in (CORE, each.part)})


def pairs(found: Iterable[Seam]) -> Mapping[tuple[str, str], int]:
    """Return the number of imports of each pair of features, importer first."""
    return Counter((each.part, each.feature) for each in found if each.part != CORE)


def excess(found: Sequence[Seam]) -> Iterator[str]:
    """Yield what there is more of than the table allows."""
    most: Mapping[str, int] = _table()["most"]
    counts = {"from_core": sum(each.part == CORE for each in found), "pairs": len(pairs(found))}
    for name, count in counts.items():
        if count > most[name]:
            yield f"{count} seams {name.replace('_', ' ')}, {most[name]} at most"


def report(found: Sequence[Seam]) -> Iterator[str]:
    """Yield a line for each seam from the core, one for each pair of features, and the counts last."""
    from_core = [each for each in found if each.part == CORE]
    counts = Counter(each.feature for each in from_core)
    between = pairs(found)
    yield from map(str, from_core)
    yield from (
        f"{part} → {feature}: {count}" for (part, feature), count in sorted(between.items())
    )
    named = ", ".join(f"{feature} {count}" for feature, count in counts.most_common())
    yield f"From the core: {len(from_core)} ({named})"
    yield f"Between features: {sum(between.values())}, along {len(between)} pairs"
