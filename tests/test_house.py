import ast
from pathlib import Path, PurePosixPath

import pytest

from minutebook.feature import features
from tools import class_names, removal, seams, size
from tools.check_house import (
    check,
    check_cycles,
    check_docstrings,
    check_engines,
    check_needs,
    check_python,
    check_reasons,
    check_words,
    find_seams,
)

pytestmark = pytest.mark.whole

MODULE = PurePosixPath("src/minutebook/memory/knowledge/memories.py")


def told(path: PurePosixPath | str, text: str) -> list[tuple[int, str]]:
    return [(found.line, found.what) for found in check_python(PurePosixPath(path), text)]


def test_every_kind_of_file_is_looked_at(tmp_path: Path) -> None:
    broken = {
        "README.md": "A smart thing\n",
        "benchmarks/long.py": "x = 1\n" * 601,
        "docs/guides/page.md": "robust\n",
        "src/minutebook/a.py": "import minutebook.b\n",
        "src/minutebook/b.py": "import minutebook.a\nprint('smart')\n",
        "src/minutebook/serve/contracts/knowledge/prompts.json": '"enhanced"\n',
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
    assert told("src/minutebook/serve/dispatch.py", text) == []
    assert told("src/minutebook/model/service.py", text) == []


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
    assert told("src/minutebook/serve/invocation.py", f"import os\n{text}\n") == []


@pytest.mark.parametrize("text", ["os.environ['A'] = '1'", "os.environ.setdefault('A', '1')"])
def test_the_environment_is_written_in_one_place_only(text: str) -> None:
    assert told(MODULE, text) == [(1, "the environment is written")]
    assert told("src/minutebook/features/models/runtime.py", text) == []
    read = "x = os.environ['A']"
    assert told("src/minutebook/features/models/runtime.py", read) == [
        (1, "the environment is read")
    ]


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
    assert told("src/minutebook/text/codebase.py", "") == []


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
    assert told("src/minutebook/cli/commands/memories.py", text) == [(1, f"click.{name}")]
    assert told("src/minutebook/cli/printing.py", text) == []
    assert told("src/minutebook/cli/commands/memories.py", "click.option('x')\n") == []


@pytest.mark.parametrize("text", ["told = 1", "def f(told): ...", "for told in (): ..."])
def test_a_variable_is_named_for_its_value(text: str) -> None:
    assert [each.what for each in check_python(MODULE, text)] == ["a variable named told"]
    assert list(check_python(MODULE, text.replace("told", "message"))) == []
    assert list(check_python(MODULE, "print_ = x.told(told=1)")) == []


REACHES = [
    "from minutebook.store.protocol import Change, Store\n",
    "from minutebook.store.protocol import Tended\n",
    "from minutebook.store.sqlite import SqliteStore\n",
    "def f(infrastructure):\n    return infrastructure.store\n",
    "class A:\n    def f(self):\n        return self.infrastructure.store\n",
    "class A:\n    def f(self):\n        return self._infrastructure.store\n",
    "def f(records):\n    return records._store\n",
    "class A:\n    def f(self):\n        return self._store._store\n",
    "def f(view):\n    return view._where\n",
]


@pytest.mark.parametrize("text", REACHES)
def test_the_whole_store_is_out_of_reach_of_what_reads_for_a_caller(text: str) -> None:
    assert len(told(MODULE, text)) == 1
    for path in ("store/sql/rows.py", "memory/access/tokens.py", "memory/embeddings.py"):
        assert told(f"src/minutebook/{path}", text) == []


def test_a_reader_is_not_the_whole_store() -> None:
    text = "class A:\n    def f(self, caller):\n        return self._store.seen_by(caller)\n"
    assert told(MODULE, text) == []


def test_a_module_is_not_listed_in_vain_as_having_the_whole_store() -> None:
    assert len(told("src/minutebook/memory/embeddings.py", "x = 1\n")) == 1


def test_words_that_say_nothing_are_found_as_whole_words() -> None:
    text = "a smartphone\nA Robust,\nsmart and enhanced way\n"
    page = PurePosixPath("docs/guides/page.md")
    assert [(found.line, found.what) for found in check_words(page, text)] == [
        (2, "the word “Robust”"),
        (3, "the word “smart”"),
        (3, "the word “enhanced”"),
    ]
    promise = PurePosixPath("src/minutebook/serve/contracts/knowledge/contract.json")
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
        text="import minutebook.record",
        record="import minutebook.text",
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


@pytest.mark.parametrize(
    ("importer", "imported", "seam"),
    [
        ("store/protocol.py", "store/errors.py", None),
        ("app.py", "features/tidying/looking/rounds.py", ("core", "tidying")),
        ("features/tidying/looking/rounds.py", "app.py", None),
        ("features/tidying/looking/rounds.py", "features/tidying/inbox.py", None),
        ("features/tidying/pages.py", "features/pages/frame.py", ("tidying", "pages")),
        ("features/__init__.py", "features/tidying/__init__.py", ("core", "tidying")),
        ("app.py", "features/ledger/git/markdown.py", ("core", "ledger")),
    ],
)
def test_an_import_of_a_feature_from_elsewhere_is_a_seam(
    importer: str, imported: str, seam: tuple[str, str] | None
) -> None:
    module = (
        f"minutebook.{imported.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}"
    )
    texts = {importer: f"def late():\n    import {module}\n", imported: ""}
    found = find_seams({PurePosixPath("src/minutebook", path): texts[path] for path in texts})
    assert [(each.part, each.feature) for each in found] == ([seam] if seam else [])


@pytest.mark.parametrize(
    ("needs", "of_imported", "whats"),
    [
        ("('a',)", "", []),
        ("()", "", ["needs nothing"]),
        ("('a', 'c')", "", ["needs a, c"]),
        ("('a',)", "import minutebook.features.b.rows", ["needs nothing", "a circle of features"]),
    ],
)
def test_a_feature_needs_those_that_it_imports_and_none_in_a_circle(
    needs: str, of_imported: str, whats: list[str]
) -> None:
    texts = {
        "features/a/feature.py": "FEATURE = Feature(name='a')",
        "features/a/rows.py": of_imported,
        "features/b/feature.py": f"FEATURE = Feature(name='b', needs={needs})",
        "features/b/rows.py": "import minutebook.features.a.rows",
    }
    modules = {PurePosixPath("src/minutebook", path): text for path, text in texts.items()}
    assert [each.what.partition(":")[0] for each in check_needs(modules)] == whats


def test_a_feature_that_nothing_imports_can_be_removed() -> None:
    able = removal.removable()
    assert {"erasure", "migration"} <= set(able)
    assert not {need for each in features() for need in each.needs} & set(able)


def test_a_feature_goes_with_those_that_need_it() -> None:
    assert removal.with_needing("notes") == ["notes"]
    going = removal.with_needing("http")
    assert going[0] == "http"
    assert {"pages", "ledger", "tidying"} < {*going}
    assert all(each.name in going for each in features() if {*each.needs} & {*going})


def test_more_seams_than_the_table_allows_are_found() -> None:
    one = seams.Seam("core", "ledger", "app.py", "features/ledger/git/markdown.py")
    assert list(seams.excess([])) == []
    assert len(list(seams.excess([one]))) == 1


def test_what_both_engines_write_is_counted() -> None:
    body = "".join(f"def f{number}():\n    pass\n" for number in range(500))
    paths = [
        PurePosixPath("src/minutebook", each, "rows.py")
        for each in ("store/sqlite", "features/postgres")
    ]
    assert list(check_engines(dict.fromkeys(paths[:1], body))) == []
    found = [each.what for each in check_engines(dict.fromkeys(paths, body))]
    assert [what.split()[0] for what in found] == ["500", "2000"]


def test_blanks_comments_and_docstrings_are_no_lines_of_code() -> None:
    text = '"""A module.\n\nMore.\n"""\n\n# Why.\nA = """\ntext\n"""  # a text\n\n\ndef f():\n    """Do."""\n'
    assert size.lines_of_code(text, ast.walk(ast.parse(text))) == 4


def test_more_lines_than_the_table_allows_are_found() -> None:
    assert list(size.excess({PurePosixPath("app.py"): 1})) == []
    (found,) = size.excess({PurePosixPath("features/ledger/places.py"): 10**6})
    assert found.startswith("1000000 lines of code in src")
    assert len(list(size.excess({PurePosixPath("app.py"): 10**6}))) == 2


def test_a_bound_that_was_raised_is_found() -> None:
    now = "[lines]\nsrc = 9\ncore = 4\nnew = 7\n[names]\nshared = 2\n"
    before = ["[lines]\nsrc = 9\ncore = 5\n", "[lines]\nsrc = 8\ncore = 6\n[names]\nshared = 2\n"]
    assert list(size.raised(now, before)) == ["src = 9 was 8, and may only fall"]
    assert list(size.raised(now, [])) == []


def test_the_bounds_that_were_committed_are_read() -> None:
    found = list(size.committed())
    assert len(found) <= 2
    assert all("[lines]" in each for each in found)


def named(texts: dict[str, str]) -> dict[PurePosixPath, list[ast.AST]]:
    return {PurePosixPath(path): list(ast.walk(ast.parse(text))) for path, text in texts.items()}


def test_a_name_that_two_classes_have_is_listed_with_both() -> None:
    inner = "class B:\n    class A: pass\n"
    assert class_names.shared(named({"a.py": "class A: pass\n", "b.py": inner})) == {
        "A": ["a.py:1", "b.py:2"]
    }


def test_more_shared_names_than_the_table_allows_are_found() -> None:
    both = "".join(f"class C{number}: pass\n" for number in range(100))
    assert list(class_names.excess(named({"a.py": both}))) == []
    (found,) = class_names.excess(named({"a.py": both, "b.py": both}))
    assert found.startswith("100 names that several classes have")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Return the owner of a record.", 0),
        ("Return whose a record is.", 1),
        ("What a caller may read.", 1),
        ("Tell somewhat whatever.", 0),
    ],
)
def test_a_first_line_without_a_name_for_its_subject_is_counted(line: str, expected: int) -> None:
    text = f'def f():\n    """{line}\n\n    What else.\n    """\n'
    assert class_names.unnamed(named({"a.py": text})) == (expected, 1)
    assert len(list(class_names.excess(named({"a.py": text})))) == expected


