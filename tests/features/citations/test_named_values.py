"""Constants, fields, keys and commands: found by their lines, cited by their names."""

from pathlib import Path

import pygit2
import pytest

from minutebook.features.citations.definitions import definitions_of
from minutebook.features.citations.judging import cited_in
from minutebook.features.citations.trees import Blobs, CommitTree, SearchedTree
from minutebook.features.code.references import references_in
from tests.features.citations.repositories import committed
from tests.features.citations.test_judging import judged

SETTINGS = """\
LIMIT = 3  # few
NAMES: dict[str, int] = {
    "a": 1,
}


def wait(seconds):
    half = seconds / 2
    return pause(
        until=half,
    )


@dataclass
class Settings:
    \"\"\"What may be set.\"\"\"

    hook_wait: float = 0.25
    plain: int

    def use(self):
        self.used = True


TEXT = '''
inner = 1
'''
LAST = call(
    key=5,
)
if LAST == 1:
    pass
"""
CONFIG = """\
title = "shop"

[server]
port = 8080
hosts = [
  "one",
]
"""
PACKAGE = """\
{
  "name": "shop",
  "scripts": {
    "build": "tsc -p .",
    "test": "vitest"
  }
}
"""
WORKFLOW = "on: push\njobs:\n  # each\n  build:\n    runs-on: linux\nretries: 3\n"
MAKE = "PYTHON ?= python3\n.PHONY: demo\ndemo: setup  ## Run.\n\tpytest -q\n\nsetup:\n\tpip\n"


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.py", SETTINGS, "LIMIT:1 NAMES:2-4 Settings.hook_wait:18 TEXT:25 LAST:28-30"),
        ("a.toml", CONFIG, "server.port:4 server.hosts:5-7"),
        ("package.json", PACKAGE, "scripts.build:4 scripts.test:5"),
        ("a.yml", WORKFLOW, "on:1 jobs:2-5 jobs.build:4-5 jobs.build.runs-on:5 retries:6"),
        ("Makefile", MAKE, "PYTHON:1 demo:3-4 setup:6-7"),
        ("a.ini", "[main]\nretries = 3\n; note\ndepth: 4\n", "retries:2 depth:4"),
        (
            "a.ts",
            "export const MAX_RETRIES = 3;\nconst run = () => {\n  const local = 1;\n};\nclass A {\n  private static readonly SIZE: number = 4;\n}\nconst options = {\n  depth: 2,\n};\n",
            "MAX_RETRIES:1 A.SIZE:6 options:8-10",
        ),
        (
            "a.go",
            "package p\n\nconst Limit = 3\n\nvar Name string = x\n\nfunc F() {\n\ty := 2\n}\n",
            "Limit:3 Name:5",
        ),
        ("b.ts", "class A {\n  /*\n  depth = 1;\n  */\n  size = 2;\n}\n", "A.size:5"),
        ("a.rs", "pub const LIMIT: u32 = 3;\nfn f() {\n    let x = 1;\n}\n", "LIMIT:1"),
        (
            "A.java",
            "class A {\n    private static final int MAX = 3;\n    int f() {\n        int y = 2;\n        return y;\n    }\n}\n",
            "A.MAX:2",
        ),
        (
            "a.c",
            "static const int LIMIT = 3;\nint f(void) {\n  int y = 2;\n  return y;\n}\n",
            "LIMIT:1",
        ),
        ("a.sh", "export NAME=3\nf() {\n  local y=2\n}\n", "NAME:1"),
        ("a.md", "note: one\nlimit = 3\n", ""),
        ("a.txt", "limit = 3\n", ""),
    ],
)
def test_values_are_what_stands_at_the_margin_or_in_a_class(
    path: str, text: str, found: str
) -> None:
    values = [each for each in definitions_of(path, text) if each.is_value]
    lines = ["-".join(map(str, dict.fromkeys((each.first, each.last)))) for each in values]
    names = [".".join(each.names) for each in values]
    assert " ".join(f"{name}:{at}" for name, at in zip(names, lines, strict=True)) == found


