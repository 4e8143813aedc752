"""`setup` finds the clients of this machine, and enters the server and hooks of those a person says yes to."""

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


def test_setup_enters_the_clients_that_are_here(run: Run, machine: Path) -> None:
    shown = run("setup", "--dry-run").output
    assert [line for line in shown.splitlines() if not line.startswith(" ")] == [
        "Claude Code",
        "Cursor",
        "Nothing was done.",
    ]
    assert not (machine / ".claude.json").exists()
    done = run("setup", "--yes")
    assert done.exit_code == 0, done.output
    assert "--scope-from-folder" in (machine / ".claude.json").read_text(encoding="utf-8")
    assert "hook claude-code" in (machine / ".claude" / "settings.json").read_text(encoding="utf-8")
    assert (machine / ".cursor" / "mcp.json").exists()
    assert "Now ask your agent" in done.output
    again = run("setup").output
    assert again.count("has Minutebook already, in") == 4
    assert "[y/N]" not in again


def test_a_no_leaves_a_client_as_it_is(run: Run, machine: Path) -> None:
    done = run("setup", input="n\ny\n")
    assert done.exit_code == 0, done.output
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
