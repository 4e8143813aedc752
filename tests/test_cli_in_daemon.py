"""Commands beside a daemon: they say and do what they would alone, and the daemon does the work."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.config import load
from minutebook.features.hooks.answers import HookAnswer, answer
from minutebook.features.hooks.early_hook import run_and_exit
from minutebook.serve.invocation import read_early
from tests.commands_in_daemon import Daemon, daemon_of_commands
from tests.config.folders.test_finding import repository
from tests.examples import parametrize_in_part
from tests.terminal import Run, leaf_commands, remembered

SESSION = "morning"


@pytest.fixture
def daemon(begun: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """A daemon on the store of `begun`, in whose environment the secret is."""
    monkeypatch.setenv("AGENT_MEMORY_SECRET", "the kettle is in the attic")
    with daemon_of_commands() as started:
        yield started


READ = {
    "today": [],
    "today --json": [],
    "undo --list": [],
    "search": ["kettle", "--explain"],
    "search --json": ["kettle"],
    "show": ["ID"],
    "show --json": ["ID"],
    "list": [],
    "list --json": [],
    "list --alike": [],
    "code": ["kettle"],
    "code --json": [],
    "sessions": [],
    "recalls": [],
    "sessions --json": [SESSION],
    "decisions": [],
    "decisions --proposed": [],
    "decisions --graph": ["dot"],
    "audit --json": [],
    "audit verify": ["--json"],
    "audit head": [],
    "tidy show": ["1"],
    "scan": [],
    "where": [],
    "token list": [],
}
"""Commands that only read, with what they are given."""

WRITE = {
    "remember": ["  "],
    "link": ["ID", "OTHER"],
    "mark": ["ID", "verify"],
    "invalidate": ["ID", "--reason", "cold"],
    "forget": ["OTHER", "--yes"],
    "restore": ["OTHER"],
    "decide": ["--title", "Tea", "--target", "drinks", "--rationale", "It keeps us awake."],
    "accept": ["2026-01-01-tea", "--role", "admin"],
    "sessions --summarize": [],
    "remember --system": ["  "],
    "tidy": [],
    "tidy apply": ["1"],
    "tidy refuse": ["1"],
    "tidy undo": ["1"],
    "scan --mask": ["--reason", "tidy"],
    "token revoke": ["OTHER"],
    "code --delete": ["OTHER"],
}
"""Commands that write; done twice before they are compared, so that both find the same."""


THERE = {words[0] for words, _ in leaf_commands()}


@pytest.mark.whole
def test_the_tables_name_commands_that_there_are() -> None:
    assert {name.split()[0] for name in READ | WRITE} <= THERE


@parametrize_in_part("name", [name for name in READ | WRITE if name.split()[0] in THERE])
def test_a_command_prints_and_ends_beside_a_daemon_as_it_does_alone(
    name: str, daemon: Daemon, run: Run
) -> None:
    ids = {
        "ID": remembered(run, "The kettle is in the attic."),
        "OTHER": remembered(run, "Tea at five."),
    }
    words = [*name.split(), *(ids.get(word, word) for word in (READ | WRITE)[name])]
    for _ in range(2 if name in WRITE else 0):
        run(*words)
    alone, asked = run(*words), daemon.asked
    beside = daemon.run(*words)
    assert (beside.exit_code, beside.stderr) == (alone.exit_code, alone.stderr)
    assert beside.stdout == alone.stdout
    assert daemon.asked > asked or name.startswith("remember")


def test_how_the_store_is_says_the_daemon_too(daemon: Daemon, run: Run) -> None:
    remembered(run, "Tea at five.")
    beside, alone = (json.loads(one("status", "--json").stdout) for one in (daemon.run, run))
    assert beside.keys() == alone.keys()
    assert beside["memories"] == alone["memories"] == 1


def test_what_the_daemon_keeps_is_by_the_person_who_typed_it(daemon: Daemon) -> None:
    (id,) = daemon.run("remember", "Tea at five.").stdout.split()
    assert "created by ada (human)" in daemon.run("show", id).stdout


def test_a_command_with_other_settings_opens_the_store_itself(daemon: Daemon, run: Run) -> None:
    id = remembered(run, "Tea at five.")
    found = daemon.run("list", "--policy", "governed", "--json")
    assert [each["id"] for each in json.loads(found.stdout)["memories"]] == [id]


def test_a_person_is_asked_where_the_command_was_typed(daemon: Daemon, run: Run) -> None:
    id = remembered(run, "Tea at five.")
    assert daemon.run("forget", id, input="n\n").exit_code == 1
    assert daemon.run("show", id).exit_code == 0
    assert daemon.run("forget", id, input="y\n").exit_code == 0
    assert daemon.run("show", id).exit_code == 1


def test_a_text_on_stdin_is_read_where_the_command_was_typed(daemon: Daemon) -> None:
    (id,) = daemon.run("remember", "-", input="Typed here.\n").stdout.split()
    assert "Typed here." in daemon.run("show", id).stdout


def test_a_relative_home_is_one_of_the_folder_where_the_command_was_typed(
    daemon: Daemon, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert daemon.settings is not None
    id, home = remembered(run, "Tea at five."), daemon.settings.home
    monkeypatch.chdir(home.parent)
    assert id in daemon.run("list", "--home", home.name).stdout


def test_colours_reach_a_terminal_and_nothing_else(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.run("remember", "Tea at five.")
    assert "\x1b[" in daemon.run("list", color=True).stdout
    assert "\x1b[" not in daemon.run("list").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in daemon.run("list", color=True).stdout


@pytest.mark.parametrize(
    ("typed", "home"),
    [
        (["hook", "codex"], ""),
        (["--home", "/a", "hook", "codex"], "/a"),
        (["hook", "--home=/a", "codex"], "/a"),
        (["hook", "--home", "/a", "codex", "--agent", "gemini"], "/a"),
    ],
)
def test_the_daemon_of_a_hook_is_found_by_its_options(typed: list[str], home: str) -> None:
    read = read_early(typed, {})
    assert read is not None
    module, request, words = read
    assert module == run_and_exit.__module__
    assert words == ["codex"]
    assert request.given.get("home", "") == home


@pytest.mark.parametrize(
    "typed",
    [
        [],
        ["../x"],
        ["serve"],
        ["list"],
        ["hook", "--help"],
        ["hook", "--home"],
        ["--url", "x", "hook"],
    ],
)
def test_what_is_no_hook_is_for_the_command_line(typed: list[str]) -> None:
    assert read_early(typed, {}) is None


def test_a_repository_is_that_of_the_folder_in_which_a_command_was_typed(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, web = repository(tmp_path / "api"), repository(tmp_path / "web", None)
    on = {"MINUTEBOOK_SCOPE_FROM_FOLDER": "on"}
    kept = {}
    for text, folder in (("Milk", api), ("Tea", web), ("Sit down", tmp_path)):
        monkeypatch.chdir(folder)
        (id,) = daemon.run("remember", text, env=on).stdout.split()
        kept[text] = json.loads(daemon.run("show", id, "--json").stdout)["repository"]
    assert kept["Milk"] is not None
    assert kept["Tea"] is not None
    assert kept["Milk"] != kept["Tea"]
    assert kept["Sit down"] is None


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
        monkeypatch.chdir(folder)
        assert daemon.run("remember", text, "--type", "business_rule").exit_code == 0

    def begun_in(folder: Path) -> HookAnswer:
        event = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(folder)}
        return answer(daemon.app, load({}), "claude-code", event, None)[0]

    said = {folder: json.dumps(begun_in(folder).output) for folder in (api, web, tmp_path)}
    assert [text in said[api] for text in ("Milk", "Tea", "Sit")] == [True, False, True]
    assert [text in said[web] for text in ("Milk", "Tea", "Sit")] == [False, True, True]
    assert [text in said[tmp_path] for text in ("Milk", "Tea", "Sit")] == [False, False, True]
    (api / ".minutebook.toml").write_text('hooks = "off"\n')
    assert begun_in(api).outcome == "ignored"
