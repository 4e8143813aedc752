"""Removes features from a copy of the project, one at a time, and looks whether the rest still stands.

    .venv/bin/python tools/check_house.py --removal                  each feature, one after another
    .venv/bin/python tools/check_house.py --removal 3                three that no other needs, drawn by lot
    .venv/bin/python tools/check_house.py --removal notes erasure    these
    .venv/bin/python tools/check_house.py --removal --together notes erasure    these at once, from one copy

With a feature go those that need it. The rest stands if its types are right, `minutebook --help`, `settings` and `doctor` answer and do not name what the
feature had, the pages made from code can be made anew, the demo runs, and the remaining tests pass: those of `_TESTS`,
or with `--all` every one that `make test` runs but those marked `whole`. The feature's tests go with it, and whatever
else in `tests`, `benchmarks` and `tools` imports it.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from minutebook.feature import features
from tools.build_hook import MODELS

ROOT = Path(__file__).resolve().parent.parent
_FEATURES = Path("src", "minutebook", "features")
_TESTS_OF_FEATURES = Path("tests", "features")
_TESTS = (
    *("tests/test_feature.py", "tests/test_config.py", "tests/test_cli*.py", "tests/cli"),
    "tests/features/pages/test_links.py",
)
"""What `.ci/run` has the time for: the seam, the settings, the command line, menus and links of pages."""

_KEPT_OF_OUTPUT = 60


def removable() -> list[str]:
    """Return the features that nothing outside them imports, by name."""
    from tools import check_house

    imported = {
        each.feature for each in check_house.find_seams(check_house.read_python(ROOT, "src"))
    }
    names = sorted(each.parent.name for each in (ROOT / _FEATURES).glob("*/feature.py"))
    return [name for name in names if name not in imported]


def with_needing(name: str) -> Sequence[str]:
    """Return a feature and those that need it, or need one of these, in order."""
    going = {name}
    while more := {each.name for each in features() if going.intersection(each.needs)} - going:
        going |= more
    return sorted(going, key=lambda each: (each != name, each))


def remove(names: Collection[str], *, has_all_tests: bool = False) -> Iterator[str]:
    """Yield what does not stand without some features, a sentence each."""
    with _copied() as copy:
        for name in names:
            shutil.rmtree(copy / _FEATURES / name)
            shutil.rmtree(copy / _TESTS_OF_FEATURES / name, ignore_errors=True)
        for path in _importing(copy, names):
            path.unlink()
        yield from _Remains(copy, names).failures(has_all_tests=has_all_tests)


@contextmanager
def _copied() -> Iterator[Path]:
    """Copy the project, with an environment of its own in which the copied package is the installed one."""
    with tempfile.TemporaryDirectory(prefix="without-") as top:
        copy = Path(top)
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
        )
        built = (*(ROOT / "src").rglob("*.mo"), *(ROOT / MODELS).glob("*"))
        for path in (*(ROOT / each for each in listed.stdout.split("\0") if each), *built):
            if path.is_file():
                place = copy / path.relative_to(ROOT)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, place)
        if (ROOT / ".mypy_cache").is_dir():
            shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")
        _install(copy)
        yield copy


def _install(copy: Path) -> None:
    """Make an environment that has what is installed here, but the package from a copy."""
    made = copy / ".venv"
    subprocess.run([sys.executable, "-P", "-m", "venv", "--without-pip", str(made)], check=True)
    [packages] = made.glob("lib/python*/site-packages")
    here = next(Path(each) for each in sys.path if each.endswith("site-packages"))
    (packages / "copy.pth").write_text(f"{copy / 'src'}\n{here}\n", encoding="utf-8")
    bin = Path(sys.executable).parent
    for script in bin.iterdir():
        if script.is_file() and not (made / "bin" / script.name).exists():
            first, _, rest = script.read_bytes().partition(b"\n")
            if first == f"#!{sys.executable}".encode():
                (made / "bin" / script.name).write_bytes(
                    f"#!{made / 'bin' / 'python'}\n".encode() + rest
                )
                (made / "bin" / script.name).chmod(0o755)


def _importing(copy: Path, names: Collection[str]) -> set[Path]:
    """Return the files beside `src` that import one of some features, or one another that does."""
    one_of = "|".join(map(re.escape, names))
    # An import inside a function is of a test that says what it needs.
    gone = re.compile(
        rf"^(?:from|import) (?:minutebook|tests)\.features\.(?:{one_of})\b"
        rf"|^from minutebook\.features import [^\n]*\b(?:{one_of})\b",
        re.MULTILINE,
    )
    files = {
        path: path.read_text(encoding="utf-8")
        for folder in ("tests", "benchmarks", "tools")
        for path in (copy / folder).rglob("*.py")
    }
    found: set[Path] = set()
    while more := {path for path, text in files.items() if gone.search(text)} - found:
        found |= more
        modules = (".".join(path.relative_to(copy).with_suffix("").parts) for path in more)
        gone = re.compile("|".join(map(_import_of, modules)), re.MULTILINE)
    # A command imports its steps when they are asked for.
    commands = {path.with_name("__main__.py") for path in found if copy / "tools" in path.parents}
    return found | (commands & files.keys())


def _import_of(module: str) -> str:
    """Return the pattern of the ways to import a module."""
    package, _, name = module.rpartition(".")
    words = rf"^(?:from|import) {re.escape(module)}\b"
    return rf"{words}|^from {re.escape(package)} import [^\n]*\b{re.escape(name)}\b"


class _Remains:
    """The copy without some features."""

    def __init__(self, copy: Path, names: Collection[str]) -> None:
        self._copy = copy
        self._name = ", ".join(names)
        registers = [import_module(f"minutebook.features.{name}.feature").FEATURE for name in names]
        self._commands = [
            each
            for register in registers
            for modules in register.commands.values()
            for commands in modules.values()
            for each in commands
        ]
        self._settings = [
            each
            for register in registers
            if register.settings
            for each in register.load(register.settings).__annotations__
        ]

    def failures(self, *, has_all_tests: bool) -> Iterator[str]:
        """Yield what does not stand, a sentence each."""
        typed = self._run("-m", "mypy", "src", "tools")
        if typed.returncode:
            yield f"types without {self._name}: {_end(typed.stdout)}"
        yield from self._named()
        if (
            "demo" not in self._commands
            and (demo := self._run("-m", "minutebook", "demo")).returncode
        ):
            yield f"the demo without {self._name}: {_end(demo.stderr)}"
        if (made := self._run("tools/write_docs.py")).returncode:
            yield f"pages made from code without {self._name}: {_end(made.stderr)}"
        patterns = () if has_all_tests else _TESTS
        tests = [str(path) for each in patterns for path in self._copy.glob(each)]
        chosen = ["-p", "tests.workers", "--workers", "3", "--ignore", "tests/faults"]
        chosen += ["-m", "not slow and not thorough and not whole"]
        tested = self._run("-m", "pytest", "-q", "--tb=line", *chosen, *tests)
        if tested.returncode:
            yield f"tests without {self._name}: {_end(tested.stdout)}"

    def _named(self) -> Iterator[str]:
        """Yield where something of the features is still named."""
        self._run("-m", "minutebook", "remember", "The kettle is in the kitchen.")
        for word, pattern in (
            ("help all", rf"^  {_one_of(self._commands)} |minutebook {_one_of(self._commands)}\b"),
            (
                "settings --all",
                rf"^ *{_one_of(self._settings)} = |minutebook {_one_of(self._commands)}\b",
            ),
            ("doctor", rf"minutebook {_one_of(self._commands)}\b"),
            ("status", rf"minutebook {_one_of(self._commands)}\b"),
        ):
            said = self._run("-m", "minutebook", *word.split())
            if said.returncode:
                yield f"`minutebook {word}` without {self._name}: {_end(said.stderr)}"
            for found in re.finditer(pattern, said.stdout, re.MULTILINE):
                yield f"`minutebook {word}` without {self._name} names {found[0].strip()}"

    def _run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "MINUTEBOOK_DAEMON": "off"}
        environment["MINUTEBOOK_HOME"] = str(self._copy / "home")
        environment.pop("PYTHONPATH", None)
        python = self._copy / ".venv" / "bin" / "python"
        return subprocess.run(
            [python, "-P", *words], cwd=self._copy, env=environment, capture_output=True, text=True
        )


def _one_of(names: Sequence[str]) -> str:
    """Return the pattern of some names; of none it matches nothing."""
    return f"(?:{'|'.join(map(re.escape, names)) or '(?!)'})"


def _end(output: str) -> str:
    return "".join(f"\n    {line}" for line in output.strip().splitlines()[-_KEPT_OF_OUTPUT:])


def main(words: Sequence[str]) -> int:
    """Remove features and print what does not stand; return the exit status.

    `words` are their names, or a number of them that are drawn by lot; none: each.
    """
    status = 0
    names = [each for each in words if not each.startswith("--")] or [f.name for f in features()]
    if names[0].isdigit():
        able = removable()
        names = random.sample(able, min(int(names[0]), len(able)))
    for each in [names] if "--together" in words else map(with_needing, names):
        began = time.monotonic()
        failures = list(remove(each, has_all_tests="--all" in words))
        stands = "" if failures else "all stands"
        print(f"without {', '.join(each)} ({time.monotonic() - began:.0f} s): {stands}", flush=True)
        for failure in failures:
            print(f"  {failure}", flush=True)
            status = 1
    return status
