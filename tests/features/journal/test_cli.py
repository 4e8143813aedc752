"""What a person does at a terminal to see what was done, session by session."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.cli.opening import made_here
from minutebook.store.file_locks import FileLocks
from tests.terminal import Run


def done(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def written(begun: Run) -> Run:
    """A way to run commands on a store with two sessions, as an agent wrote them."""
    with made_here({}) as (app, caller):
        asks = replace(caller, name="claude")
        for session in ("s1", "s2"):
            for number in range(2):
                prompt = f"fix the bug {number} of {session}\nin auth.py"
                app.sessions.add(asks, session, prompt, "Let me look.", "Fixed it.")
    return begun


def test_sessions_are_listed_the_latest_first_with_their_titles(written: Run) -> None:
    lines = done(written, "sessions").splitlines()
    assert ["s2" in lines[0], "s1" in lines[1]] == [True, True]
    assert all("2 turns" in line and "(no summary yet)" in line for line in lines)
    assert done(written, "session").splitlines() == lines
    done(written, "sessions", "--summarize")
    assert "(no summary yet)" not in done(written, "sessions")
    (first, second) = json.loads(done(written, "sessions", "--json"))
    assert (first["session"]["name"], second["session"]["turn_count"]) == ("s2", 2)
    assert first["title"]


def test_a_long_list_says_how_to_see_the_rest(written: Run) -> None:
    lines = done(written, "sessions", "--limit", "1").splitlines()
    assert len(lines) == 2
    assert "1 more; --offset 1" in lines[1]
    (last,) = done(written, "sessions", "--limit", "1", "--offset", "1").splitlines()
    assert "s1" in last


@pytest.mark.usefixtures("begun")
def test_without_sessions_it_says_so(run: Run) -> None:
    assert done(run, "sessions") == "No session was written yet.\n"


def test_a_session_is_read_from_its_summary_to_its_end(written: Run) -> None:
    plain = done(written, "sessions", "s1")
    assert plain.index("bug 0 of s1") < plain.index("bug 1 of s1")
    assert "s2" not in plain
    for part in ("prompt", "thought", "response", "claude", "    in auth.py"):
        assert part in plain
    done(written, "sessions", "s1", "--summarize")
    told = done(written, "sessions", "s1")
    assert told.endswith(plain)
    assert "quality" in told.removesuffix(plain)
    shape = json.loads(done(written, "sessions", "s1", "--json"))
    assert [each["prompt"] for each in shape["turns"]] == [
        f"fix the bug {number} of s1\nin auth.py" for number in range(2)
    ]
    assert len(shape["summaries"]) == 1


def test_an_unknown_session_is_an_error(written: Run) -> None:
    for command in (["sessions"], ["sessions", "--summarize"]):
        result = written(*command, "nosuch")
        assert result.exit_code == 1
        assert "there is no session nosuch" in result.stderr


def test_what_has_a_summary_is_not_summarised_again(written: Run) -> None:
    assert len(done(written, "sessions", "--summarize").splitlines()) == 2
    assert (
        done(written, "sessions", "--summarize")
        == "Every session has a summary of what it is now.\n"
    )
    assert len(done(written, "sessions", "s1", "--summarize").splitlines()) == 1


def test_a_session_that_cannot_be_summarised_is_told_and_the_exit_says_so(
    written: Run, tmp_path: Path
) -> None:
    with FileLocks(tmp_path / "home" / "claims").hold("summary\0default\0summary_s1"):
        result = written("sessions", "--summarize", "--json")
    assert result.exit_code == 1
    shape = json.loads(result.stdout)
    assert [each["session"] for each in shape["done"]] == ["s2"]
    assert list(shape["failed"]) == ["s1"]
    assert "s1: " in result.stderr
