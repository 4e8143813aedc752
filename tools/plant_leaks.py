"""Plant leaks in a copy of the source, one at a time, and tell which suites catch each.

A planted leak lets one place read as a caller who may see everything. Run it as

    .venv/bin/python -P tools/plant_leaks.py [SUITE ...] [--only TEXT]

in the project's folder; a leak takes as long as the suites do, some 20 s.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

SUITES = (
    "tests/services/access/test_visibility.py",
    "tests/services/test_scopes.py",
    "tests/services/test_archive_scopes.py",
    "tests/contracts/test_isolation.py",
    "tests/contracts/test_journal_isolation.py",
    "tests/contracts/test_ledger_isolation.py",
    "tests/contracts/test_token_callers.py",
    "tests/web/test_isolation.py",
    "tests/faults/test_isolation_walk.py",
)
"""What proves isolation and nothing else."""

EVERYBODY = (
    '__import__("dataclasses").replace('
    "{}, organization=None, repositories=None, user=None, folder_scope=None)"
)


@dataclass(frozen=True)
class Leak:
    """A change of one line of the source; `name` says where, `after` is the whole file as changed."""

    name: str
    path: Path
    after: str


def planted(source: Path) -> Iterator[Leak]:
    """Yield a leak for each place that asks what a caller may see."""
    for path in sorted(source.rglob("*.py")):
        text = path.read_text("utf-8")
        calls = (each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Call))
        for call in sorted(calls, key=lambda each: (each.lineno, each.col_offset)):
            if (asker := _asker(call)) is not None:
                start, end = _span(text, asker)
                changed = text[:start] + EVERYBODY.format(text[start:end]) + text[end:]
                yield Leak(f"{path.relative_to(source)}:{call.lineno}", path, changed)


def caught_by(leak: Leak, source: Path, suites: list[str]) -> set[str]:
    """Return the suites that fail over a copy of the source with the leak."""
    before = leak.path.read_text("utf-8")
    leak.path.write_text(leak.after, "utf-8")
    try:
        run = subprocess.run(
            [sys.executable, "-P", "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", *suites],
            env={**os.environ, "PYTHONPATH": str(source.parent)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    finally:
        leak.path.write_text(before, "utf-8")
    failed = set(re.findall(r"^(?:FAILED|ERROR) (\S+?\.py)", run.stdout, re.MULTILINE))
    if run.returncode not in (0, 1) or (run.returncode == 1 and not failed):
        raise RuntimeError(f"{leak.name}: {run.stdout[-2000:]}")
    return failed


def _asker(call: ast.Call) -> ast.expr | None:
    """Return the argument that says who asks, of a call that asks what they may see."""
    match call:
        case ast.Call(func=ast.Name(id="filters"), args=[_, asker]):
            return asker
        case ast.Call(func=ast.Attribute(attr="seen_by"), args=[asker]):
            return asker
    return None


def _span(text: str, node: ast.expr) -> tuple[int, int]:
    """Return where an expression begins and ends in a text."""
    lines = text.splitlines(keepends=True)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None

    def place(line: int, column: int) -> int:
        within = len(lines[line - 1].encode()[:column].decode())
        return sum(map(len, lines[: line - 1])) + within

    return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)


def main() -> None:
    """Plant each leak and print a line for it, and at the end how many each suite caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", default=SUITES)
    parser.add_argument("--only", default="", help="a part of the places' names")
    asked = parser.parse_args()
    caught: Counter[str] = Counter()
    missed = []
    with TemporaryDirectory() as folder:
        source = Path(folder, "src", "minutebook")
        shutil.copytree("src/minutebook", source, ignore=shutil.ignore_patterns("__pycache__"))
        leaks = [each for each in planted(source) if asked.only in each.name]
        for leak in leaks:
            failed = caught_by(leak, source, list(asked.suites))
            caught.update(failed)
            print(f"{leak.name:50} {' '.join(sorted(failed)) or '—'}", flush=True)
            if not failed:
                missed.append(leak.name)
    print(f"\n{len(leaks) - len(missed)} of {len(leaks)} leaks were caught")
    for suite in asked.suites:
        print(f"{caught[suite]:4}  {suite}")


if __name__ == "__main__":
    main()
