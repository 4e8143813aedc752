"""`setup` finds the clients of this machine, and enters the server and hooks of those a person says yes to."""

import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.terminal import Run


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which Claude Code and Cursor were run."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for folder in (".claude", ".cursor"):
        (tmp_path / folder).mkdir()
    return tmp_path


@pytest.mark.needs("code", "ledger")
def test_setup_enters_the_clients_that_are_here(run: Run, machine: Path) -> None:
    shown = run("setup", "--dry-run").output
    assert [line for line in shown.splitlines() if not line.startswith(" ")] == [
        "Claude Code: the server and hooks",
        "Claude Code: a skill that says when to recall and when to keep",
        "Claude Code: get_memory, recall, search_code, search_decisions without being asked each time",
        "Cursor: the server and hooks",
        "Cursor: a skill that says when to recall and when to keep",
        "Nothing was done.",
    ]
    assert not (machine / ".claude.json").exists()
    done = run("setup", "--yes")
    assert done.exit_code == 0, done.output
    assert "--scope-from-folder" in (machine / ".claude.json").read_text(encoding="utf-8")
    assert "hook claude-code" in (machine / ".claude" / "settings.json").read_text(encoding="utf-8")
    assert (machine / ".cursor" / "mcp.json").exists()
    assert (
        "Done. Start a new session; /mcp shows the connection. /hooks lists them.\n" in done.output
    )
    assert "Now ask your agent" in done.output
    settings = json.loads((machine / ".claude" / "settings.json").read_text(encoding="utf-8"))
    assert "mcp__minutebook__recall" in settings["permissions"]["allow"]
    assert not any("store" in each for each in settings["permissions"]["allow"])
    for folder in (".claude", ".agents"):
        skill = machine / folder / "skills" / "minutebook" / "SKILL.md"
        assert skill.read_text(encoding="utf-8").startswith("---\nname: minutebook")
    again = run("setup").output
    assert again.count(f"has the server and hooks since {datetime.now(UTC):%Y-%m-%d}, in ") == 2
    assert "[y/N]" not in again


@pytest.mark.needs("code", "ledger")
def test_a_client_that_is_taken_out_loses_skill_and_permission(run: Run, machine: Path) -> None:
    settings = machine / ".claude" / "settings.json"
    mine = {"permissions": {"allow": ["Bash(ls)"], "deny": ["WebFetch"]}, "model": "opus"}
    settings.write_text(json.dumps(mine), encoding="utf-8")
    run("setup", "--yes")
    assert len(json.loads(settings.read_text(encoding="utf-8"))["permissions"]["allow"]) == 5
    done = run("install", "claude-code", "--remove")
    assert done.exit_code == 0, done.output
    assert json.loads(settings.read_text(encoding="utf-8")) == mine
    assert not (machine / ".claude" / "skills" / "minutebook" / "SKILL.md").exists()
    assert (machine / ".agents" / "skills" / "minutebook" / "SKILL.md").exists()


@pytest.mark.needs("code", "ledger")
def test_permission_is_noted_where_each_client_keeps_it(run: Run, machine: Path) -> None:
    (machine / ".gemini").mkdir()
    (machine / ".kiro" / "settings").mkdir(parents=True)
    assert run("setup", "--yes").exit_code == 0
    rule = tomllib.loads((machine / ".gemini" / "policies" / "minutebook.toml").read_text())["rule"]
    tools = ["get_memory", "recall", "search_code", "search_decisions"]
    assert [(each["mcpName"], each["toolName"]) for each in rule] == [("minutebook", tools)]
    entry = json.loads((machine / ".kiro" / "settings" / "mcp.json").read_text())["mcpServers"]
    assert entry["minutebook"]["autoApprove"] == tools
    assert "args" in entry["minutebook"]
    assert "[y/N]" not in run("setup").output
    assert run("install", "gemini", "--remove").exit_code == 0
    assert not (machine / ".gemini" / "policies" / "minutebook.toml").exists()


def test_a_no_leaves_a_client_as_it_is(run: Run, machine: Path) -> None:
    done = run("setup", input="n\ny\n")
    assert "The steps before this one are taken" in done.output
    assert not (machine / ".claude.json").exists()
    assert (machine / ".cursor" / "mcp.json").exists()


def test_a_file_that_cannot_be_read_is_told_and_left(run: Run, machine: Path) -> None:
    path = machine / ".cursor" / "mcp.json"
    path.write_text("{", encoding="utf-8")
    done = run("setup", "--yes")
    assert done.exit_code == 0, done.output
    assert str(path) in done.output
    assert path.read_text(encoding="utf-8") == "{"


def test_without_a_client_setup_says_where_their_names_are(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert "No client that we know is on this machine" in run("setup").output
