from pathlib import Path, PurePosixPath

import pytest

from tools.check_house import check, check_cycles, check_python, check_words

MODULE = PurePosixPath("src/minutebook/services/knowledge/memories.py")


def told(path: PurePosixPath | str, text: str) -> list[tuple[int, str]]:
    return [(found.line, found.what) for found in check_python(PurePosixPath(path), text)]


def test_every_kind_of_file_is_looked_at(tmp_path: Path) -> None:
    broken = {
        "README.md": "A smart thing\n",
        "benchmarks/long.py": "x = 1\n" * 601,
        "docs/guides/page.md": "robust\n",
        "src/minutebook/a.py": "import minutebook.b\n",
        "src/minutebook/b.py": "import minutebook.a\nprint('smart')\n",
        "src/minutebook/contracts/knowledge/prompts.json": '"enhanced"\n',
        "tests/long.py": "x = 1\n" * 601,
        "tools/long.py": "x = 1\n" * 601,
    }
    for name, text in broken.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    findings = check(tmp_path)
    assert {finding.path for finding in findings} | {"src/minutebook/a.py"} == set(broken)
    assert len(findings) == len(broken) + 1
    assert str(findings[0]) == "README.md:1: the word “smart”; say what it does instead"


@pytest.mark.parametrize("path", [MODULE, "tests/test_memories.py", "tools/page.py"])
@pytest.mark.parametrize(("lines", "found"), [(600, 0), (601, 1)])
def test_a_file_has_600_lines_at_most(path: PurePosixPath, lines: int, found: int) -> None:
    assert len(told(path, "x = 1\n" * lines)) == found
    assert len(told(path, ("x = 1\n" * lines).rstrip())) == found


@pytest.mark.parametrize(("lines", "found"), [(60, 0), (61, 1)])
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_function_has_60_lines_at_most(kind: str, lines: int, found: int) -> None:
    text = f"class A:\n    {kind} f():\n" + "        x = 1\n" * (lines - 1)
    assert [line for line, _ in told(MODULE, text)] == [2] * found
    assert told("tests/test_memories.py", text) == []


BROAD = [
    "try:\n    f()\nexcept Exception:\n    pass\n",
    "try:\n    f()\nexcept BaseException as error:\n    log(error)\n",
    "try:\n    f()\nexcept (ValueError, Exception):\n    x = 1\n",
    "try:\n    f()\nexcept:\n    raise Other() from None\n",
]


@pytest.mark.parametrize("text", BROAD)
def test_a_broad_except_has_two_places(text: str) -> None:
    assert told(MODULE, text) == [(3, "broad except")]
    assert told("src/minutebook/server/dispatch.py", text) == []
    assert told("src/minutebook/embedding/service.py", text) == []


def test_an_error_that_is_raised_again_hides_nothing() -> None:
    assert told(MODULE, "try:\n    f()\nexcept BaseException:\n    undo()\n    raise\n") == []


def test_suppressing_every_error_is_a_broad_except_too() -> None:
    assert told(MODULE, "with contextlib.suppress(Exception):\n    f()\n") == [
        (1, "broad suppress")
    ]
    assert told(MODULE, "with suppress(OSError):\n    f()\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "x = os.environ['A']",
        "x = os.environ.get('A')",
        "x = os.getenv('A')",
        "def f(x=os.environ): ...",
        "f(os.environ)",
        "del os.environ['A']",
        "from os import path, environ",
    ],
)
def test_the_environment_is_read_in_config_only(text: str) -> None:
    assert [line for line, _ in told(MODULE, f"import os\n{text}\n")] == [2]
    assert told("src/minutebook/config.py", f"import os\n{text}\n") == []


@pytest.mark.parametrize("text", ["os.environ['A'] = '1'", "os.environ.setdefault('A', '1')"])
def test_the_environment_is_written_in_one_place_only(text: str) -> None:
    assert told(MODULE, text) == [(1, "the environment is written")]
    assert told("src/minutebook/embedding/runtime.py", text) == []
    read = "x = os.environ['A']"
    assert told("src/minutebook/embedding/runtime.py", read) == [(1, "the environment is read")]


@pytest.mark.parametrize(
    "text",
    [
        "f('SELECT id FROM memories')",
        "f('select id\\n from memories')",
        "f(f'SELECT {fields} FROM {table} AS t')",
        "f('INSERT OR REPLACE INTO t VALUES (?)')",
        "f('UPDATE t SET a = 1')",
        "f('DELETE ' 'FROM t')",
        "f('CREATE VIRTUAL TABLE t USING fts5')",
        "f('PRAGMA data_version')",
        "f('BEGIN IMMEDIATE')",
        "f(' WHERE organization = ?')",
        "f('ORDER BY row')",
        "f('WITH RECURSIVE a(b) AS (SELECT 1)')",
    ],
)
def test_sql_is_in_the_store_only(text: str) -> None:
    assert told(MODULE, text) == [(1, "SQL")]
    assert told("src/minutebook/store/sqlite/engine.py", text) == []


