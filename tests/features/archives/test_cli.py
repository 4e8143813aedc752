"""Export, import, backup and restore as a person types them."""

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples import parametrize_in_part
from tests.line_client import LineClient
from tests.terminal import Run, remembered


def done(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refused(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    return result.output


def decide(run: Run, target: str = "store", *options: str) -> None:
    why = "It is embedded and needs no server"
    said = ("--target", target, "--title", f"Use one {target}", "--rationale", why)
    done(run, "decide", *said, *options)


def listed(run: Run, *options: str) -> list[str]:
    return sorted(
        each["content"] for each in json.loads(done(run, "list", "--json", *options))["memories"]
    )


# Lines of JSON


@pytest.mark.needs("audit_proof")
def test_a_whole_store_goes_to_another_place_with_its_trail(run: Run, tmp_path: Path) -> None:
    id = remembered(run, "tea at five")
    decide(run)
    assert "memory 1" in done(run, "export", "all.jsonl")
    other = ("--home", str(tmp_path / "other"))
    said = done(run, "import", "all.jsonl", *other)
    assert "memory 1" in said
    assert "decision 1" in said
    assert "the same command with --own" in said
    assert "Use one store" not in done(run, "decisions", *other)
    assert "Use one store" in done(run, "decisions", "--proposed", *other)
    done(run, "import", "all.jsonl", "--own", *other)
    assert "tea at five" in done(run, "show", id, *other)
    assert "sound" in done(run, "audit", "verify", *other)
    assert "here already" in done(run, "import", "all.jsonl", *other)
    assert "Use one store" in done(run, "decisions", *other)


def test_an_archive_that_does_not_hold_is_refused_by_line(run: Run, tmp_path: Path) -> None:
    remembered(run, "tea at five")
    done(run, "export", "all.jsonl")
    path = tmp_path / "all.jsonl"
    path.write_bytes(path.read_bytes().replace(b"tea at five", b"tea at six!"))
    said = refused(run, "import", "all.jsonl")
    assert "all.jsonl, line" in said
    assert "Nothing was changed" in said
    assert "there already" in refused(run, "export", "all.jsonl")
    assert "there is no" in refused(run, "import", "nothing.jsonl")


def test_into_a_governed_store_an_admin_brings_all(run: Run, tmp_path: Path) -> None:
    remembered(run, "tea at five")
    done(run, "export", "all.jsonl")
    other = ("--home", str(tmp_path / "other"))
    done(run, "token", "create", "--name", "ci", *other)
    assert "--role admin" in refused(run, "import", "all.jsonl", *other)
    assert "memory 1" in done(run, "import", "all.jsonl", "--role", "admin", *other)


def test_an_agent_owns_no_store(run: Run, tmp_path: Path) -> None:
    remembered(run, "tea at five")
    done(run, "export", "all.jsonl")
    assert "an agent may not" in refused(run, "import", "all.jsonl", "--role", "agent")


@pytest.mark.needs("audit_proof", "code")
def test_an_index_of_code_is_taken_along_if_that_is_asked_for(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "kettle"
    root.mkdir()
    (root / "kettle.py").write_text("class Kettle:\n    pass\n")
    remembered(run, "tea at five")
    done(run, "index", "kettle")
    said = done(run, "export", "own.jsonl")
    assert "Left out: 1 chunk of code; `minutebook index` makes them again" in said
    assert "chunk" not in said.splitlines()[0]
    said = done(run, "export", "all.jsonl", "--include-derived")
    assert "chunk 1" in said
    assert "Left out" not in said
    for name, found in (("own", "No project is indexed"), ("all", "kettle.py:1")):
        other = ("--home", str(tmp_path / name))
        done(run, "import", f"{name}.jsonl", *other)
        assert found in done(run, "code", "Kettle", *other)
        assert listed(run, *other) == ["tea at five"]
        assert "sound" in done(run, "audit", "verify", *other)


@pytest.mark.parametrize("form", ["contract", "journal"])
@pytest.mark.needs("journal")
def test_sessions_go_out_and_in_by_the_journals_data_model(
    run: Run, tmp_path: Path, form: str
) -> None:
    turn = {
        "id": "mem_1",
        "sessionId": "tea",
        "timestamp": "2026-01-06T12:00:00Z",
        "prompt": "Tea?",
        "thought": "",
        "response": "At five.",
        "type": "agent-interaction",
    }
    (tmp_path / "given.jsonl").write_text(json.dumps(turn) + "\n", encoding="utf-8")
    assert "turn 1" in done(run, "import", "given.jsonl")
    assert "At five." in done(run, "sessions", "tea")
    assert "turn 1" in done(run, "export", "--format", form, "out.jsonl")
    (line,) = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == turn | {"timestamp": "2026-01-06T12:00:00.000000Z"}
    assert "turn 1" in done(run, "import", "out.jsonl", "--home", str(tmp_path / "other"))
    (tmp_path / "given.jsonl").write_text(json.dumps(turn | {"mood": 1}) + "\n", encoding="utf-8")
    said = refused(run, "import", "given.jsonl")
    assert "line 1" in said
    assert "mood" in said


# One file of all


@pytest.mark.parametrize("command", ["export", "backup"])
def test_a_file_in_a_folder_that_is_not_there_is_refused(run: Run, command: str) -> None:
    done(run, "remember", "Tea at five.")
    said = run(command, "none/all.tar")
    assert said.exit_code == 1
    assert "file must be in a folder that exists; make that of" in said.stderr


@pytest.mark.needs("audit_proof")
def test_a_backup_brings_the_whole_directory_back(run: Run, tmp_path: Path) -> None:
    remembered(run, "tea at five")
    decide(run)
    home = tmp_path / "home"
    (home / "config.toml").write_text("review_window = 60\n")
    assert "Backed up" in done(run, "backup", "all")
    backup = tmp_path / "all.tar"
    assert backup.stat().st_mode & 0o777 == 0o600
    with tarfile.open(backup) as tar:
        names = tar.getnames()
    assert {"minutebook.db", "config.toml", "manifest.json"} <= set(names)
    assert names[-1] == "manifest.json"
    assert not [name for name in names if "index" in name.split("/")[0] or "claims" in name]
    other = ("--home", str(tmp_path / "other"))
    done(run, "restore", "all.tar", *other)
    assert listed(run, *other) == ["tea at five"]
    assert "Use one store" in done(run, "decisions", *other)
    assert "60" in done(run, "settings", *other)
    decide(run, "wire", *other)
    assert "sound" in done(run, "audit", "verify", *other)
    assert "restore" in done(run, "audit", *other)


def test_backups_that_rotate_have_a_folder_and_names_of_their_own(run: Run, tmp_path: Path) -> None:
    remembered(run, "tea at five")
    done(run, "settings", "set", "backup_folder", str(tmp_path / "copies"))
    done(run, "settings", "set", "backup_every", "24")
    assert "No backup was made by the schedule yet" in run("doctor").stdout
    assert "restored it for a test" in done(run, "backup", "--rotate")
    (made,) = (tmp_path / "copies").iterdir()
    assert str(made) in done(run, "status")
    assert "next backup" in done(run, "status")
    assert "No backup was made" not in run("doctor").stdout
    done(run, "restore", str(made), "--home", str(tmp_path / "other"))
    assert listed(run, "--home", str(tmp_path / "other")) == ["tea at five"]


@pytest.mark.parametrize("words", [(), ("all.tar", "--rotate")])
def test_a_backup_goes_to_one_place(run: Run, words: tuple[str, ...]) -> None:
    remembered(run, "tea at five")
    assert "PATH or --rotate is needed" in refused(run, "backup", *words)


def test_a_directory_that_holds_something_is_put_aside_when_that_is_asked_for(
    run: Run, tmp_path: Path
) -> None:
    remembered(run, "tea at five")
    decide(run)
    done(run, "backup", "all.tar")
    remembered(run, "coffee at six")
    decide(run, "wire")
    before = sorted(path.name for path in (tmp_path / "home").iterdir())
    assert "not empty (ledger.key, ledgers, minutebook.db)" in refused(run, "restore", "all.tar")
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == before
    done(run, "restore", "all.tar", "--replace")
    assert listed(run) == ["tea at five"]
    assert "wire" not in done(run, "decisions")
    (aside,) = (tmp_path / "home").glob("replaced-*")
    assert sorted(path.name for path in aside.iterdir()) == [
        *("ledger.key", "ledgers", "minutebook.db")
    ]
    assert listed(run, "--home", str(aside)) == ["coffee at six", "tea at five"]
    decide(run, "wire")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("contract", "tool"), [("knowledge", "list_memories"), ("journal", "stop_database")]
)
def test_what_is_in_use_is_not_replaced(run: Run, tmp_path: Path, contract: str, tool: str) -> None:
    remembered(run, "tea at five")
    done(run, "backup", "all.tar")
    server = subprocess.Popen(
        [sys.executable, "-m", "minutebook", "serve", contract],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        client = LineClient(server)
        assert "result" in client.handshake()
        assert not client.call(tool)["result"].get("isError")
        assert "in use" in refused(run, "restore", "all.tar", "--replace")
        assert listed(run) == ["tea at five"]
        assert not list((tmp_path / "home").glob(".restoring*"))
    finally:
        server.communicate(timeout=60)
    remembered(run, "coffee")
    done(run, "restore", "all.tar", "--replace")
    assert listed(run) == ["tea at five"]


@pytest.mark.usefixtures("begun")
def test_restore_says_that_it_is_neither_backup_nor_memory(run: Run) -> None:
    said = refused(run, "restore", "0" * 20)
    assert "must be a backup or a memory's id" in said
    assert "there is no" in refused(run, "restore", "nothing.tar", "--replace")


def members(path: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    with tarfile.open(path) as tar:
        return [(each, tar.extractfile(each).read()) for each in tar]  # type: ignore[union-attr]


def rewritten(path: Path, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None]) -> None:
    """Make a backup anew from its members, changed."""
    held = members(path)
    change(held)
    with tarfile.open(path, "w") as tar:
        for member, content in held:
            member.size = len(content) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(content))


def plain(name: str) -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), b"x"


def link(name: str) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, "/etc"
    return member, b""


@parametrize_in_part(
    ("change", "reason"),
    [
        (lambda held: held.pop(), "before its manifest"),
        (lambda held: held.pop(0), "is not what it was"),
        (lambda held: held.insert(0, plain("more")), "more is not what it was"),
        (lambda held: held.insert(0, plain("../more")), "no plain file below"),
        (lambda held: held.insert(0, plain("/tmp/more")), "no plain file below"),
        (lambda held: held.insert(0, plain("a\\..\\b")), "no name that a backup gives"),
        (lambda held: held.insert(0, plain(".hidden")), "no name that a backup gives"),
        (lambda held: held.insert(0, link("more")), "no plain file below"),
        (lambda held: held.insert(0, held[0]), "twice"),
        (lambda held: held.append(plain("more")), "after the manifest"),
        (
            lambda held: held.__setitem__(0, (held[0][0], held[0][1][:-9] + b"123456789")),
            "not what it was",
        ),
        (lambda held: held.__setitem__(-1, (held[-1][0], b"{}")), "cannot be read"),
        (
            lambda held: held.__setitem__(
                -1, (held[-1][0], held[-1][1].replace(b'"version": 1', b'"version": 2'))
            ),
            "later version",
        ),
    ],
)
def test_a_backup_that_was_changed_is_refused_and_nothing_is_restored(
    run: Run,
    tmp_path: Path,
    change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], None],
    reason: str,
) -> None:
    remembered(run, "tea at five")
    done(run, "backup", "all.tar")
    rewritten(tmp_path / "all.tar", change)
    assert reason in refused(run, "restore", "all.tar", "--home", str(tmp_path / "other"))
    assert list((tmp_path / "other").iterdir()) == []


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9])
def test_a_backup_that_was_cut_is_refused(run: Run, tmp_path: Path, part: float) -> None:
    remembered(run, "tea at five")
    done(run, "backup", "all.tar")
    path = tmp_path / "all.tar"
    os.truncate(path, int(path.stat().st_size * part))
    said = refused(run, "restore", "all.tar", "--home", str(tmp_path / "other"))
    assert "Nothing was changed" in said
    assert list((tmp_path / "other").iterdir()) == []
