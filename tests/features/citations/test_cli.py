"""`minutebook check`: which records a change makes doubtful."""

import json
import os
import re
import time
from pathlib import Path

import pytest

from tests.features.citations.repositories import committed
from tests.terminal import Run, remembered

PAY = "def total(lines):\n    return sum(lines)\n\n\ndef refund(order):\n    return -order\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "shop"
    committed(root, {"src/pay.py": PAY})
    monkeypatch.chdir(root)
    return root


def test_only_what_a_change_concerns_is_doubtful(run: Run, shop: Path) -> None:
    rule = remembered(run, "src/pay.py:total counts in cents.", "--type", "convention")
    fact = remembered(run, "Refunds: src/pay.py:refund")
    remembered(run, "Nothing is cited here.")
    assert run("check").output == "Nothing that is remembered cites what changed.\n"
    later = int(time.time()) + 10
    since = committed(shop, {"src/pay.py": PAY.replace("refund", "give_back")}, later)
    result = run("check")
    assert result.exit_code == 0, result.output
    assert f"src/pay.py:refund is now called src/pay.py:give_back (since {since})" in result.output
    assert fact in result.output
    assert rule not in result.output
    assert "2 records cite what changed; 1 of them is doubtful." in result.output
    assert run("check", "--strict").exit_code == 1
    (shop / "src/pay.py").write_text(PAY.replace("sum", "max"))
    result = run("check")
    assert result.exit_code == 1
    assert f"rule {rule}" in result.output
    assert "src/pay.py:total has changed (in no commit yet)" in result.output


def test_a_branch_is_compared_with_where_it_began(run: Run, shop: Path) -> None:
    remembered(run, "src/pay.py:refund is signed off by Ben.", "--type", "business_rule")
    committed(shop, {"src/pay.py": PAY + "\n"}, int(time.time()) + 10)
    gone = committed(shop, {"src/pay.py": PAY[: PAY.index("def refund")]}, int(time.time()) + 20)
    result = run("check", "--diff", "HEAD~1", "--json")
    assert result.exit_code == 1
    (found,) = json.loads(result.stdout)
    assert found["text"]["is_binding"] is True
    (doubt,) = found["doubts"]
    cited = doubt.pop("cited")
    assert (cited["written"], cited["path"]) == ("src/pay.py:refund", "src/pay.py")
    assert doubt == {
        "verdict": "gone",
        "where": "",
        "since": gone,
    }


@pytest.mark.needs("ledger")
def test_a_decision_is_binding(run: Run, shop: Path) -> None:
    options = ("--target", "src/pay.py:refund", "--rationale", "Ben signs.")
    decided = run("decide", "--title", "Refunds", *options)
    assert decided.exit_code == 0, decided.output
    (shop / "src/pay.py").unlink()
    result = run("check")
    assert result.exit_code == 1
    assert "src/pay.py:refund is gone" in result.output


