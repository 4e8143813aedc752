"""The tutorial and the recipes do what they say: each command is run, and what it prints is compared."""

import os
import re
import shlex
from pathlib import Path
from string import Template

import pytest

from minutebook.cli.opening import wait_for_model
from tests.commands_in_daemon import Daemon, daemon_of_commands
from tests.terminal import Run

pytestmark = pytest.mark.whole

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "recipes").glob("*.md"))]

_ASSIGNMENT = re.compile(r"(\w+)=\$\((.*)\)")


def steps(page: Path) -> list[tuple[str, str]]:
    """The commands of a page's console blocks, each with what stands below it."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    parts = (part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:])
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts)]


def fits(shown: str, printed: str) -> bool:
    """Whether a text is as a page shows it; `…` stands for anything, alone in a line for lines."""
    parts = []
    for line in shown.splitlines():
        if line == "…":
            parts.append(r"(?:[^\n]*\n)*")
        else:
            parts.append(".*".join(re.escape(each) for each in line.split("…")) + r"\n")
    return re.fullmatch("".join(parts), printed) is not None


class Shell:
    """Runs the commands of a page as a person's shell does, in one folder, beside a daemon."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._variables: dict[str, str] = {}

    def step(self, command: str, shown: str) -> None:
        """Run a command; fail if it does, or if it does not print what the page shows."""
        if command == "export MINUTEBOOK_HOME=$(mktemp -d)":
            return
        if command.startswith("cat "):
            Path(command.removeprefix("cat ")).write_text(shown, encoding="utf-8")
            return
        assigned = _ASSIGNMENT.fullmatch(command)
        typed = command if assigned is None else assigned[2]
        words = shlex.split(Template(typed).substitute(self._variables))
        assert words[0] == "minutebook", command
        output, stdout, stderr = self._printed(words[1:])
        if assigned is not None:
            self._variables[assigned[1]] = stdout.strip()
        printed = output if assigned is None else stderr
        assert not shown or fits(shown, printed), (command, shown, printed)

    def _printed(self, words: list[str]) -> tuple[str, str, str]:
        """Run a command as at a terminal beside a daemon; what it printed."""
        result = self._daemon.run(*words)
        assert result.exit_code == 0, (words, result.output)
        return result.output, result.stdout, result.stderr


@pytest.mark.parametrize(
    "page",
    [PAGES[0], *(pytest.param(page, marks=pytest.mark.thorough) for page in PAGES[1:])],
    ids=lambda page: page.stem,
)
def test_each_command_of_a_page_prints_what_the_page_shows(
    page: Path, run: Run, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "built-in")
    monkeypatch.setenv("MINUTEBOOK_MODELS", str(models))
    with daemon_of_commands() as daemon:
        # A daemon that has just started says of its first answers that vectors are still to come.
        daemon.app.embedding.start()
        wait_for_model(daemon.app.embedding)
        shell = Shell(daemon)
        for command, shown in steps(page):
            shell.step(command, shown)
    assert os.environ["MINUTEBOOK_HOME"].startswith(str(Path.cwd()))


@pytest.mark.parametrize(
    ("shown", "printed", "does"),
    [
        ("a\n", "a\n", True),
        ("a\n", "a\nb\n", False),
        ("a…c\n", "abc\n", True),
        ("a…c\n", "a\nc\n", False),
        ("…\nb\n", "x\ny\nb\n", True),
        ("…\nb\n", "b\n", True),
        ("0.…\n", "1.5\n", False),
    ],
)
def test_what_a_page_shows_is_compared_line_by_line(shown: str, printed: str, does: bool) -> None:
    assert fits(shown, printed) is does
