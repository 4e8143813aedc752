"""`setup` and `import` by themselves tell what is on this machine, and bring in what a person says yes to."""

import json
from pathlib import Path

import pytest

from tests.features.importers.sources.transcripts import claude_session, lines
from tests.terminal import Run


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with transcripts of Claude Code, and instructions in the folder that is open."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    lines(tmp_path / ".claude" / "projects" / "p" / "s.jsonl", *claude_session())
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "CLAUDE.md").write_text(
        "# Tests\n\nAlways run them first.\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path


def test_setup_brings_in_each_source_once(run: Run, machine: Path) -> None:
    shown = run("setup", "--dry-run")
    assert (shown.exit_code, (machine / "home").exists()) == (0, False), shown.output
    assert "1 session of Claude Code\n  in " in shown.output
    assert "to bring them in takes some seconds" in shown.output
    assert "1 file of instructions for agents" in shown.output
    done = run("setup", "--yes")
    assert done.exit_code == 0, done.output
    assert "Imported 2 records (turn 2)" in done.output
    assert "Summed up 1 session: `minutebook sessions`." in done.output
    assert "no summary yet" not in run("sessions").output
    assert "run them first" in run("list").output
    again = run("setup", "--yes").output
    assert again.count("all here already") == 2
    assert "Imported" not in again


def test_setup_asks_for_each_step(run: Run, machine: Path) -> None:
    answers = iter("nnnnnn")
    done = run("setup", input="\n".join(answers) + "\n")
    assert done.exit_code == 0, done.output
    assert done.output.count("Bring them in? [y/N]") == 2
    assert not (machine / ".claude.json").exists()
    assert "here already" not in run("setup", "--dry-run").output


def test_import_alone_says_what_is_there_of_each_source(run: Run, machine: Path) -> None:
    told = {row["source"]: row for row in json.loads(run("import", "--json").output)}
    assert told["claude-code"]["files"] == 1
    assert told["codex"]["files"] == 0
    assert told["mem0"]["path"] is None
    said = run("import").output
    assert "1 file in" in said
    assert "minutebook import mem0 PATH" in said


def test_instructions_of_the_projects_that_sessions_name_are_found_from_anywhere(
    run: Run, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine / "CLAUDE.md").write_text("The home folder is no project.", encoding="utf-8")
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(machine / "shop"))
    (machine / ".claude" / "projects" / name).mkdir()
    monkeypatch.chdir(machine)
    assert f"in {machine / 'shop'}; to bring them in" in run("setup", "--dry-run").output
