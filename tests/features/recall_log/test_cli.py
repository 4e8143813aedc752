"""`minutebook recalls`."""

import json

import pytest

from tests.terminal import Run


def done(run: Run, *arguments: str) -> str:
    """Run a command that works; its output."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_what_questions_got_is_listed_and_narrowed(
    begun: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_RECALL_LOG", "questions")
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "none")
    assert done(begun, "recalls") == "No question is in the log.\n"
    id = done(begun, "remember", "Tea at five").split()[-1].strip(".")
    done(begun, "search", "tea at five\x1b[31m")
    done(begun, "search", "bread")
    first, second = json.loads(done(begun, "recalls", "--json"))
    assert (first["entry"]["question"], first["got"]) == ("bread", [])
    assert (second["entry"]["act"], [got["kind"] for got, _ in second["got"]]) == (
        "search",
        ["memory"],
    )
    ((got, _),) = second["got"]
    assert got["id"] in id or id in got["id"]
    (only,) = json.loads(done(begun, "recalls", "--memory", got["id"], "--json"))
    assert only == second
    plain = done(begun, "recalls", "--limit", "1", "--offset", "1")
    assert "Tea at five" in plain
    assert "\x1b" not in plain
    assert json.loads(done(begun, "recalls", "--client", "cursor", "--json")) == []
    assert json.loads(done(begun, "recalls", "--session", "s1", "--json")) == []


@pytest.mark.usefixtures("begun")
def test_a_recall_log_that_is_off_says_how_to_turn_it_on(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_RECALL_LOG", "off")
    assert "recall_log records" in done(run, "recalls")
