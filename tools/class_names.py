"""The names of classes, and the first lines of docstrings: how many classes share a name, how many lines say "what".

Counted are all classes of the package, private and inner ones too, by the name alone. A first line counts if it has
"who", "whom", "what" or "whose", in any place: nearly always a noun that is not named. `tools/house.toml` says how
many there may be, at most.
"""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

_TABLE = Path(__file__).with_name("house.toml")
_UNNAMED = re.compile(r"\b(?:who|whom|what|whose)\b", re.IGNORECASE)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def _most() -> Mapping[str, int]:
    most: Mapping[str, int] = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["names"]
    return most


def shared(modules: Mapping[PurePosixPath, Iterable[ast.AST]]) -> dict[str, Sequence[str]]:
    """Return the names that several classes have, each with the places of these."""
    places = defaultdict[str, list[str]](list)
    for path, nodes in modules.items():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path}:{node.lineno}")
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def unnamed(modules: Mapping[PurePosixPath, Iterable[ast.AST]]) -> tuple[int, int]:
    """Return how many first lines of docstrings have no name for their subject, and how many there are."""
    lines = [
        text.partition("\n")[0]
        for nodes in modules.values()
        for node in nodes
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node))
    ]
    return sum(_UNNAMED.search(line) is not None for line in lines), len(lines)


def excess(modules: Mapping[PurePosixPath, Iterable[ast.AST]]) -> Iterator[str]:
    """Yield what is more than the table allows."""
    names = shared(modules)
    if len(names) > (most := _most()["shared_classes"]):
        listed = "; ".join(f"{name} ({', '.join(places)})" for name, places in names.items())
        yield f"{len(names)} names that several classes have, {most} at most: {listed}"
    count, total = unnamed(modules)
    if total and 1000 * count > (most := _most()["unnamed_per_mille"]) * total:
        yield f"{1000 * count / total:.1f} ‰ of first docstring lines say who, what or whose, {most} at most"
