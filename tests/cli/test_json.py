"""`--json` of commands that act: one option of the frame, which prints what the command returns."""

import inspect
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minutebook.cli.answering import OWN_OUTPUT
from tests.features.ledger.test_cli import propose
from tests.terminal import Run, leaf_commands, remembered

Words = tuple[str, ...]

REASON = ("--reason", "It moved.")

ELSEWHERE = {
    ("migrate",): "needs a server",
    ("store", "distribute"): "needs a cluster",
    ("daemon", "restart"): "starts a process",
}
"""Commands of the frame's option that are not run here, and why."""


def _framed() -> dict[Words, Any]:
    return {
        words: command
        for words, command in leaf_commands()
        if any("--json" in each.opts and not each.expose_value for each in command.params)
    }


def _answer(run: Run, *words: str, **options: Any) -> Any:
    done = run(*words, "--json", **options)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.whole
def test_every_command_but_servers_has_it() -> None:
    without = {
        words[0]
        for words, command in leaf_commands()
        if not any("--json" in each.opts for each in command.params)
    }
    assert without == OWN_OUTPUT


@pytest.mark.parametrize("words", sorted(_framed()), ids=" ".join)
def test_a_command_of_the_frame_returns_what_it_prints(words: Words) -> None:
    function = inspect.unwrap(_framed()[words].callback)
    assert inspect.signature(function).return_annotation not in (None, inspect.Signature.empty)


Act = Callable[[Run, str], Any]


def _memory(*words: str) -> Act:
    def act(run: Run, id: str) -> None:
        told = _answer(run, words[0], id, *words[1:])
        assert told["id"] == id
        assert told["content"] == "Tea at five."
        assert {"kind", "status", "type", "scope", "author", "version", "updated_at"} <= set(told)

    return act


def _edited(run: Run, id: str) -> None:
    told = _answer(run, "edit", id)
    assert (told["id"], told["content"], told["version"]) == (id, "Tea at six.", 2)


def _forgotten(run: Run, id: str) -> None:
    assert _answer(run, "forget", id, "--yes") == {"id": id, "deleted": True}
    # What a person is shown before they are asked is not on stdout.
    other = remembered(run, "Tea at ten.")
    assert _answer(run, "forget", other, input="y\n")["id"] == other


def _undone(run: Run, id: str) -> None:
    run("invalidate", id, *REASON)
    told = _answer(run, "undo", "--yes")
    assert (told["act"], told["records"]) == ("undo", {"memory": 1})
    assert _answer(run, "undo", "--list")[0]["number"] == told["number"]


def _unlocked(run: Run, id: str) -> None:
    _answer(run, "mark", id, "lock", "--role", "manager")
    assert _answer(run, "mark", id, "unlock", "--role", "manager")["status"] == "active"


def _linked(run: Run, id: str) -> None:
    other = remembered(run, "Cake at five.")
    told = _answer(run, "link", id, other)
    assert (told["source"], told["target"], told["type"]) == (*sorted((id, other)), "related")


def _accepted(run: Run, id: str) -> None:
    _answer(run, "ledger", "secret", "--role", "admin", input="long secret\nlong secret\n")
    made = propose(run, "tea", "Tea at five")
    variables = {"AGENT_MEMORY_SECRET": "long secret", "MINUTEBOOK_REVIEW_WINDOW": "0"}
    told = _answer(run, "accept", made, "--role", "admin", env=variables)
    assert (told["kind"], told["target"], told["status"]) == ("decision", "tea", "active")


def _exported(run: Run, id: str) -> None:
    told = _answer(run, "export", "all.jsonl")
    assert told["counts"]["memory"] == 1
    assert Path(told["path"]).is_file()


def _restored(run: Run, id: str) -> None:
    made = _answer(run, "backup", "all.tar")
    assert Path(made["path"]).stat().st_size == made["size"]
    told = _answer(run, "restore", made["path"], "--replace")
    assert told["digest"] == made["digest"]
    _answer(run, "invalidate", id, *REASON)
    assert _answer(run, "restore", id, "--version", "1")["id"] == id


def _encrypted(run: Run, id: str) -> None:
    run("settings", "set", "key", f"file:{Path.cwd() / 'keys'}")
    assert _answer(run, "encrypt")["key"]
    assert _answer(run, "encrypt", "--off")["key"] is None


def _set(run: Run, id: str) -> None:
    told = _answer(run, "settings", "set", "recall_tokens", "500")
    assert (told["name"], told["value"]) == ("recall_tokens", "500")
    assert _answer(run, "settings", "unset", "recall_tokens")["value"] is None


def _revoked(run: Run, id: str) -> None:
    made = _answer(run, "token", "create", "--name", "ana")
    told = _answer(run, "token", "revoke", made["token"]["id"])
    assert told["id"] == made["token"]["id"]
    assert told["revoked_at"] is not None
    assert "digest" not in told


def _signed(run: Run, id: str) -> None:
    told = _answer(run, "audit", "key", "--to", str(Path.cwd() / "trail.key"))
    assert told["public"] in run("audit", "verify").output
    assert _answer(run, "audit", "sign") == {"signed": True}


def _installed(run: Run, id: str) -> None:
    (told,) = _answer(run, "install", "cursor", "--project")
    assert (told["client"], told["changed"]) == ("cursor", True)
    assert "minutebook" in Path(told["path"]).read_text(encoding="utf-8")


def _stopped(run: Run, id: str) -> None:
    assert _answer(run, "daemon", "stop") == {"stopped": []}


ACTS: dict[Words, Act] = {
    ("edit",): _edited,
    ("invalidate",): _memory("invalidate", *REASON),
    ("forget",): _forgotten,
    ("undo",): _undone,
    ("mark",): _unlocked,
    ("link",): _linked,
    ("accept",): _accepted,
    ("ledger", "secret"): _accepted,
    ("export",): _exported,
    ("backup",): _restored,
    ("restore",): _restored,
    ("encrypt",): _encrypted,
    ("settings", "set"): _set,
    ("settings", "unset"): _set,
    ("token", "revoke"): _revoked,
    ("audit", "key"): _signed,
    ("audit", "sign"): _signed,
    ("install",): _installed,
    ("daemon", "stop"): _stopped,
}


@pytest.mark.whole
def test_each_command_of_the_frame_is_tried_or_named() -> None:
    assert set(ACTS) | set(ELSEWHERE) == set(_framed())


@pytest.mark.parametrize("words", [each for each in ACTS if each in _framed()], ids=" ".join)
def test_an_act_answers_in_json(
    words: Words, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = ACTS[words]
    if act is _edited and os.name == "nt":
        pytest.skip("the editor is a script")
    monkeypatch.chdir(tmp_path)
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\npathlib.Path(sys.argv[1]).write_text('Tea at six.')\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {editor}")
    act(run, remembered(run, "Tea at five."))


@pytest.mark.needs("hooks")
def test_what_hooks_did_is_told_in_json(run: Run) -> None:
    assert run("settings", "set", "hooks", "off").exit_code == 0
    remembered(run, "Tea at five.")
    assert _answer(run, "hook")["hooks"] == "off"
