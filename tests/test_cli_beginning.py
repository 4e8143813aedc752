"""Where a store begins, what is said where there is none, and what Ctrl-C leaves."""

import _thread
import io
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any

import click
import pytest

from minutebook.__main__ import main as start
from minutebook.cli.progress import interruptible
from minutebook.serve.invocation import INTERRUPTED
from tests.examples import parametrize_in_part
from tests.terminal import Run, leaf_commands, remembered

BEGIN = {
    ("remember",),
    ("decide",),
    ("index",),
    ("import",),
    ("migrate",),
    ("ledger", "rebuild"),
    ("ledger", "secret"),
    ("sync",),
    ("token", "create"),
}
"""The commands that bring something in, with which a store may begin."""

OPEN_NONE = {
    ("serve",),
    ("ui",),
    ("demo",),
    ("install",),
    ("setup",),
    ("help",),
    ("export-schema",),
    ("hook",),
    ("where",),
    ("check",),
    ("why",),
    ("settings",),
    ("settings", "set"),
    ("settings", "unset"),
    ("daemon", "status"),
    ("daemon", "stop"),
}
READ = {words: each for words, each in leaf_commands() if words not in BEGIN | OPEN_NONE}


def minimal(command: click.Command) -> list[str]:
    """What a command has to be given."""
    wanted = [each for each in command.params if each.required]
    options = [
        word for each in wanted if isinstance(each, click.Option) for word in (each.opts[0], "x")
    ]
    arguments = [
        next(iter(each.type.choices)) if isinstance(each.type, click.Choice) else "x"
        for each in wanted
        if isinstance(each, click.Argument)
    ]
    # Theirs may be left out, in favour of an option.
    return [*options, *arguments, *["x"] * (command.name in ("backup", "revoke"))]


@pytest.mark.whole
def test_the_lists_name_commands_that_there_are() -> None:
    assert {words for words, _ in leaf_commands()} >= BEGIN | OPEN_NONE
    assert READ


@parametrize_in_part("words", READ, ids=" ".join)
def test_no_store_begins_in_a_folder_that_was_mistyped(
    run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    typo = tmp_path / "typo"
    result = run(*words, *minimal(READ[words]), "--home", str(typo))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"minutebook: there is no store in {typo}; ")
    assert "`minutebook remember` begins one" in result.stderr
    assert not typo.exists()


def test_a_store_begins_with_what_is_remembered(run: Run, tmp_path: Path) -> None:
    assert run("list").exit_code == 1
    assert run("remember", "tea at five").exit_code == 0
    assert "tea at five" in run("list").output
    assert (tmp_path / "home" / "minutebook.db").exists()


def test_ctrl_c_is_told_from_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended, interruptible("Stopped. Half is kept."):
        raise KeyboardInterrupt
    assert ended.value.code == INTERRUPTED == 130
    assert capsys.readouterr().err == "\nStopped. Half is kept.\n"


class _CtrlC(io.RawIOBase):
    """A terminal at which the person types Ctrl-C."""

    def readable(self) -> bool:
        return True

    def readinto(self, _: Any) -> int:
        raise KeyboardInterrupt


def ctrl_c() -> io.BufferedReader:
    return io.BufferedReader(_CtrlC())


def test_ctrl_c_in_any_command_says_what_state_things_are_in(run: Run) -> None:
    stopped = run("remember", "-", input=ctrl_c())
    assert stopped.exit_code == INTERRUPTED
    assert "The change under way, if any, was made whole or not at all." in stopped.stderr
    assert "Aborted" not in stopped.output


class CtrlCAt:
    """Types Ctrl-C when a function of click or the command line is first called; names those called."""

    def __init__(self, function: str | None = None) -> None:
        self.called: dict[str, None] = {}
        self._function = function

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        # What the test runner opened is closed at any time, by the collector.
        if module.startswith(("click.", "minutebook.cli")) and module != "click.testing":
            self.called[function] = None
            if function == self._function:
                sys.settrace(None)
                raise KeyboardInterrupt


@pytest.mark.needs("code")
def test_ctrl_c_at_any_moment_ends_with_130_and_a_sentence(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["minutebook", "help", "where"])

    def ended(trace: CtrlCAt) -> tuple[object, str]:
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            with pytest.raises(SystemExit) as end:
                start()
        finally:
            sys.settrace(before)
        return end.value.code, capsys.readouterr().err

    ended(CtrlCAt())  # What click keeps from the first time on is called no more.
    undisturbed = CtrlCAt()
    assert ended(undisturbed) == (None, "")
    told = {function: ended(CtrlCAt(function)) for function in undisturbed.called}
    assert len(told) > 50
    assert {
        function: end
        for function, end in told.items()
        if end[0] != INTERRUPTED or not end[1].startswith("\nStopped. ")
    } == {}


def test_a_question_that_is_answered_with_no_or_ctrl_c_changes_nothing(run: Run) -> None:
    id = remembered(run, "tea at five")
    for typed, status in (("n\n", 1), (ctrl_c(), INTERRUPTED)):
        stopped = run("forget", id, input=typed)
        assert (stopped.exit_code, stopped.stderr.strip()) == (
            status,
            "Stopped. Nothing was changed.",
        )
    assert "tea at five" in run("show", id).output


class _Interrupting(BaseHTTPRequestHandler):
    """A service for embeddings at which the person types Ctrl-C once it is asked for the code."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if any("Kettle" in text for text in asked["input"]):
            _thread.interrupt_main()
        vectors = [{"index": n, "embedding": [1.0, 0.0]} for n, _ in enumerate(asked["input"])]
        content = json.dumps({"data": vectors}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def interrupting_service() -> Iterator[str]:
    # Where SIGINT is ignored, as in a background job of a shell, interrupt_main does nothing.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Interrupting) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
    signal.signal(signal.SIGINT, before)


@pytest.mark.needs("code", "models")
def test_ctrl_c_in_index_says_that_the_work_is_kept_and_how_it_goes_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "code"
    root.mkdir()
    (root / "kettle.py").write_text("class Kettle:\n    def boil(self):\n        return 100\n")
    with interrupting_service() as url:
        monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "endpoint")
        monkeypatch.setenv("MINUTEBOOK_ENDPOINT_URL", url)
        monkeypatch.setenv("MINUTEBOOK_ENDPOINT_MODEL", "two")
        stopped = run("index", "code")
    assert stopped.exit_code == INTERRUPTED
    assert "What was read of the folder is kept" in stopped.stderr
    assert "`minutebook index code` goes on from there." in stopped.stderr
    assert "Aborted" not in stopped.output
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "none")
    assert "kettle.py:1" in run("code", "Kettle").output
