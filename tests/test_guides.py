"""The commands on the pages for people are commands that there are."""

import re
import shlex
from dataclasses import fields
from pathlib import Path

import click
import pytest

from minutebook.cli import main
from minutebook.feature import Feature, features
from tests.terminal import Run

pytestmark = pytest.mark.whole

ROOT = Path(__file__).resolve().parent.parent
GUIDES = ROOT / "docs" / "guides"
PAGES = [ROOT / "README.md", *sorted(GUIDES.glob("*.md"))]


def commands(page: str) -> list[list[str]]:
    """The commands of ours that a page shows, without the program."""
    text = (GUIDES / page).read_text(encoding="utf-8")
    return [shlex.split(line) for line in re.findall(r"^\$ minutebook (.+)$", text, re.MULTILINE)]


TOKENS = [each for each in commands("team.md") if each[0] == "token" or each == ["audit", "verify"]]


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


def parsed(words: list[str]) -> str:
    """Parse a command without running it; return its name. Raises UsageError for an unknown word."""
    command: click.Command = main
    while isinstance(command, click.Group):
        context = click.Context(command)
        _, words, _ = command.make_parser(context).parse_args(args=list(words))
        if not words and command.invoke_without_command:
            break
        name, found, words = command.resolve_command(context, words)
        assert found is not None, name
        command = found
    else:
        _, extra, _ = command.make_parser(click.Context(command)).parse_args(args=list(words))
        assert not extra, (command.name, extra)
    return str(command.name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_command_of_a_page_is_one_with_these_options(page: Path) -> None:
    lines = re.findall(r"^\$ minutebook (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert lines
    for line in lines:
        assert parsed(shlex.split(line.partition(" > ")[0], comments=True)), line


@pytest.mark.parametrize("words", [["forgot"], ["search", "x", "--explained"], ["token", "make"]])
def test_a_command_that_there_is_not_is_found(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parsed(words)


def test_each_picture_that_a_page_shows_is_there_and_each_that_is_there_is_shown() -> None:
    shown = {
        (page.parent / name).resolve()
        for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
        for name in re.findall(r'(?:src|srcset)="([^":]+)"', page.read_text(encoding="utf-8"))
    }
    there = set((ROOT / "docs" / "pictures").iterdir())
    assert shown == there
    assert max(path.stat().st_size for path in there) <= 150_000
    assert len(there) <= 8


ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_the_page_about_the_house_names_every_register_and_every_feature() -> None:
    registers = {each.name for each in fields(Feature)} - {"name"}
    assert {each for each in registers if f"`{each}`" not in ARCHITECTURE} == set()
    assert {each.name for each in features() if f"\n| `{each.name}`" not in ARCHITECTURE} == set()


def test_each_path_on_the_page_about_the_house_is_there() -> None:
    named = re.findall(r"`((?:\w+/)+[\w.]*)`|^((?:\w+/)+[\w.]*) ", ARCHITECTURE, re.MULTILINE)
    paths = {first or second for first, second in named} - {"features/X/feature.py"}
    assert len(paths) > 30
    roots = (ROOT, ROOT / "src" / "minutebook")
    assert {each for each in paths if not any((root / each).exists() for root in roots)} == set()
