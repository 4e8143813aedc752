"""Commands that the daemon runs: they say and do what they would in a process of their own."""

import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from minutebook.cli import in_daemon, main
from minutebook.invocation import DAEMON_COMMANDS, read_command
from minutebook.server.daemon import command_client
from minutebook.server.daemon.commands import (
    ClientLost,
    Command,
    LeftToClient,
    Stream,
)
from tests.commands_in_daemon import Daemon, daemon_of_commands
from tests.examples import parametrize_in_part
from tests.folders.test_finding import repository
from tests.terminal import Run, remembered

SESSION = "morning"


@pytest.fixture
def daemon(begun: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """A daemon on the store of `begun`, in whose environment the secret is."""
    monkeypatch.setenv("AGENT_MEMORY_SECRET", "the kettle is in the attic")
    with daemon_of_commands() as started:
        yield started


def _typed_for_each(id: str, other: str) -> dict[str, list[str]]:
    return {
        "search": ["kettle", "--explain"],
        "show": [id],
        "list": [],
        "duplicates": [],
        "status": ["--json"],
        "code": ["kettle"],
        "projects": [],
        "sessions": [],
        "recalls": [],
        "session": [SESSION],
        "decisions": [],
        "proposals": [],
        "audit": ["--json"],
        "audit verify": ["--json"],
        "audit head": [],
        "tidy": [],
        "tidy show": ["1"],
        "tidy apply": ["1"],
        "tidy refuse": ["1"],
        "tidy undo": ["1"],
        "scan": [],
        "where": [],
        "token list": [],
        "remember": ["  "],
        "link": [id, other],
        "lock": [id],
        "unlock": [id],
        "verify": [id],
        "deprecate": [id, "--reason", "cold"],
        "invalidate": [id, "--reason", "cold"],
        "forget": [other, "--yes"],
        "decide": ["--title", "Tea", "--target", "drinks", "--rationale", "It keeps us awake."],
        "accept": ["2026-01-01-tea", "--role", "admin"],
        "summarize": [],
        "system write": ["  "],
    }


def test_each_command_of_the_daemon_is_one_of_the_command_line() -> None:
    context = click.Context(main)
    for first, *rest in map(str.split, DAEMON_COMMANDS):
        command = main.get_command(context, first)
        assert command is not None
        assert rest == [] or (isinstance(command, click.Group) and rest[0] in command.commands)
    assert set(_typed_for_each("", "")) == set(DAEMON_COMMANDS)


@parametrize_in_part("name", DAEMON_COMMANDS)
def test_a_command_prints_and_ends_as_it_does_in_a_process_of_its_own(
    name: str, daemon: Daemon, run: Run
) -> None:
    id, other = remembered(run, "The kettle is in the attic."), remembered(run, "Tea at five.")
    words = [*name.split(), *_typed_for_each(id, other)[name]]
    # What changes something is done twice, so that both find the same.
    if not DAEMON_COMMANDS[name]:
        run(*words)
    there = run(*words)
    status = daemon.run(*words)
    assert (status, daemon.printed["stderr"]) == (there.exit_code, there.stderr)
    if name == "status":
        return
    assert daemon.printed["stdout"] == there.stdout


def test_what_the_daemon_keeps_is_by_the_person_who_typed_it(daemon: Daemon) -> None:
    assert daemon.run("remember", "Tea at five.") == 0
    (id,) = daemon.printed["stdout"].split()
    daemon.run("show", id)
    assert "created by ada (human)" in daemon.printed["stdout"]


def test_a_command_with_other_settings_is_left_to_its_client(daemon: Daemon) -> None:
    with pytest.raises(LeftToClient):
        daemon.run("list", "--policy", "governed")
    assert daemon.printed == {"stdout": "", "stderr": ""}


@pytest.mark.parametrize("typed", [["forget"], ["decide", "--title", "Tea", "--target"]])
def test_a_command_that_has_to_ask_the_person_is_left_to_its_client(
    typed: list[str], daemon: Daemon, run: Run
) -> None:
    with pytest.raises(LeftToClient):
        daemon.run(*typed, remembered(run, "Tea at five."))
    assert daemon.printed == {"stdout": "", "stderr": ""}


def test_a_relative_home_is_one_of_the_folder_where_the_command_was_typed(
    daemon: Daemon, tmp_path: Path
) -> None:
    home = daemon.settings.home
    assert daemon.run("list", "--home", home.name, folder=home.parent) == 0
    with pytest.raises(LeftToClient):
        daemon.run("list", "--home", home.name, folder=tmp_path / "elsewhere")


def test_colours_reach_a_terminal_and_nothing_else(daemon: Daemon) -> None:
    daemon.run("remember", "Tea at five.")
    daemon.run("list", terminal=True)
    assert "\x1b[" in daemon.printed["stdout"]
    daemon.run("list")
    assert "\x1b[" not in daemon.printed["stdout"]


def test_who_wants_no_colours_gets_none(
    daemon: Daemon, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.run("remember", "Tea at five.")
    assert "\x1b[" in run("list", color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    daemon.run("list", terminal=True)
    assert "\x1b[" not in daemon.printed["stdout"]
    typed = read_command(["list"], os.environ)
    assert typed is not None
    line = command_client.request(typed[1], ["list"])
    assert json.loads(line)["variables"]["NO_COLOR"] == "1"


def test_a_client_that_is_gone_ends_its_command_and_leaves_the_streams_as_they_were(
    daemon: Daemon,
) -> None:
    daemon.run("remember", "Tea at five.")

    def gone(stream: Stream, text: str) -> None:
        raise ClientLost

    command = Command(("list",), os.environ, str(Path.cwd()), "ada", frozenset())
    with pytest.raises(ClientLost):
        in_daemon.run(command, daemon.host, gone)
    assert daemon.run("list") == 0
    assert "Tea at five." in daemon.printed["stdout"]


def test_what_no_command_prints_goes_where_the_process_writes(daemon: Daemon) -> None:
    written = sys.stdout = io.StringIO()
    daemon.run("list")
    sys.stdout.write("of the process\n")
    assert written.getvalue() == "of the process\n"


@pytest.mark.parametrize(
    ("typed", "home"),
    [
        (["list"], None),
        (["--home", "/a", "list"], "/a"),
        (["list", "--home=/a", "--limit", "3"], "/a"),
        (["search", "--", "--home", "/a"], None),
        (["session", "--home", "/a", "morning"], "/a"),
        (["token", "--home", "/a", "list"], "/a"),
    ],
)
def test_the_daemon_of_a_command_is_found_by_its_options(
    typed: list[str], home: str | None
) -> None:
    read = read_command(typed, {})
    assert read is not None
    assert read[1].given.get("home") == home


@pytest.mark.parametrize(
    "typed",
    [[], ["serve"], ["remember", "-"], ["list", "--help"], ["edit", "x"], ["list", "--home"]],
)
def test_what_asks_a_person_or_reads_stdin_is_not_for_the_daemon(typed: list[str]) -> None:
    assert read_command(typed, {}) is None


def test_a_hook_says_what_the_folder_of_its_session_shows(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_SCOPE_FROM_FOLDER", "on")
    api, web = repository(tmp_path / "api"), repository(tmp_path / "web", None)
    for text, folder in (
        ("Milk first in api", api),
        ("Tea only in web", web),
        ("Sit down", tmp_path),
    ):
        assert daemon.run("remember", text, "--type", "business_rule", folder=folder) == 0

    def begun_in(folder: Path) -> str:
        event = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(folder)}
        assert daemon.run("hook", "claude-code", "--event", json.dumps(event)) == 0
        return daemon.printed["stdout"]

    said = {folder: begun_in(folder) for folder in (api, web, tmp_path)}
    assert [text in said[api] for text in ("Milk", "Tea", "Sit")] == [True, False, True]
    assert [text in said[web] for text in ("Milk", "Tea", "Sit")] == [False, True, True]
    assert [text in said[tmp_path] for text in ("Milk", "Tea", "Sit")] == [False, False, True]
    (api / ".minutebook.toml").write_text('hooks = "off"\n')
    assert json.loads(begun_in(api))["outcome"] == "ignored"
