"""Citations of a text, judged by two commits of a real repository."""

from pathlib import Path

import pygit2
import pytest

from minutebook.features.citations.cited import CitationVerdict, Judged
from minutebook.features.citations.judging import cited_in, judge
from minutebook.features.citations.trees import Blobs, compared_commits, compared_with_folder
from minutebook.features.code.references import references_in
from tests.features.citations.repositories import committed

ORDER = (
    "class Order:\n    def total(self):\n        # in cents\n        return sum(self.lines, 0)\n"
)
REFUND = "def refund(order):\n    return -order.total()\n"
PAY = f"{ORDER}\n\n{REFUND}"
SHOP = {"src/pay.py": PAY, "docs/pay.md": "one\ntwo\nthree\n"}


def judged(root: Path, text: str) -> list[Judged]:
    """Judge a text's citations of the first commit by the files in the folder."""
    repository = pygit2.Repository(str(root))
    first = list(repository.walk(repository.head.target))[-1]
    comparison = compared_with_folder(Blobs(repository), first)
    return [judge(each, comparison) for each in cited_in(references_in(text), comparison.before)]


@pytest.mark.parametrize(
    ("files", "text", "verdict", "where"),
    [
        ({"src/pay.py": PAY.replace("# in cents", "# in euros")}, "`total`", "holds", ""),
        ({"src/pay.py": "import os\n\n" + PAY}, "`total`", "holds", ""),
        (
            {
                "src/pay.py": PAY.replace(
                    "(self.lines, 0)", "(\n            self.lines,\n            0,\n        )"
                )
            },
            "Order.total",
            "holds",
            "",
        ),
        ({"src/pay.py": PAY.replace("0)", "1)")}, "`total`", "changed", "src/pay.py:Order.total"),
        ({"src/pay.py": PAY.replace("0)", "1)")}, "src/pay.py:refund", "holds", ""),
        (
            {"src/pay.py": PAY.replace("refund", "give_back")},
            "src/pay.py:refund",
            "renamed",
            "src/pay.py:give_back",
        ),
        (
            {"src/pay.py": PAY.replace("total(self)", "sum(self)")},
            "src/pay.py:Order.total",
            "renamed",
            "src/pay.py:Order.sum",
        ),
        (
            {"src/pay.py": ORDER, "src/refunds.py": REFUND},
            "`refund`",
            "moved",
            "src/refunds.py:refund",
        ),
        (
            {"src/pay.py": ORDER, "src/refunds.py": REFUND.replace("-", "+")},
            "`refund`",
            "changed",
            "src/refunds.py:refund",
        ),
        ({"src/pay.py": ORDER}, "`refund`", "gone", ""),
        ({"src/pay.py": None, "src/money.py": PAY}, "src/pay.py", "moved", "src/money.py"),
        ({"src/pay.py": None, "src/money.py": PAY}, "`refund`", "moved", "src/money.py:refund"),
        ({"src/pay.py": None}, "pay.py", "gone", ""),
        ({"src/pay.py": ORDER}, "src/pay.py", "holds", ""),
        ({"docs/pay.md": "zero\none\n  two\nthree\n"}, "docs/pay.md:2", "holds", ""),
        ({"docs/pay.md": "one\n2\nthree\n"}, "docs/pay.md:1-2", "changed", "docs/pay.md"),
    ],
)
def test_what_became_of_it(
    tmp_path: Path, files: dict[str, str | None], text: str, verdict: str, where: str
) -> None:
    committed(tmp_path, SHOP)
    committed(tmp_path, files)
    (found,) = judged(tmp_path, text)
    assert found.verdict == verdict
    if where:
        assert found.where == where


