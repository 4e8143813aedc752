"""Hooks in a client's settings: entered once, taken out again, beside those of others."""

import json
from pathlib import Path
from typing import Any

import pytest

from minutebook.domain.errors import InvalidInput
from minutebook.install.clients import Places, Scope, apply
from minutebook.install.hooks import HOOKS, plan_hooks
from tests.world import NOON

COMMAND = ["/opt/my tools/minutebook", "hook", "claude-code", "--home", "/srv/a b"]
EVENTS = HOOKS["claude-code"].events


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(platform="linux", home=tmp_path / "home", cwd=tmp_path / "project", variables={})


def changed(places: Places, *, remove: bool = False, scope: Scope = "user") -> dict[str, Any]:
    plan = plan_hooks(
        "claude-code", command=COMMAND, scope=scope, places=places, now=NOON, remove=remove
    )
    apply(plan)
    settings: dict[str, Any] = json.loads(plan.after or "{}")
    return settings


def test_each_event_has_one_entry_however_often_it_is_entered(places: Places) -> None:
    first = changed(places)
    assert changed(places) == first
    assert set(first["hooks"]) == set(EVENTS)
    for groups in first["hooks"].values():
        ((entry,),) = (group["hooks"] for group in groups)
        assert entry["command"] == "'/opt/my tools/minutebook' hook claude-code --home '/srv/a b'"


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
    with pytest.raises(InvalidInput, match="one that has hooks: claude-code"):
        plan_hooks("cursor", command=COMMAND, scope="user", places=places, now=NOON)