ERRORS = """
class MinutebookError(Exception): pass
class NotFound(MinutebookError): pass
class Refused(MinutebookError): pass
class Forbidden(Refused): pass
"""


def silent(docstring: str, body: str, head: str = "def f(x):") -> list[str]:
    """Return what the rule of docstrings finds about one function."""
    lines = "\n".join(f"    {line}" for line in (f'"""{docstring}"""', *body.split("\n")))
    modules = {
        PurePosixPath("src/minutebook/record/errors.py"): ERRORS,
        MODULE: f"{head}\n{lines}\n",
    }
    found = list(check_docstrings(modules))
    assert all(each.path == str(MODULE) for each in found)
    return [each.what for each in found]


@pytest.mark.parametrize("head", ["def f(x):", "def _f(x):", "class F:"])
def test_no_docstring_begins_with_a_word_that_says_not_whether_a_value_is_returned(
    head: str,
) -> None:
    [what] = silent("Give the row.", "x = 1", head)
    assert what.endswith("begins with “Give”")
    assert silent("Given a row, return its id.", "x = 1", head) == []


UNSAID = ["f raises NotFound, and its docstring does not say so"]


@pytest.mark.parametrize("head", ["def f(x):", "async def f(x):", "@property\ndef f(x):"])
@pytest.mark.parametrize(
    "docstring", ["", "Read it.", "Read it, or raise NotFound.", "Read it. Raises Refused if so."]
)
def test_a_docstring_says_which_error_the_function_raises(head: str, docstring: str) -> None:
    assert silent(docstring, "raise NotFound(x)", head) == UNSAID
    assert silent(docstring, "if x:\n    raise NotFound", head) == UNSAID