def test_what_is_verified_is_compared_from_then_on(run: Run, shop: Path) -> None:
    fact = remembered(run, "Refunds: src/pay.py:refund")
    # Git's clock has seconds.
    time.sleep(1.0)
    committed(shop, {"src/pay.py": PAY.replace("-order", "order")}, int(time.time()))
    assert "has changed" in run("check").output
    assert run("mark", fact, "verify").exit_code == 0
    assert "Nothing that is remembered cites what changed." in run("check").output


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--project", "/"), "--project is in no Git repository: /"),
        (("--diff", "nowhere"), "--diff names no commit here: nowhere; fetch it first"),
    ],
)
def test_what_cannot_be_checked_is_a_sentence(
    run: Run, shop: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    result = run("check", *arguments)
    assert result.exit_code != 0
    assert sentence in result.output


def test_a_repository_without_a_commit_is_a_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pygit2

    pygit2.init_repository(tmp_path / "new")
    monkeypatch.chdir(tmp_path / "new")
    remembered(run, "x")
    assert "has no commit yet" in run("check").output
    pygit2.init_repository(tmp_path / "bare", bare=True)
    assert "has no files, it is bare" in run("check", "--project", str(tmp_path / "bare")).output


def test_a_search_and_a_memory_say_what_became_of_the_code(run: Run, shop: Path) -> None:
    id = remembered(run, "Refunds: src/pay.py:refund")
    assert "cited: holds" in run("search", "refunds").output
    since = committed(shop, {"src/pay.py": PAY.replace("refund", "repay")}, int(time.time()) + 10)
    said = f"renamed to repay in src/pay.py since {since}"
    assert f"cited: {said}" in run("search", "refunds").output
    assert json.loads(run("search", "refunds", "--json").stdout)[0]["notes"]["cited"] == said
    assert said in run("show", id).output
    assert json.loads(run("show", id, "--json").stdout)["cited"] == said


def test_what_is_cited_by_hand_is_kept_and_judged(run: Run, shop: Path) -> None:
    result = run("remember", "We pay back.", "--cites", "src/pay.py:refund", "--cites", "refnd")
    assert result.exit_code == 0, result.output
    assert "refnd is not in the last commit here" in result.stderr
    id = result.stdout.strip()
    metadata = json.loads(run("show", id, "--json").stdout)["metadata"]
    assert metadata == {"cites": ["src/pay.py:refund", "refnd"]}
    (shop / "src/pay.py").write_text(PAY.replace("-order", "order"))
    assert "src/pay.py:refund has changed (in no commit yet)" in run("check").output
    assert "cited: changed, in no commit yet" in run("search", "pay").output


@pytest.mark.needs("ledger")
def test_a_decision_cites_by_hand(run: Run, shop: Path) -> None:
    options = ("--target", "money", "--rationale", "Ben signs them.", "--cites", "refund")
    result = run("decide", "--title", "Refunds", *options)
    assert result.exit_code == 0, result.output
    (shop / "src/pay.py").unlink()
    assert "refund is gone" in run("check").output


def test_outside_of_a_repository_it_is_kept_and_said(run: Run) -> None:
    result = run("remember", "We pay back.", "--cites", "refund")
    assert result.exit_code == 0
    assert "Nothing will be said of refund: is in no Git repository" in result.stderr


def test_code_that_was_new_when_it_was_written_about_is_cited_as_it_was(
    run: Run, shop: Path
) -> None:
    pay, now = shop / "src/pay.py", int(time.time())
    pay.write_text(PAY.replace("-order", "order") + "\n\ndef fee():\n    return 1\n")
    before = time.time() - 1
    os.utime(pay, (before, before))
    remembered(run, "Refunds: src/pay.py:refund and `fee`")

    def verdict() -> str:
        return str(json.loads(run("search", "refunds", "--json").stdout)[0]["notes"]["cited"])

    assert verdict() == "holds"
    assert "1 record cites what changed; none of them are doubtful." in run("check").output
    committed(shop, {}, now + 10)
    assert verdict() == "holds"
    pay.write_text(PAY.replace("-order", "order"))
    assert verdict() == "fee gone, in no commit yet"
    since = committed(shop, {}, now + 20)
    assert verdict() == f"fee gone since {since}"


def test_new_code_that_is_never_committed_is_gone_when_it_is_not_there(
    run: Run, shop: Path
) -> None:
    pay, before = shop / "src/pay.py", time.time() - 1
    pay.write_text(PAY + "\n\ndef fee():\n    return 1\n")
    os.utime(pay, (before, before))
    remembered(run, "What we charge: `fee`")

    def verdict() -> str:
        return str(json.loads(run("search", "charge", "--json").stdout)[0]["notes"]["cited"])

    assert verdict() == "holds"
    pay.write_text(PAY + "\n\ndef fee():\n    return 2\n")
    assert verdict() == "changed, in no commit yet"
    pay.write_text(PAY)
    assert verdict() == "gone, in no commit yet"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("The rate is in src/gone.py, its test in gone_test.py:12.", ["src/gone.py", "gone_test.py:12"]),
        ("See src/gone.py:total and pay/gone.py.", ["src/gone.py:total", "pay/gone.py"]),
        # What is there, by its end or not yet committed, elsewhere, or no file at all.
        ("src/pay.py:1, pay.py:2 and ./new/file.py", []),
        ("/etc/hosts.d/shop.conf, https://shop.example/a/b.html, and/or, 1.5/2.0, v1.2", []),
    ],
)  # fmt: skip
def test_a_file_that_is_cited_and_not_there_is_named_when_it_is_written(
    run: Run, shop: Path, text: str, named: list[str]
) -> None:
    (shop / "new").mkdir()
    (shop / "new" / "file.py").touch()
    said = run("remember", text).stderr
    files = re.search(r"There is no (.*) in this project", said)
    assert ([] if files is None else files[1].split(", ")) == named


def test_outside_of_a_repository_no_file_is_missed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "There is no" not in run("remember", "The rate is in src/gone.py:3.").stderr
