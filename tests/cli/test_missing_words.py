"""Commands that lack something, or are mistyped, say what: nobody waits for an answer that cannot come."""

import subprocess
from pathlib import Path

import pytest

from tests.config.folders.test_finding import git, repository, with_commit
from tests.terminal import Run


@pytest.mark.parametrize(
    ("typed", "exit_code", "said"),
    [
        pytest.param(("instal",), 2, "'install'", marks=pytest.mark.needs("install")),
        (("serch", "x"), 2, "'search'"),
        (("settings", "sett", "x"), 2, "'set'"),
        (("settings", "set", "recall_tokens", "-1"), 1, "recall_tokens must be"),
        pytest.param(
            ("settings", "set", "review_window", "-0.5"),
            1,
            "review_window must be",
            marks=pytest.mark.needs("ledger"),
        ),
        pytest.param(
            ("import", "foo"), 1, "one of claude-code, ", marks=pytest.mark.needs("importers")
        ),
        pytest.param(
            ("decide", "--title", "x"),
            1,
            "give --target, --rationale as well",
            marks=pytest.mark.needs("ledger"),
        ),
        pytest.param(
            ("decide", "--title", "x", "--target", "y"),
            1,
            "give --rationale as well",
            marks=pytest.mark.needs("ledger"),
        ),
    ],
)
def test_what_is_missing_or_mistyped_is_named(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    typed: tuple[str, ...],
    exit_code: int,
    said: str,
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "vi")
    done = run(*typed)
    assert (done.exit_code, done.stdout) == (exit_code, "")
    assert said in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.needs("ledger")
def test_without_a_terminal_no_editor_is_opened(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr(subprocess, "Popen", None)
    id = run("remember", "The port is 1.").stdout.strip()
    done = run("edit", id)
    assert done.exit_code == 1
    assert "without a terminal" in done.stderr


@pytest.mark.needs("why", "citations")
def test_history_is_told_without_a_store(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "project")
    (folder / "a.py").write_text("x = 1\n")
    git(folder, "add", ".")
    with_commit(folder)
    monkeypatch.chdir(folder)
    assert "commit" in run("why", "a.py:1").stdout
    assert "Nothing that is remembered cites what changed." in run("check").stdout
    assert not (tmp_path / "home").exists()