@pytest.mark.parametrize(
    "docstring",
    [
        "Read it. Raises NotFound if there is none.",
        "Read it.\n\n    Raises Refused if it is locked, NotFound if\n    there is none.",
        "Read `a.b`. Raises Refused if x is 0.5 or more, NotFound else.",
        "Raise NotFound if there is none.",
    ],
)
def test_a_sentence_that_begins_with_raises_names_the_error(docstring: str) -> None:
    assert silent(docstring, "raise NotFound(x)") == []


def test_every_error_is_named() -> None:
    body = "if x:\n    raise NotFound(x)\nraise Forbidden(x)"
    assert silent("Read it. Raises NotFound if there is none.", body) == [
        "f raises Forbidden, and its docstring does not say so"
    ]


def test_a_method_is_public_as_a_function_is() -> None:
    method = "def f(self):\n    raise NotFound(1)"
    assert silent("Things.", method, "class Things:") == UNSAID


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("def _f(x):", "raise NotFound(x)"),
        ("def f(x):", "raise ValueError(x)"),
        ("def f(x):", "raise"),
        ("def f(x):", "def inner():\n    raise NotFound(x)\nreturn inner"),
        ("def f(x):", "try:\n    raise NotFound(x)\nexcept NotFound:\n    return 1"),
        ("@things.command(cls=Command)\ndef f(x):", "raise NotFound(x)"),
    ],
)
def test_an_error_that_no_reader_of_the_docstring_meets_is_left_out(head: str, body: str) -> None:
    assert silent("Read it.", body, head) == []


