"""Hooks in a client's settings: entered once, taken out again, beside those of others."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from minutebook.config.machine import Places
from minutebook.features.hooks.capture import TRANSCRIPTS
from minutebook.features.hooks.early_hook import CLIENTS, FOLDERS, NOT_AWAITED
from minutebook.features.hooks.events import MOMENTS, HookMoment
from minutebook.features.install.clients import Installation, Scope, apply, location
from minutebook.features.install.hooks import HOOKS, Form, plan_hooks
from minutebook.record.errors import InvalidInput

EVENTS = HOOKS["claude-code"].events
LISTED = [name for name, client in HOOKS.items() if client.form is not Form.PLUGIN]
"""Clients whose hooks stand in a file of JSON."""


def command(client: str) -> list[str]:
    return ["/opt/my tools/minutebook", "hook", HOOKS[client].command_name, "--home", "/srv/a b"]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(platform="linux", home=tmp_path / "home", cwd=tmp_path / "project", variables={})


def plan(
    client: str, places: Places, *, remove: bool = False, scope: Scope = "user"
) -> Installation:
    return plan_hooks(client, command=command(client), scope=scope, places=places, remove=remove)


def changed(
    places: Places, *, remove: bool = False, scope: Scope = "user", client: str = "claude-code"
) -> dict[str, Any]:
    planned = plan(client, places, remove=remove, scope=scope)
    apply(planned)
    settings: dict[str, Any] = json.loads(planned.after or "{}")
    return settings


def entries_of(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The commands of an event, in groups or not."""
    return [entry for each in listed for entry in each.get("hooks", [each])]


@pytest.mark.parametrize("client", LISTED)
def test_each_event_has_one_entry_however_often_it_is_entered(places: Places, client: str) -> None:
    first = changed(places, client=client)
    assert not plan(client, places).changed
    assert set(first["hooks"]) == set(HOOKS[client].events)
    name = HOOKS[client].command_name
    for listed in first["hooks"].values():
        (entry,) = entries_of(listed)
        assert entry["type"] == "command"
        assert entry["command"] == f"'/opt/my tools/minutebook' hook {name} --home '/srv/a b'"


@pytest.mark.parametrize("client", LISTED)
@pytest.mark.parametrize("scope", get_args(Scope))
def test_what_others_entered_comes_back_as_it_was(
    places: Places, client: str, scope: Scope
) -> None:
    path = location(HOOKS[client], scope, places)
    path.parent.mkdir(parents=True)
    event = next(iter(HOOKS[client].events))
    other = {"type": "command", "command": "greet", "timeout": 7}
    one = {"hooks": [other]} if HOOKS[client].form is Form.GROUPS else other
    text = json.dumps({"version": 1, "hooks": {event: [one], "another": [one]}}, indent=3) + "\n"
    path.write_text(text)
    assert changed(places, client=client, scope=scope)["hooks"][event][0] == one
    for backup in path.parent.glob("*.bak"):
        backup.unlink()
    changed(places, client=client, scope=scope, remove=True)
    assert path.read_text() == text


@pytest.mark.parametrize("client", HOOKS)
def test_a_variable_puts_the_file_elsewhere(tmp_path: Path, client: str) -> None:
    moved = HOOKS[client].moved
    variables = {} if moved is None else {moved[0]: str(tmp_path / "else where")}
    places = Places(platform="linux", home=tmp_path, cwd=tmp_path, variables=variables)
    path = location(HOOKS[client], "user", places)
    assert path.is_relative_to(tmp_path / "else where") is (moved is not None)


def test_on_windows_the_command_is_quoted_as_its_shells_read_it(tmp_path: Path) -> None:
    places = Places(platform="win32", home=tmp_path, cwd=tmp_path, variables={})
    for _ in range(2):
        hooks = changed(places)["hooks"]
    (entry,) = entries_of(hooks["SessionEnd"])
    assert entry["command"].startswith('"/opt/my tools/minutebook" hook claude-code')
    assert "hooks" not in changed(places, remove=True)


@pytest.mark.parametrize("client", ["copilot", "vscode", "opencode"])
def test_a_file_that_is_ours_alone_goes_again(places: Places, client: str) -> None:
    entered = plan(client, places)
    apply(entered)
    assert entered.path.exists()
    apply(plan(client, places, remove=True))
    assert list(entered.path.parent.iterdir()) == []
    assert not plan(client, places, remove=True).changed


def test_clients_that_read_one_file_have_one_hook_in_it(places: Places) -> None:
    apply(plan("copilot", places))
    assert not plan("vscode", places).changed


def test_the_plugin_runs_the_command_word_by_word(places: Places) -> None:
    text = plan("opencode", places).after
    (line,) = [line for line in text.splitlines() if line.startswith("const COMMAND")]
    assert json.loads(line.partition("=")[2]) == command("opencode")
    assert text.isascii()


def test_what_others_entered_stays(places: Places) -> None:
    path = places.home / ".claude" / "settings.json"
    path.parent.mkdir(parents=True)
    others: dict[str, Any] = {
        "model": "opus",
        "hooks": {
            "SessionStart": [
                {"matcher": "startup", "hooks": [{"type": "command", "command": "greet"}]}
            ],
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "hook claude-code"}]}
            ],
        },
    }
    path.write_text(json.dumps(others, indent=4))
    entered = changed(places)
    assert entered["hooks"]["SessionStart"][0] == others["hooks"]["SessionStart"][0]
    assert '\n    "model"' in path.read_text()
    for backup in path.parent.glob("*.bak"):
        backup.unlink()
    assert changed(places, remove=True) == others


def test_a_file_that_held_nothing_else_is_left_empty(places: Places) -> None:
    changed(places, scope="project")
    assert changed(places, remove=True, scope="project") == {}


@pytest.mark.parametrize(
    "text", ["[1]", "{", '{"hooks": 3}', '{"hooks": {"SessionEnd": {}}}', "[" * 100_000]
)
def test_settings_that_are_none_are_refused_and_stay(places: Places, text: str) -> None:
    path = places.home / ".claude" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(InvalidInput, match="must"):
        changed(places)
    assert path.read_text() == text


def test_a_client_without_hooks_is_named(places: Places) -> None:
    with pytest.raises(InvalidInput, match=r"one that has hooks: claude-code.*Zed has none"):
        plan_hooks("zed", command=["minutebook"], scope="user", places=places)
    with pytest.raises(InvalidInput, match="one that has hooks: claude-code"):
        plan_hooks("nothing", command=["minutebook"], scope="user", places=places)


def test_the_variables_of_transcripts_are_those_of_the_readers() -> None:
    assert {name: of.place.variable for name, of in TRANSCRIPTS.items()} == FOLDERS
    assert set(CLIENTS) == {each.command_name for each in HOOKS.values()}


def test_every_event_that_is_entered_is_known() -> None:
    for client in HOOKS.values():
        assert set(client.events) <= set(MOMENTS)
    ends = {name for name, moment in MOMENTS.items() if moment in (HookMoment.TURN, HookMoment.END)}
    assert ends == NOT_AWAITED