@pytest.mark.parametrize(
    "text",
    [
        "f('Delete from the store what has ended')",
        "f('Select the memories from one scope')",
        "f('Where it is = there')",
        "f('update_memory')",
        "'''SELECT id FROM memories'''",
        "f(b'SELECT id FROM memories', 1, None)",
    ],
)
def test_a_sentence_is_not_sql(text: str) -> None:
    assert told(MODULE, text) == []


@pytest.mark.parametrize(
    "path", ["utils.py", "services/common.py", "store/base/engine.py", "helpers/__init__.py"]
)
def test_a_module_is_named_for_its_subject(path: str) -> None:
    assert [line for line, _ in told(f"src/minutebook/{path}", "")] == [1]


def test_a_name_may_hold_such_a_word() -> None:
    assert told("src/minutebook/search/codebase.py", "") == []


def test_nothing_prints_but_the_command_line_s_own_way() -> None:
    assert told(MODULE, "def f():\n    print('x')\n") == [(2, "print")]
    assert told("src/minutebook/cli/demo.py", "print('x')\n") == [(1, "print")]
    assert told(MODULE, "x.print('x')\n") == []


def test_a_module_is_run_without_the_working_directory_on_the_path() -> None:
    what = "a command with -m and without -P"
    assert told(MODULE, "x = [program, '-m', 'minutebook']\n") == [(1, what)]
    assert told(MODULE, "x = (program, '-P', '-m', 'minutebook')\n") == []


@pytest.mark.parametrize("name", ["echo", "secho", "style"])
def test_one_module_of_the_command_line_prints(name: str) -> None:
    text = f"click.{name}('x')\n"
    assert told("src/minutebook/cli/journal.py", text) == [(1, f"click.{name}")]
    assert told("src/minutebook/cli/printing.py", text) == []
    assert told("src/minutebook/cli/journal.py", "click.prompt('x')\n") == []


def test_words_that_say_nothing_are_found_as_whole_words() -> None:
    text = "a smartphone\nA Robust,\nsmart and enhanced way\n"
    page = PurePosixPath("docs/guides/page.md")
    assert [(found.line, found.what) for found in check_words(page, text)] == [
        (2, "the word “Robust”"),
        (3, "the word “smart”"),
        (3, "the word “enhanced”"),
    ]
    promise = PurePosixPath("src/minutebook/contracts/knowledge/contract.json")
    assert list(check_words(promise, text)) == []


def cycles(**modules: str) -> list[tuple[str, int, str]]:
    paths = {
        PurePosixPath("src/minutebook", f"{name.replace('__', '/')}.py"): text
        for name, text in modules.items()
    }
    package = {PurePosixPath("src/minutebook/store/__init__.py"): ""}
    return [(f.path, f.line, f.what) for f in check_cycles(package | paths)]


@pytest.mark.parametrize(
    "back",
    [
        "import minutebook.store.a",
        "from minutebook.store.a import X",
        "from minutebook.store import a",
        "from . import a",
        "from .a import X",
        "def f():\n    from ..store.a import X",
        "if TYPE_CHECKING:\n    from minutebook.store.a import X",
    ],
)
def test_two_modules_that_import_one_another_are_a_cycle(back: str) -> None:
    found = cycles(store__a="import json\nfrom minutebook.store.b import Y\n", store__b=back)
    assert len(found) == 1
    path, line, what = found[0]
    assert "minutebook.store.a" in what
    assert "minutebook.store.b" in what
    assert (path.endswith("a.py") and line == 2) or path.endswith("b.py")


def test_every_cycle_is_told() -> None:
    found = cycles(
        store__a="from minutebook.store import b",
        store__b="from minutebook.store import c",
        store__c="from minutebook.store import a",
        search="import minutebook.domain",
        domain="import minutebook.search",
    )
    assert sorted(what.count("→") for _, _, what in found) == [2, 3]


def test_imports_in_one_direction_are_no_cycle() -> None:
    assert (
        cycles(
            store__a="from minutebook.store import b, c\nimport minutebook.store.a",
            store__b="from minutebook.store.c import d",
            store__c="import json",
        )
        == []
    )