@pytest.mark.parametrize(
    ("path", "before", "after", "verdict"),
    [
        ("a.py", "@cached\ndef total(): ...\n", "@cached(60)\ndef total(): ...\n", "changed"),
        ("a.py", "@cached\ndef total(): ...\n", "# why\n@cached\n\ndef total(): ...\n", "holds"),
        (
            "a.py",
            "class A:\n    def total(self): ...\n",
            "class A:\n    @property\n    def total(self): ...\n",
            "changed",
        ),
        ("a.py", "@cached\ndef total(): ...\n", "@cached\ndef sum_of(): ...\n", "renamed"),
        ("a.ts", "@Cached()\nexport class total {}\n", "export class total {}\n", "changed"),
        (
            "a.ts",
            "class A {\n  @Get() // why\n  @Safe()\n  total() {}\n}\n",
            "class A {\n  @Get() @Safe() total() {}\n}\n",
            "holds",
        ),
        (
            "a.ts",
            "class A {\n  @Get()\n  @Safe()\n  total() {}\n}\n",
            "class A {\n  @Post()\n  @Safe()\n  total() {}\n}\n",
            "changed",
        ),
        ("a.rs", "#[inline]\nfn total() {}\n", "#[cold]\nfn total() {}\n", "changed"),
        ("a.rs", "#[cold]\nfn total() {}\n", "#[cold]\n/// Why.\nfn total() {}\n", "holds"),
        (
            "A.java",
            "class A {\n  @Test int total() { return 1; }\n}\n",
            "class A {\n  int total() { return 1; }\n}\n",
            "changed",
        ),
        (
            "a.py",
            "@cached\ndef other(): ...\ndef total(): ...\n",
            "def other(): ...\ndef total(): ...\n",
            "holds",
        ),
    ],
)
def test_a_decorator_belongs_to_what_it_decorates(
    tmp_path: Path, path: str, before: str, after: str, verdict: str
) -> None:
    committed(tmp_path, {path: before})
    committed(tmp_path, {path: after})
    assert [each.verdict for each in judged(tmp_path, "`total`")] == [verdict]


def test_code_in_a_string_is_code(tmp_path: Path) -> None:
    before = "const a = html`<b>${f({ total: () => 1 })}</b>`\n"
    committed(tmp_path, {"a.ts": before})
    assert [each.verdict for each in judged(tmp_path, "`total`")] == ["holds"]
    (tmp_path / "a.ts").write_text(before.replace("f({ total", "f({\n  total"))
    assert [each.verdict for each in judged(tmp_path, "`total`")] == ["holds"]
    (tmp_path / "a.ts").write_text(before.replace("=> 1", "=> 2"))
    assert [each.verdict for each in judged(tmp_path, "`total`")] == ["changed"]


def test_what_is_in_no_commit_yet_counts(tmp_path: Path) -> None:
    committed(tmp_path, SHOP)
    (tmp_path / "src/pay.py").write_text(ORDER)
    (tmp_path / "src/refunds.py").write_text(REFUND)
    (found,) = judged(tmp_path, "`refund`")
    assert (found.verdict, found.where) == (CitationVerdict.MOVED, "src/refunds.py:refund")


@pytest.mark.parametrize(
    "text", ["`nowhere`", "src/other.py", "`name`", "README", "src/pay.py:nowhere"]
)
def test_what_is_not_there_or_there_twice_is_not_cited(tmp_path: Path, text: str) -> None:
    twice = {"a.py": "def name():\n    return 1\n", "b.py": "def name():\n    return 2\n"}
    committed(tmp_path, {**SHOP, **twice})
    assert judged(tmp_path, text) == []


def test_files_that_are_no_text_and_links_are_no_trouble(tmp_path: Path) -> None:
    committed(tmp_path, SHOP)
    (tmp_path / "src/pay.py").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "docs/pay.md").unlink()
    (tmp_path / "docs/pay.md").symlink_to(tmp_path / "src")
    assert [each.verdict for each in judged(tmp_path, "`refund` docs/pay.md:1")] == ["gone", "gone"]


def test_two_commits_are_compared_as_well(tmp_path: Path) -> None:
    committed(tmp_path, SHOP)
    committed(tmp_path, {"src/pay.py": ORDER})
    repository = pygit2.Repository(str(tmp_path))
    later, first = repository.walk(repository.head.target)
    comparison = compared_commits(Blobs(repository), first, later)
    (cited,) = cited_in(references_in("`refund`"), comparison.before)
    assert judge(cited, comparison).verdict is CitationVerdict.GONE
