"""Removes features one at a time from a copy of the project, and looks whether the rest still stands.

The rest stands if the types of `src` and `tools` are right, `minutebook --help` answers without the feature's
commands and settings, the demo runs, and the tests of the seam and of the command line pass. What imports the
feature elsewhere in `tests` and `benchmarks` goes with it.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_FEATURES = Path("src", "minutebook", "features")
_TESTS = ("tests/test_feature.py", "tests/test_config.py", "tests/test_cli_memories.py")


def removable() -> list[str]:
    """Return the features that nothing outside them imports, by name."""
    from tools import check_house

    imported = {
        each.feature for each in check_house.find_seams(check_house.read_python(ROOT, "src"))
    }
    names = sorted(each.parent.name for each in (ROOT / _FEATURES).glob("*/feature.py"))
    return [name for name in names if name not in imported]


def remove(name: str) -> Iterator[str]:
    """Yield what does not stand without a feature, a sentence each."""
    with tempfile.TemporaryDirectory(prefix=f"without-{name}-") as top:
        copy = Path(top)
        _copy_to(copy)
        shutil.rmtree(copy / _FEATURES / name)
        for path in _importing(copy, name):
            path.unlink()
        yield from _failures(copy, name)


def _copy_to(copy: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    for each in listed.stdout.split("\0"):
        if each and (ROOT / each).is_file():
            (copy / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / each, copy / each)
    for path in ROOT.glob("src/minutebook/features/pages/locale/*/LC_MESSAGES/*.mo"):
        shutil.copy2(path, copy / path.relative_to(ROOT))
    if (ROOT / ".mypy_cache").is_dir():
        shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")


def _importing(copy: Path, name: str) -> Iterable[Path]:
    """Yield the files of tests and benchmarks that import a feature, or one another that does."""
    gone = re.compile(rf"minutebook\.features\.{name}\b")
    files = {
        path: path.read_text(encoding="utf-8")
        for folder in ("tests", "benchmarks")
        for path in (copy / folder).rglob("*.py")
    }
    found: set[Path] = set()
    while more := {path for path, text in files.items() if gone.search(text)} - found:
        found |= more
        modules = (".".join(path.relative_to(copy).with_suffix("").parts) for path in more)
        gone = re.compile("|".join(rf"(?:from|import) {re.escape(each)}\b" for each in modules))
    return found


def _failures(copy: Path, name: str) -> Iterator[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "MINUTEBOOK_DAEMON": "off"}
    environment["MINUTEBOOK_HOME"] = str(copy / "home")

    def run(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-P", *words],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
        )

    typed = run("-m", "mypy", "src", "tools")
    if typed.returncode:
        yield f"types without {name}: {typed.stdout.strip().splitlines()[-3:]}"
    register = import_module(f"minutebook.features.{name}.feature").FEATURE
    commands = [
        each
        for modules in register.commands.values()
        for names in modules.values()
        for each in names
    ]
    helped = run("-m", "minutebook", "--help")
    if helped.returncode:
        yield f"help without {name}: {helped.stderr.strip().splitlines()[-1:]}"
    for each in commands:
        if re.search(rf"^  {re.escape(each)} ", helped.stdout, re.MULTILINE):
            yield f"help without {name} names its command {each}"
    shown = run("-m", "minutebook", "settings")
    own = register.load(register.settings).__annotations__ if register.settings else ()
    for each in own:
        if re.search(rf"^{each} = ", shown.stdout, re.MULTILINE):
            yield f"settings without {name} name its setting {each}"
    if "demo" not in commands and (demo := run("-m", "minutebook", "demo")).returncode:
        yield f"the demo without {name}: {demo.stderr.strip().splitlines()[-1:]}"
    tests = [each for each in _TESTS if (copy / each).exists()]
    tested = run("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests)
    if tested.returncode:
        yield f"tests without {name}: {tested.stdout.strip().splitlines()[-4:]}"


def main(names: Sequence[str]) -> int:
    """Remove features and print what does not stand; return the exit status.

    `names` are those of the features, or a number of them that are drawn by lot; none: each that can be removed.
    """
    status, able = 0, removable()
    if len(names) == 1 and names[0].isdigit():
        names = random.sample(able, min(int(names[0]), len(able)))
    for name in names or able:
        failures = list(remove(name))
        print(f"without {name}:", "all stands" if not failures else "")
        for each in failures:
            print(f"  {each}")
            status = 1
    return status