@pytest.mark.parametrize(
    ("path", "text", "cited", "edit", "verdict"),
    [
        ("a.py", SETTINGS, "`LIMIT`", ("# few", "# not many"), "holds"),
        ("a.py", SETTINGS, "`LIMIT`", ("= 3", "= 4"), "changed"),
        ("a.py", SETTINGS, "The hook_wait is short.", ("0.25", "0.5"), "changed"),
        ("a.py", SETTINGS, "a.py:Settings.hook_wait", ("hook_wait", "wait_of_hooks"), "gone"),
        ("a.py", SETTINGS, "a.py:LIMIT", ("LIMIT = 3", "if True:\n    LIMIT = 3"), "holds"),
        ("a.py", SETTINGS, "`NAMES`", ('"a": 1', '"a": 2'), "changed"),
        ("a.py", SETTINGS, "a.py:Settings", ("0.25", "0.5"), "changed"),
        ("a.toml", CONFIG, "`server.port`", ("8080", "80"), "changed"),
        ("a.toml", CONFIG, "`server.port`", ("[server]\n", "[server]\nname = 1\n"), "holds"),
        ("a.yml", WORKFLOW, "`retries`", ("on: push", "on: tag"), "holds"),
        ("a.yml", WORKFLOW, "`retries`", ("retries: 3", "retries: 5"), "changed"),
        ("Makefile", MAKE, "Run `make demo` first.", ("pytest -q", "pytest"), "changed"),
        (
            "Makefile",
            MAKE,
            "Run `make demo` first.",
            ("demo: setup  ##", "show: setup  ##"),
            "gone",
        ),
        (
            "package.json",
            PACKAGE,
            "`npm run test`",
            ('"vitest"', '"vitest",\n    "lint": "eslint"'),
            "holds",
        ),
        ("package.json", PACKAGE, "`pnpm run build`", ("tsc -p .", "vite"), "changed"),
    ],
)
def test_a_value_is_judged_by_its_lines(
    tmp_path: Path, path: str, text: str, cited: str, edit: tuple[str, str], verdict: str
) -> None:
    committed(tmp_path, {path: text})
    assert edit[0] in text
    (tmp_path / path).write_text(text.replace(*edit))
    (found,) = judged(tmp_path, cited)
    assert found.verdict == verdict


def test_a_value_of_the_same_name_and_content_elsewhere_has_moved(tmp_path: Path) -> None:
    committed(tmp_path, {"a.py": "RATE = 3\nELSE = 1\n", "b.py": "OTHER = 3\n"})
    (tmp_path / "a.py").write_text("ELSE = 1\n")
    (tmp_path / "b.py").write_text("OTHER = 3\nRATE = 3\n")
    (found,) = judged(tmp_path, "`RATE`")
    assert (found.verdict, found.where) == ("moved", "b.py:RATE")


def test_a_definition_is_meant_before_a_value_of_its_name(tmp_path: Path) -> None:
    committed(tmp_path, {"a.py": "def total():\n    return 1\n", "b.toml": "[order]\ntotal = 3\n"})
    (found,) = judged(tmp_path, "`total`")
    assert found.cited.path == "a.py"


def test_a_changed_value_is_not_cited_where_a_definition_elsewhere_is_meant(tmp_path: Path) -> None:
    committed(tmp_path, {"a.py": "def total():\n    return 1\n", "b.toml": "[order]\ntotal = 3\n"})
    repository = pygit2.Repository(str(tmp_path))
    tree = SearchedTree(CommitTree(Blobs(repository), repository.head.peel(pygit2.Commit)))
    cited = cited_in(references_in("`total`"), tree, frozenset({"b.toml"}))
    assert list(cited) == []


def test_what_two_files_call_so_and_what_no_file_has_is_not_cited(tmp_path: Path) -> None:
    committed(tmp_path, {"a.py": "RATE = 3\n", "b.py": "RATE = 4\n", "Makefile": MAKE})
    for text in (
        "`RATE`",
        "`make tea`",
        "`npm run build`",
        "make demo",
        "just demo",
        "`just demo`",
    ):
        assert judged(tmp_path, text) == [], text
    (found,) = judged(tmp_path, "b.py:RATE")
    assert found.cited.path == "b.py"
