"""The commands on the pages for people are commands that there are."""

import re
import shlex
from pathlib import Path

import pytest

from tests.terminal import Run

GUIDES = Path(__file__).resolve().parent.parent / "docs" / "guides"


def commands(page: str) -> list[list[str]]:
    """The commands of ours that a page shows, without the program."""
    text = (GUIDES / page).read_text(encoding="utf-8")
    return [shlex.split(line) for line in re.findall(r"^\$ minutebook (.+)$", text, re.MULTILINE)]


TOKENS = [each for each in commands("team.md") if each[0] in ("token", "audit")]


def test_each_command_of_the_page_for_teams_does_what_it_says(run: Run) -> None:
    id = ""
    for command in TOKENS:
        result = run(*[id if word == "ID" else word for word in command])
        assert result.exit_code == 0, (command, result.output)
        if command[1] == "create":
            assert result.stdout.startswith("mbk_")
            id = result.stdout[4:24]


@pytest.mark.parametrize("verb", ["create", "list", "rotate", "revoke"])
def test_the_page_for_teams_shows_every_act_on_tokens(verb: str) -> None:
    assert any(each[:2] == ["token", verb] for each in TOKENS)
