"""`minutebook install` on an empty home: every client, with and without hooks, fresh, again, taken out."""

import itertools
import json
from pathlib import Path

import pytest

from minutebook.features.install.hooks import HOOKS, Form
from minutebook.features.install.known_clients import CLIENTS
from tests.terminal import Run, typed

REMOTE = ["--url", "https://memory.example.org", "--token-env", "TEAM_TOKEN"]
CASES = [
    (client, hooks, remote)
    for client, hooks, remote in itertools.product(CLIENTS, (False, True), (False, True))
    if (client in HOOKS or not hooks)
    and (
        not remote
        or ((found := CLIENTS[client].remote) and (found.variable or found.token_variable))
    )
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A machine on which nothing was ever installed."""
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "project").mkdir()
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "COPILOT_HOME",
        "XDG_CONFIG_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path / "project")
    return typed


def _files(tmp_path: Path) -> dict[Path, str]:
    return {
        path: path.read_text(encoding="utf-8")
        for path in tmp_path.rglob("*")
        if path.is_file() and path.suffix != ".bak"
    }


@pytest.mark.parametrize(("client", "hooks", "remote"), CASES)
def test_each_client_is_entered_once_and_taken_out_again(
    run: Run, tmp_path: Path, client: str, hooks: bool, remote: bool
) -> None:
    words = [client, *["--hooks"] * hooks]
    if CLIENTS[client].user is None:
        words.append("--project")
    shown = run("install", *words, *REMOTE * remote, "--dry-run")
    assert (shown.exit_code, _files(tmp_path)) == (0, {}), shown.output
    fresh = run("install", *words, *REMOTE * remote)
    assert fresh.exit_code == 0, fresh.output
    entered = _files(tmp_path)
    told = "\n".join(entered.values())
    assert "minutebook" in told
    assert ("https://memory.example.org/mcp" in told) is remote
    assert f"hook {HOOKS[client].command_name}" in told.replace('", "', " ") if hooks else True
    again = run("install", *words, *REMOTE * remote)
    assert again.exit_code == 0, again.output
    assert _files(tmp_path) == entered
    assert "Wrote" not in again.output
    if hooks:
        assert run("install", *words, "--remove").exit_code == 0
        assert not _hooked(tmp_path)
    removed = run("install", *[word for word in words if word != "--hooks"], "--remove")
    assert removed.exit_code == 0, removed.output
    assert "minutebook" not in "\n".join(_files(tmp_path).values())
    assert run("install", *words, "--remove").exit_code == 0


def _hooked(tmp_path: Path) -> bool:
    return any(" hook " in text or '"hook"' in text for text in _files(tmp_path).values())


def test_a_file_that_servers_and_hooks_share_is_written_once_and_kept_once(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "home" / ".gemini" / "settings.json"
    path.parent.mkdir()
    before = {"theme": "dark", "hooks": {"Other": []}, "mcpServers": {"other": {"command": "x"}}}
    path.write_text(json.dumps(before, indent=2) + "\n")
    done = run("install", "gemini", "--hooks")
    assert done.output.count("Wrote") == 1
    (backup,) = path.parent.glob("*.bak")
    assert json.loads(backup.read_text()) == before
    settings = json.loads(path.read_text())
    assert set(settings["mcpServers"]) == {"other", "minutebook"}
    assert {"SessionStart", "BeforeAgent", "SessionEnd"} <= set(settings["hooks"])
    backup.unlink()
    assert run("install", "gemini", "--remove").exit_code == 0
    assert json.loads(path.read_text()) == before


def test_every_form_of_hooks_is_tried() -> None:
    tried = {HOOKS[client].form for client, hooks, _ in CASES if hooks}
    assert tried == set(Form)
