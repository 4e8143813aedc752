"""`minutebook sessions --commit` and `session --commits`."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from minutebook.cli.opening import made_here
from tests.features.citations.repositories import committed
from tests.store import samples
from tests.terminal import Run

pytestmark = pytest.mark.needs("journal")

AT = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture
def commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: Run) -> list[str]:
    """Three commits: one far from any session, one of monday, one of tuesday that monday overlaps."""
    root, at = tmp_path / "shop", int(AT.timestamp())
    monkeypatch.chdir(tmp_path)
    made = [
        committed(root, {"src/pay.py": "a = 1\n"}, at - 90 * 86400, "long ago"),
        committed(root, {"src/pay.py": "a = 2\n"}, at, "two"),
        committed(root, {"src/page.py": "b = 2\n"}, at + 3600, "page"),
    ]
    monkeypatch.chdir(root)
    with made_here({}) as (app, caller):
        organization = caller.organization or "default"
        for id, session, hours, prompt in (
            ("t1", "monday", -2, "Make it two in src/pay.py."),
            ("t2", "tuesday", 0.5, "A page in src/page.py."),
            ("t3", "monday", 0.9, "And now src/pay.py again."),
        ):
            turn = replace(
                samples.turn(id, session=session, organization=organization), prompt=prompt
            )
            with app.infrastructure.store.transaction(organization):
                app.infrastructure.store.put(replace(turn, at=AT + timedelta(hours=hours)))
    return made


def test_the_session_of_a_commit_is_told(begun: Run, commits: list[str]) -> None:
    assert "monday  Make it two" in begun("sessions", "--commit", commits[1]).output
    (found,) = json.loads(begun("sessions", "--commit", "HEAD", "--json").stdout)
    assert (found["session"], found["turn"]) == ("tuesday", "t2")
    assert "No session is known" in begun("sessions", "--commit", commits[0]).output
    assert json.loads(begun("sessions", "--commit", commits[0], "--json").stdout) == []


def test_the_commits_of_a_session_are_told(begun: Run, commits: list[str]) -> None:
    told = begun("sessions", "mon", "--commits").output
    assert commits[1] in told
    assert "two" in told
    assert not {commits[0], commits[2]} & set(told.split())
    (page,) = json.loads(begun("sessions", "tuesday", "--commits", "--json").stdout)
    assert page["id"].startswith(commits[2])
    assert "Make it two" in begun("sessions", "monday").output


def test_a_commit_that_is_not_there_is_a_sentence(begun: Run, commits: list[str]) -> None:
    result = begun("sessions", "--commit", "1234567")
    assert result.exit_code != 0
    assert "--commit names no commit here: 1234567" in result.output


def test_a_session_without_commits_says_so(begun: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: list[str]) -> None:  # fmt: skip
    other = tmp_path / "other"
    committed(other, {"a.py": "a = 1\n"}, int(AT.timestamp()) - 90 * 86400)
    monkeypatch.chdir(other)
    assert "No commit of this folder" in begun("sessions", "monday", "--commits").output
