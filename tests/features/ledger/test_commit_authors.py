"""Who is the author of a ledger's commits."""

import getpass
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.record.caller import ANYBODY, with_call
from minutebook.record.origin import Origin
from tests.features.ledger.decided import (
    AGENT,
    PERSON,
    draft,
    git,
    ledger_of,
)
from tests.serve.contracts.requirements import requirement
from tests.world import Opener


def author_of(place: Path) -> str:
    return git(place, "log", "-1", "--format=%an <%ae>")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "a project"
    place.mkdir()
    git(place, "init", "--quiet", "--initial-branch=main")
    git(place, "config", "user.name", "Ann")
    git(place, "config", "user.email", "ann@example.org")
    (place / "README.md").write_text("hello\n", encoding="utf-8")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=First")
    return place


CLIENT = Origin(client="claude-code", version="2.1")


@requirement("ledger/git/author")
def test_the_author_of_a_commit_is_who_acted(opener: Opener) -> None:
    world = opener()
    who = [
        (
            with_call(replace(AGENT, name="codex"), origin=CLIENT),
            "codex <agent@minutebook.invalid>",
        ),
        (
            with_call(replace(AGENT, name=ANYBODY), origin=CLIENT),
            "claude-code <agent@minutebook.invalid>",
        ),
        (replace(AGENT, name=ANYBODY), "agent <agent@minutebook.invalid>"),
        (PERSON, "ann <human@minutebook.invalid>"),
        (replace(PERSON, name=ANYBODY), f"{getpass.getuser()} <human@minutebook.invalid>"),
        (
            with_call(replace(PERSON, name="bo", token="t"), origin=CLIENT),
            "bo <human@minutebook.invalid>",
        ),
    ]
    for number, (caller, author) in enumerate(who):
        world.app.get(DecisionActs).record(caller, draft(f"target {number}"))
        assert author_of(ledger_of(world.app).path) == author


@requirement("ledger/git/author")
def test_in_their_own_repository_a_person_is_who_git_says(opener: Opener, project: Path) -> None:
    world = opener(ledger=project)
    who = [
        (replace(PERSON, name=getpass.getuser()), "Ann <ann@example.org>"),
        (replace(PERSON, name=ANYBODY), "Ann <ann@example.org>"),
        (replace(PERSON, name="bo"), "bo <human@minutebook.invalid>"),
        (replace(PERSON, name=getpass.getuser(), token="t"), None),
        (
            with_call(replace(AGENT, name=ANYBODY), origin=CLIENT),
            "claude-code <agent@minutebook.invalid>",
        ),
    ]
    for number, (caller, author) in enumerate(who):
        world.app.get(DecisionActs).record(caller, draft(f"target {number}"))
        expected = author or f"{caller.name} <human@minutebook.invalid>"
        assert author_of(project) == expected
