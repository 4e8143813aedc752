"""`minutebook why`: the reasons for a line, a definition, a file."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pygit2
import pytest

from minutebook.cli.opening import made_here
from tests.features.citations.repositories import committed
from tests.store import samples
from tests.terminal import Run, remembered

PAY = "def total(lines):\n    return sum(lines)\n\n\ndef refund(order):\n    return -order\n"
AT = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "shop"
    committed(root, {"src/pay.py": PAY}, int(AT.timestamp()))
    monkeypatch.chdir(root)
    return root


def test_what_cites_it_comes_before_the_commits(run: Run, shop: Path) -> None:
    fact = remembered(run, "src/pay.py:refund is negative, as the bank books it.")
    other = remembered(run, "src/pay.py:total counts in cents.")
    found = run("why", "src/pay.py:refund").output
    assert found.index(f"memory {fact}") < found.index("commit ")
    assert other not in found
    assert fact in run("why", "src/pay.py:6").output
    assert other in run("why", "src/pay.py:1-2").output
    both = run("why", "src/pay.py").output
    assert fact not in both
    assert "a commit  (2026-03-02, Ana)" in both


def test_the_request_before_a_commit_is_told(run: Run, shop: Path, tmp_path: Path) -> None:
    with made_here({"home": str(tmp_path / "home"), "embedder": "none"}) as (app, caller):
        organization = caller.organization or "default"
        for id, hours, prompt in (
            ("t1", 3, "Make refunds in src/pay.py negative."),
            ("t2", 2, "And now the weather page."),
            ("t3", 30, "src/pay.py is a mess."),
            ("t4", -1, "Rename refund in src/pay.py."),
        ):
            turn = samples.turn(id, session="monday", organization=organization)
            asked = replace(turn, prompt=prompt, at=AT - timedelta(hours=hours))
            with app.infrastructure.store.transaction(organization):
                app.infrastructure.store.put(asked)
    (commit,) = json.loads(run("why", "src/pay.py:refund", "--json").stdout)
    assert (commit["request"]["session"], commit["request"]["turn"]) == ("monday", "t1")
    assert commit["request"]["prompt"] == "Make refunds in src/pay.py negative."


def test_a_request_days_before_counts_if_it_cites_the_code(
    run: Run, shop: Path, tmp_path: Path
) -> None:
    with made_here({"home": str(tmp_path / "home"), "embedder": "none"}) as (app, caller):
        organization = caller.organization or "default"
        for id, days, prompt in (
            ("t1", 3, "src/pay.py:refund must be negative."),
            ("t2", 2, "Refunds are slow, refund all."),
            ("t3", 20, "Write src/pay.py:refund."),
        ):
            turn = samples.turn(id, session=id, organization=organization)
            with app.infrastructure.store.transaction(organization):
                app.infrastructure.store.put(
                    replace(turn, prompt=prompt, at=AT - timedelta(days=days))
                )
    (commit,) = json.loads(run("why", "src/pay.py:refund", "--json").stdout)
    assert commit["request"]["turn"] == "t1"


def test_commits_that_say_why_come_before_tidying_ones(run: Run, shop: Path) -> None:
    day = 86400
    told = PAY.replace("-order", "-abs(order)")
    committed(shop, {"src/pay.py": told}, int(AT.timestamp()) + day, "Always negative\n\nThe bank sends both signs.")  # fmt: skip
    tidied = told.replace("return -abs(order)", "amount = -abs(order)\n    return amount")
    committed(shop, {"src/pay.py": tidied}, int(AT.timestamp()) + 2 * day, "Simplify refund")
    remembered(run, "src/pay.py has no tests.")
    remembered(run, "src/pay.py:refund is called at night.")
    found = run("why", "src/pay.py:refund").output
    order = ("called at night", "Always negative", "a commit", "no tests", "Simplify refund")
    places = [found.index(each) for each in order]
    assert places == sorted(places)


def test_a_blank_line_is_no_whole_file(run: Run, shop: Path) -> None:
    remembered(run, "src/pay.py has no tests.")
    assert (shop / "src/pay.py").read_text().splitlines()[2] == ""
    found = run("why", "src/pay.py:3").output
    assert found.index("a commit") < found.index("no tests")


@pytest.mark.usefixtures("begun")
def test_a_constant_is_found_by_its_name(run: Run, shop: Path) -> None:
    committed(shop, {"pool.yaml": "name: pool\nsize: 6\n"}, message="pool")
    committed(shop, {"pool.yaml": "name: pools\nsize: 6\n"}, message="plural")
    found = run("why", "pool.yaml:size").output
    assert "pool  (" in found
    assert "plural" not in found


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("src/gone.py", "FILE is not in the last commit: src/gone.py"),
        ("src", "FILE is not in the last commit: src"),
        ("../other.py", "FILE is outside of this repository: ../other.py"),
        ("src/pay.py:nowhere", "NAME is not defined in src/pay.py: nowhere"),
        ("src/pay.py:90", "LINE src/pay.py has lines 1 to 6"),
        ("src/pay.py:0", "LINE src/pay.py has lines 1 to 6"),
    ],
)
def test_what_is_not_there_is_a_sentence(run: Run, shop: Path, place: str, sentence: str) -> None:
    result = run("why", place)
    assert result.exit_code != 0
    assert sentence in result.output


WROTE = '[Edit] {"file_path": "src/pay.py", "new_string": "def refund(order):\\n    return -order"}\n\n→ done'
READ = '[Read] {"file_path": "src/pay.py"}\n\n→ def refund(order):\n    return -order'
MADE = '[Bash] {"command": "git commit -am negative"}\n\n→ [main SHA] a commit\n 1 file changed'
SHOWN = '[Bash] {"command": "git log"}\n\n→ SHA a commit'


@pytest.mark.parametrize(
    ("email", "minutes", "prompt", "thought", "said"),
    [
        ("ana@example.org", 120, "Refunds are negative.", WROTE, "asked for"),
        ("bo@example.org", 120, "Refunds are negative.", WROTE, "perhaps"),
        ("ana@example.org", 120, "Refunds are negative.", READ, "perhaps"),
        ("ana@example.org", 10, "What is the weather?", "", "perhaps"),
        ("bo@example.org", 10, "What is the weather?", "", ""),
        ("", 10, "What is the weather?", "", ""),
        ("bo@example.org", 120, "Look at pay.py.", "", "perhaps"),
        ("bo@example.org", 120, "Go on.", MADE, "asked for"),
        ("bo@example.org", 120, "Go on.", SHOWN, ""),
    ],
)
def test_a_session_is_the_reason_only_of_what_its_tools_wrote(
    run: Run, shop: Path, tmp_path: Path, email: str, minutes: int, prompt: str, thought: str, said: str
) -> None:  # fmt: skip
    """`email` is the person's who works here; the commit is Ana's."""
    repository = pygit2.Repository(str(shop))
    repository.config["user.email"] = email
    thought = thought.replace("SHA", str(repository.head.target)[:7])
    with made_here({"home": str(tmp_path / "home"), "embedder": "none"}) as (app, caller):
        organization = caller.organization or "default"
        turn = samples.turn("t1", session="monday", organization=organization)
        asked = replace(turn, prompt=prompt, response="Well.", thought=thought)
        with app.infrastructure.store.transaction(organization):
            app.infrastructure.store.put(replace(asked, at=AT - timedelta(minutes=minutes)))
    told = run("why", "src/pay.py:refund").output
    assert ("    asked for in session monday" in told) is (said == "asked for")
    assert ("    perhaps asked for in session monday" in told) is (said == "perhaps")
    (commit,) = json.loads(run("why", "src/pay.py:refund", "--json").stdout)
    request = commit["request"]
    assert (request and request["is_certain"]) is (None if not said else said == "asked for")