def test_an_error_raised_by_a_handler_leaves_the_function() -> None:
    body = "try:\n    g()\nexcept NotFound:\n    raise NotFound(x) from None"
    assert silent("Read it.", body) == UNSAID


@pytest.mark.parametrize("head", ["def f(x):", "def _f(x):", "class f:"])
@pytest.mark.parametrize("name", ["NotFound", "ValueError"])
def test_no_error_is_listed_after_a_semicolon(head: str, name: str) -> None:
    what = f"f lists {name} after a semicolon".replace("f", head.split()[1].strip("(x):"), 1)
    assert silent(f"Read it; {name}.", "pass", head) == [what]
    assert silent(f"Read it;\n    {name} for none.", "pass", head) == [what]
    assert silent("Read it; nothing is found in it.", "pass", head) == []


@pytest.mark.parametrize(
    "text",
    [
        *("sys.stdin.read()", "input('?')", "click.edit(text)", "click.confirm('?')"),
    ],
)
def test_a_command_reaches_the_keyboard_through_one_module(text: str) -> None:
    assert len(told("src/minutebook/cli/commands/memories.py", text)) == 1
    assert text.startswith("input") or told("src/minutebook/cli/keyboard.py", text) == []
    assert told("src/minutebook/serve/daemon/greeting.py", text) == []


REASONED = """
class Reason(str):
    def __new__(cls, template: str, /, **values: object) -> Self: ...
class MinutebookError(Exception): ...
class Conflict(MinutebookError):
    def __init__(self, id: str, reason: str, **values: object) -> None: ...
class Locked(MinutebookError):
    act: str
    reason: Reason
class Taken(Conflict): ...
class Other(Exception): ...
"""


@pytest.mark.parametrize(
    ("raised", "found"),
    [
        ('raise Taken(id, f"it is {status}")', "a reason that is put together"),
        ('raise Taken(id, "it is {}".format(status))', "a reason that is put together"),
        ('raise Taken(id, "it is " + status)', "a reason that is put together"),
        ('raise Taken(id, "it is" if a else f"it {b}")', "a reason that is put together"),
        ('reason = f"it is {status}"; raise Taken(id, reason)', "a reason that is put together"),
        ('raise Locked("read", Reason(f"it is {status}"))', "a reason that is put together"),
        ('raise Taken(id, "it {is}", was=1)', "a reason that names is and is given was"),
        ('raise Taken(id, "it is", was=1)', "a reason that names none and is given was"),
        ('raise Taken(f"{kind} {id}", "it is {status}", status=status)', None),
        ('reason = "it is {status}"; raise Taken(id, reason, status=status)', None),
        ('raise Locked("read", Reason("it is {status}", status=status))', None),
        ('raise Taken(id, "it is {status}")', "a reason that names status and is given none"),
        ('raise Taken(id, "it is {status}", **values)', None),
        ('raise Other(f"{id} {status}")', None),
    ],
)
def test_a_reason_is_a_template_with_the_values_of_its_names(
    raised: str, found: str | None
) -> None:
    modules = {
        PurePosixPath("src/minutebook/record/errors.py"): REASONED,
        MODULE: f"def f():\n    {raised}\n",
    }
    assert [each.what for each in check_reasons(modules)] == ([] if found is None else [found])
