"""Who has the whole store: everybody else above it reads through the eyes of a caller (`memory/access/visibility.py`).

`tools/house.toml` lists the modules that have it, each with the reason.
"""

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath

TABLE = Path(__file__).with_name("house.toml")

BELOW = ("store/", "features/postgres/", "memory/access/")
"""What the store is, and what makes readers of it."""

_NAMES = {
    "minutebook.store.protocol": {"Store", "Tended", "Snapshot"},
    "minutebook.store.sql.database": {"Database"},
    "minutebook.store.sqlite": {"SqliteStore"},
    "minutebook.features.postgres.store": {"PostgresStore"},
    "minutebook.store.sql.transfer": {"Transfer"},
    "minutebook.config.stores": {"open_store"},
}
_INSIDE_READERS = {"_store", "_where", "_snapshot"}


@cache
def _listed() -> Mapping[str, str]:
    reasons: Mapping[str, str] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["whole_store"]
    return reasons


def reached(path: PurePosixPath, nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield where a module reaches for the whole store and is not listed; its path is below the package."""
    found = [] if str(path).startswith(BELOW) else list(_reached(nodes))
    if str(path) not in _listed():
        yield from found
    elif not found:
        yield 1, "listed in tools/house.toml as having the whole store, and does not"


def _reached(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                for each in names:
                    if each.name in _NAMES.get(module, ()):
                        yield node.lineno, f"{each.name} is imported"
            case ast.Attribute(
                value=ast.Name("infrastructure")
                | ast.Attribute(attr="infrastructure" | "_infrastructure"),
                attr="store",
            ):
                yield node.lineno, "the infrastructure's whole store"
            case ast.Attribute(
                value=ast.Attribute(
                    value=ast.Name("infrastructure") | ast.Attribute(attr="infrastructure"),
                    attr="database",
                )
            ):
                yield node.lineno, "the members of the store's database"
            case ast.Attribute(value=value, attr=attribute) if attribute in _INSIDE_READERS:
                if not isinstance(value, ast.Name) or value.id not in ("self", "cls"):
                    yield node.lineno, f"{attribute} of another object"
