"""The tutorial and the recipes do what they say: each command is run, and what it prints is compared."""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from string import Template

import pytest

from tests.commands_in_daemon import Daemon, daemon_of_commands
from tests.terminal import Run

pytestmark = pytest.mark.whole

ROOT = Path(__file__).resolve().parent.parent
TUTORIAL = ROOT / "docs" / "tutorial.md"
RECIPES = sorted((ROOT / "docs" / "recipes").glob("*.md"))
PROMPT = "— next —"

_STEP = re.compile(r"([^\n]*(?:\n> [^\n]*)*)\n?(.*)", re.DOTALL)
_ASSIGNMENT = re.compile(r"(\w+)=\$\((.*)\)")


def steps(page: Path) -> list[tuple[str, str]]:
    """The commands of a page's console blocks, each with what stands below it; `> ` continues a command."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    parts = (part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:])
    return [
        (found[1].replace("\n> ", "\n"), found[2]) for found in map(_STEP.fullmatch, parts) if found
    ]


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
    """Runs the commands of a recipe as a person's shell does, in one folder, beside a daemon."""

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


class Bash:
    """A person's shell, to which each command is typed as the page has it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            text=True,
        )

    def run(self, command: str) -> tuple[int, str]:
        """Run a command; return its status and what it printed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # What a client reads need not end a line.
        self._process.stdin.write(f"{command}\nprintf '\\n%s %s\\n' '{PROMPT}' $?\n")
        self._process.stdin.flush()
        printed = ""
        for line in self._process.stdout:
            if line.startswith(PROMPT):
                return int(line.split()[-1]), printed.removesuffix("\n")
            printed += line
        raise AssertionError(("the shell ended", command, printed))

    def step(self, command: str, shown: str, wait: float) -> None:
        """Run a command; fail if it does, or if it does not print in time what the page shows."""
        end = time.monotonic() + wait
        while True:
            status, printed = self.run(command)
            if status == 0 and (not shown or fits(shown, printed.removesuffix("\n") + "\n")):
                return
            assert time.monotonic() < end, (command, status, shown, printed)
            time.sleep(0.2)

    def close(self) -> None:
        self.run("minutebook daemon stop")
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the page is for bash")
def test_the_tutorial_runs_in_a_shell_as_it_stands(tmp_path: Path) -> None:
    environment = {name: os.environ[name] for name in ("LANG", "TZ") if name in os.environ}
    shell = Bash(
        {
            **environment,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "TMPDIR": str(tmp_path),
            "XDG_RUNTIME_DIR": str(tmp_path),
            # A person's machine has less to do than one that runs tests.
            "MINUTEBOOK_HOOK_WAIT": "60",
        }
    )
    try:
        wait = 0.0
        for command, shown in steps(TUTORIAL):
            shell.step(command, shown, wait)
            wait = 60.0 if command.startswith("sleep ") else 0.0
    finally:
        shell.close()


@pytest.mark.thorough
@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_each_command_of_a_recipe_prints_what_the_page_shows(
    page: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "built-in")
    with daemon_of_commands() as daemon:
        # A daemon that has just started says of its first answers that vectors are still to come.
        daemon.app.embedding.settle()
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
