"""The size of the house in lines of code: without blanks, comments and docstrings, of all and of the core.

`tools/house.toml` says how many lines there may be, at most, and which files are the core's (`tools/seams.py`).
"""

import ast
import shutil
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

from tools.seams import CORE, TABLE, part_of

ROOT = TABLE.parent.parent

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def _most() -> Mapping[str, int]:
    most: Mapping[str, int] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["lines"]
    return most


def lines_of_code(text: str, nodes: Iterable[ast.AST]) -> int:
    """Return how many lines of a module are neither blank nor a comment nor of a docstring."""
    counted = {
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if (stripped := line.strip()) and not stripped.startswith("#")
    }
    for node in nodes:
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            end = docstring.end_lineno or docstring.lineno
            counted.difference_update(range(docstring.lineno, end + 1))
    return len(counted)


def excess(lines: Mapping[PurePosixPath, int]) -> Iterator[str]:
    """Yield the budgets that are exceeded; paths are below the package."""
    for name, count in _totals(lines).items():
        if count > (most := _most()[name]):
            yield f"{count} lines of code in {name}, {most} at most"


def raised(now: str, before: Iterable[str]) -> Iterator[str]:
    """Yield the bounds in a text of the table that are above those in earlier texts of it."""
    bounds, earlier = _bounds(now), [_bounds(each) for each in before]
    for name, most in bounds.items():
        least = min((each[name] for each in earlier if name in each), default=most)
        if most > least:
            yield f"{name} = {most} was {least}, and may only fall"


def committed(count: int = 2) -> Iterator[str]:
    """Yield the latest texts of the table that were committed, the last one first; none where there is no history."""
    name = TABLE.relative_to(ROOT).as_posix()
    for commit in _git("log", f"-{count}", "--format=%H", "--", name).split():
        yield _git("show", f"{commit}:{name}")


def _git(*words: str) -> str:
    if shutil.which("git") is None:
        return ""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout


def _bounds(text: str) -> Mapping[str, int]:
    """Return the numbers in a text of the table, by name."""
    parts = (each for each in tomllib.loads(text).values() if isinstance(each, dict))
    return {name: most for part in parts for name, most in part.items() if isinstance(most, int)}


def report(lines: Mapping[PurePosixPath, int]) -> Iterator[str]:
    """Yield a line for each folder, with the files in it, then one for each part, and both totals last."""
    folders, parts, files = Counter[str](), Counter[str](), Counter[str]()
    for path, count in lines.items():
        folders[str(path.parent)] += count
        files[str(path.parent)] += 1
        parts[part_of(path)] += count
    for folder, count in sorted(folders.items()):
        yield f"{count:6} {folder}/ ({files[folder]} modules)"
    for part, count in parts.most_common():
        yield f"{count:6} {part}"
    for name, count in _totals(lines).items():
        yield f"{name}: {count} lines of code, {_most()[name]} at most"


def _totals(lines: Mapping[PurePosixPath, int]) -> Mapping[str, int]:
    core = sum(count for path, count in lines.items() if part_of(path) == CORE)
    return {"src": sum(lines.values()), "core": core}
