"""Plant leaks in a copy of the source, one at a time, and tell what catches each.

    .venv/bin/python -P tools/plant_leaks.py forgotten        mypy, where a caller's reader is left out
    .venv/bin/python -P tools/plant_leaks.py reader           one suite, where a reader leaves out a condition
    .venv/bin/python -P tools/plant_leaks.py wide [SUITE ...] suites, where a place asks for everybody

`--only TEXT` takes those leaks whose names hold the text. Run it in the project's folder.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

READERS = "memory/access/visibility.py"
READERS_SUITE = "tests/memory/access/test_visibility.py"
SUITES = (
    READERS_SUITE,
    "tests/memory/test_scopes.py",
    "tests/features/archives/test_archive_scopes.py",
    "tests/serve/contracts/test_isolation.py",
    "tests/features/journal/contract/test_journal_isolation.py",
    "tests/features/ledger/contract/test_ledger_isolation.py",
    "tests/serve/contracts/test_token_callers.py",
    "tests/features/pages/test_isolation.py",
    "tests/faults/test_isolation_walk.py",
)
"""What proves isolation and nothing else."""

_ASKS = {"seen_by": 0, "seen_in": 1}
"""The methods of readers, and which argument says who asks."""

_EVERYBODY = (
    '__import__("dataclasses").replace('
    "{}, organization=None, repositories=None, user=None, folder_scope=None)"
)
_ALL = "Filter(organization=self.organization)"

_FAULTS = (
    # Who may see what
    ("store.organizations(open_organizations(caller))", "store.organizations()"),
    ("View(store, visible_filter(caller, name)) for", "View(store, Filter(organization=name)) for"),
    ("if bound is not None and organization not in bound:", "if False:"),
    (
        "return View(store, visible_filter(caller, organization))",
        "return everything_in(store, organization)",
    ),
    # What a view leaves out
    ("if record is None or not self._where.passes(record):", "if record is None:"),
    ("if isinstance(record, Edge) and not self._seen_among([record]):", "if False:"),
    (
        "seen = list(self._with_ends(self._store.find(of, self._where, order=order)))",
        "seen = self._store.find(of, self._where, order=order)",
    ),
    ("return self._with_ends(records) if _is_edge(of) else records", "return records"),
    ("if _is_edge(of) and not self._is_whole:", "if False:"),
    (
        "return list(self._with_ends(self._store.edges(self.organization, nodes, limit)))",
        "return self._store.edges(self.organization, nodes, limit)",
    ),
    ("            repositories=self._where.repositories,\n", ""),
    ("            users=self._where.users,\n", ""),
    ("<= seen\n", "& seen\n"),
    ("return (each for each in versions if each.memory in ids)", "return versions"),
    (
        "            if self._where.passes(memory):\n",
        "            if memory.superseded_by is None or id != memory.id:\n",
    ),
    ("if of in _UNOWNED and not self._reads_all:", "if False:"),
    (
        "        if _is_edge(of):\n            raise TypeError",
        "        if False:\n            raise TypeError",
    ),
    ("return self._where.passes(record)\n", "return True\n"),
    # What an engine is asked
    *(
        (f"self._store.{method}(of, self._where", f"self._store.{method}(of, {_ALL}")
        for method in ("count_vectors", "match", "nearest")
    ),
    *(
        (
            f"self._store.{method}(self.{check}(of), self._where",
            f"self._store.{method}(self.{check}(of), {_ALL}",
        )
        for method, check in (
            ("each", "_owned"),
            ("ids", "_no_edge"),
            ("values", "_no_edge"),
            ("groups", "_no_edge"),
            ("count", "_owned"),
        )
    ),
    (
        "self._owned(of), self._where, order=order, limit=limit",
        f"self._owned(of), {_ALL}, order=order, limit=limit",
    ),
    ("self._store.entities_named(self._where", f"self._store.entities_named({_ALL}"),
    (
        "wheres = [each._where for each in self.views]",
        "wheres = [Filter(organization=each.organization) for each in self.views]",
    ),
    ("self._snapshot.each(of, self._where", f"self._snapshot.each(of, {_ALL}"),
    ("self._snapshot.count(of, self._where", f"self._snapshot.count(of, {_ALL}"),
    # What belongs to a record in hand
    ('equal={"memory": memory.id}', "equal={}"),
    ("return found if found is not None and found.memory == memory.id else None", "return found"),
)
"""Pieces of the readers, and what stands there where one was forgotten."""


@dataclass(frozen=True)
class Leak:
    """A change of one file of the source: `name` says where, `after` is the file as changed."""

    name: str
    path: Path
    after: str


def forgotten(source: Path) -> Iterator[Leak]:
    """Yield a leak for each place that asks a reader: it asks the store itself."""
    for path, text, call in _asking(source):
        assert isinstance(call.func, ast.Attribute)
        _, end = _span(text, call)
        _, kept = _span(text, call.func.value)
        yield Leak(_name(source, path, call), path, text[:kept] + text[end:])


def wide(source: Path) -> Iterator[Leak]:
    """Yield a leak for each such place: it asks for somebody who may see everything."""
    for path, text, call in _asking(source):
        assert isinstance(call.func, ast.Attribute)
        start, end = _span(text, call.args[_ASKS[call.func.attr]])
        changed = text[:start] + _EVERYBODY.format(text[start:end]) + text[end:]
        yield Leak(_name(source, path, call), path, changed)


def reader(source: Path) -> Iterator[Leak]:
    """Yield a leak for each condition of the readers: it is left out."""
    path = source / READERS
    text = path.read_text("utf-8")
    for number, (before, after) in enumerate(_FAULTS, start=1):
        if text.count(before) != 1:
            raise RuntimeError(f"{READERS} has {text.count(before)} times: {before}")
        yield Leak(f"{number} {before.strip()[:60]}", path, text.replace(before, after))


KINDS = {"forgotten": forgotten, "reader": reader, "wide": wide}


def caught_by(leak: Leak, source: Path, suites: Sequence[str]) -> set[str]:
    """Return the suites that fail over a copy of the source with the leak."""
    command = ["pytest", "-q", "-ra", "-p", "no:cacheprovider", *suites]
    run = _ran(leak, [sys.executable, "-P", "-m", *command], {"PYTHONPATH": str(source.parent)})
    failed = set(re.findall(r"^(?:FAILED|ERROR) (\S+?\.py)", run.stdout, re.MULTILINE))
    if run.returncode not in (0, 1) or (run.returncode == 1 and not failed):
        raise RuntimeError(f"{leak.name}: {run.stdout[-2000:]}")
    return failed


def caught_by_types(leak: Leak, source: Path) -> set[str]:
    """Return "mypy" if it finds an error in a copy of the source with the leak."""
    cache = ["--cache-dir", str(source.parent / "cache")]
    command = ["mypy", "--config-file", "pyproject.toml", *cache, str(source)]
    run = _ran(leak, [sys.executable, "-P", "-m", *command], {"MYPYPATH": str(source.parent)})
    return {"mypy"} if str(leak.path.name) in run.stdout and run.returncode == 1 else set()


def _ran(
    leak: Leak, command: Sequence[str], environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    before = leak.path.read_text("utf-8")
    leak.path.write_text(leak.after, "utf-8")
    try:
        return subprocess.run(
            command,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    finally:
        leak.path.write_text(before, "utf-8")


def _asking(source: Path) -> Iterator[tuple[Path, str, ast.Call]]:
    """Yield each call outside of access that asks a reader for a caller."""
    for path in sorted(source.rglob("*.py")):
        text = path.read_text("utf-8")
        if (source / READERS).parent in path.parents or not any(name in text for name in _ASKS):
            continue
        calls = (each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Call))
        for call in sorted(calls, key=lambda each: (each.lineno, each.col_offset)):
            match call.func:
                case ast.Attribute(attr=name) if name in _ASKS:
                    yield path, text, call


def _name(source: Path, path: Path, call: ast.Call) -> str:
    return f"{path.relative_to(source)}:{call.lineno}"


def _span(text: str, node: ast.expr) -> tuple[int, int]:
    """Return where an expression begins and ends in a text."""
    lines = text.splitlines(keepends=True)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None

    def place(line: int, column: int) -> int:
        within = len(lines[line - 1].encode()[:column].decode())
        return sum(map(len, lines[: line - 1])) + within

    return place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)


def main() -> int:
    """Plant each leak and print a line for it; give 1 if one was not caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    suites = asked.suites or ([READERS_SUITE] if asked.kind == "reader" else SUITES)
    caught: Counter[str] = Counter()
    missed = 0
    with TemporaryDirectory() as folder:
        source = Path(folder, "src", "minutebook")
        shutil.copytree("src/minutebook", source, ignore=shutil.ignore_patterns("__pycache__"))
        leaks = [each for each in KINDS[asked.kind](source) if asked.only in each.name]
        for leak in leaks:
            by_types = asked.kind == "forgotten"
            found = caught_by_types(leak, source) if by_types else caught_by(leak, source, suites)
            caught.update(found)
            missed += not found
            print(f"{leak.name:64} {' '.join(sorted(found)) or '—'}", flush=True)
    print(f"\n{len(leaks) - missed} of {len(leaks)} leaks were caught")
    for name, number in caught.most_common():
        print(f"{number:4}  {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
