"""Sources as a person imports them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.features.importers.sources.transcripts import (
    SESSION,
    claude_session,
    codex_session,
    lines,
    message,
)
from tests.terminal import Run
from tests.world import wait_until


def done(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refused(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    return result.output


@pytest.mark.needs("audit_proof", "journal")
def test_transcripts_come_from_their_usual_place_once(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    folder = tmp_path / ".claude" / "projects" / "p"
    path = lines(folder / "s.jsonl", *claude_session())
    assert "Would import 2 records (turn 2)" in done(run, "import", "claude-code", "--dry-run")
    assert not (tmp_path / "home").exists()
    assert "Imported 2 records (turn 2)" in done(run, "import", "claude-code")
    assert "turn 2): here already" in done(run, "import", "claude-code")
    with path.open("a") as file:
        file.write(json.dumps(message("user", "u3", 20, "And now?")) + "\nbroken\n")
    told = json.loads(done(run, "import", "claude-code", "--json"))
    assert (told["counts"]["new"], told["counts"]["here"]) == ({"turn": 1}, {"turn": 2})
    (part,) = told["left_out"]
    assert part["reason"] == "the line is not JSON in UTF-8"
    assert (part["place"]["file"], part["place"]["line"]) == (str(path), 13)
    assert "Why does the parser fail?" in done(run, "sessions", SESSION)
    assert "sound" in done(run, "audit", "verify")


def test_what_is_left_out_is_counted_by_reason(run: Run, tmp_path: Path) -> None:
    lines(tmp_path / "s.jsonl", 1, 2, message("user", "u", 1, "?"))
    said = done(run, "import", "claude-code", "s.jsonl", "--dry-run")
    assert f"2 × the line is not a JSON object (first: {tmp_path / 's.jsonl'}:1)" in said


def test_a_usual_place_may_be_moved(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "moved"))
    assert "moved/sessions" in refused(run, "import", "codex").replace("\\", "/")
    lines(tmp_path / "moved" / "sessions" / "rollout-1.jsonl", *codex_session())
    assert "turn 1" in done(run, "import", "codex")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("claude-code", "nowhere"), "must exist"),
        (("what", "x.jsonl"), "SOURCE"),
        (("claude-code", "a", "b"), "one file or one folder"),
        (("claude-code", "a", "--replace"), "--replace"),
        (("all.jsonl", "--dry-run"), "--dry-run"),
    ],
)
def test_what_does_not_fit_is_named(begun: Run, arguments: tuple[str, ...], said: str) -> None:
    assert said in refused(begun, "import", *arguments)


@pytest.mark.thorough
def test_an_import_that_is_killed_goes_on(begun: Run, tmp_path: Path) -> None:
    turns = [message("user", f"u{n}", n % 60, f"Question {n}") for n in range(700)]
    os.mkfifo(tmp_path / "gate")
    path = lines(tmp_path / "s.jsonl", *turns)
    # The reader stands still at a gate in the middle, which nobody opens.
    script = f"""
import itertools
from minutebook.features.importers.sources import claude_code
from minutebook.features.importers.sources.reading.files import ImportSource

objects = ImportSource.objects

def gated(source, file):
    yield from itertools.islice(objects(source, file), 600)
    open({str(tmp_path / "gate")!r}).read()

ImportSource.objects = gated
from minutebook.cli import main
main(["import", "claude-code", {str(path)!r}])
"""
    process = subprocess.Popen([sys.executable, "-c", script], env=os.environ)
    try:
        wait_until(lambda: len(json.loads(done(begun, "sessions", "--json"))) == 1)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    told = json.loads(done(begun, "import", "claude-code", str(path), "--json"))
    assert (told["counts"]["new"], told["counts"]["here"]) == ({"turn": 200}, {"turn": 500})
    assert "sound" in done(begun, "audit", "verify")
