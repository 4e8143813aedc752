"""Out is out: what a client's files and folders were before Minutebook was entered, they are once it is taken out."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.config.machine import places_here
from minutebook.features.install.clients import Scope, location
from minutebook.features.install.config_edits import Format
from minutebook.features.install.hooks import HOOKS, Form
from minutebook.features.install.known_clients import CLIENTS, Client, Skills
from tests.terminal import Run, typed

Tree = dict[Path, bytes | None]

_JSON = {
    "spread": '{\n    "theme": "dark",\n    "SECTION": {\n        "other": {"command": "x", "args": ["a",  "b"]}\n    }\n}\n',
    "one line": '{"theme":"dark"}',
    "CRLF and a BOM": '\ufeff{\r\n\t"theme" : "dark",\r\n\t"list": [1.50,\r\n\t\t2]\r\n}',
    "an empty section": '{\n  "theme": "dark",\n  "SECTION": {}\n}\n\n',
    "hooks": '{"theme": "dark", "version": 1, "hooks": {"SessionStart": [], "sessionStart": [],'
    ' "Other": [ {"command": "mine"} ]}}\n',
}
_COMMENTED = {
    "comments": '// mine\n{\n  "theme": "dark", // so\n  /* and */ "last": [],\n}\n',
}
_TOML = {
    "tables": 'theme = "dark"\n\n[mcp_servers.other] # x\ncommand = "x"\n\n\n[profiles.a]\nb = 1\n',
    "CRLF": '# mine\r\ntheme = "dark"',
}
_YAML = {
    "entries": "theme: dark\nextensions:\n    other:\n        cmd: x   # y\n\n# the end\n",
    "CRLF": "# mine\r\ntheme: dark",
    "an empty section": "extensions: {}  # none\ntheme: dark\n",
}


def _texts(client: Client) -> dict[str, str]:
    texts = {
        Format.TOML: _TOML,
        Format.YAML: _YAML,
        Format.JSON: _JSON,
        Format.JSONC: _JSON | _COMMENTED,
    }[client.format]
    return {name: text.replace("SECTION", client.section) for name, text in texts.items()}


CASES = [(name, text) for name, client in CLIENTS.items() for text in (None, *_texts(client))]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("MINUTEBOOK_HOME", str(home / "data" / "store"))
    monkeypatch.chdir(home / "project")
    return home


@pytest.fixture
def run() -> Run:
    return typed


def _tree(home: Path) -> Tree:
    return {each: each.read_bytes() if each.is_file() else None for each in home.rglob("*")}


def _files(client: str) -> Iterator[Path]:
    """Yield the files of a client that hold servers, and hooks of others beside ours."""
    scope: Scope = "project" if CLIENTS[client].user is None else "user"
    yield location(CLIENTS[client], scope, places_here())
    if client in HOOKS and not HOOKS[client].is_own:
        yield location(HOOKS[client], scope, places_here())


def _given(client: str, text: str | None) -> None:
    for path in _files(client):
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            is_listed = (
                CLIENTS[client].format in (Format.JSON, Format.JSONC) or path.suffix != ".json"
            )
            chosen = _texts(CLIENTS[client])[text] if is_listed else _JSON["spread"]
            path.write_bytes(chosen.encode())


def _words(client: str) -> list[str]:
    return [client, *["--project"] * (CLIENTS[client].user is None)]


def _done(run: Run, *words: str) -> str:
    done = run(*words)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(("client", "text"), CASES)
def test_a_client_is_again_what_it_was(run: Run, home: Path, client: str, text: str | None) -> None:
    _given(client, text)
    before = _tree(home)
    words, hooks = _words(client), ["--hooks"] * (client in HOOKS)
    said = ""
    for options in (hooks, [], ["--agent", "ana"]):
        said += _done(run, "install", *words, *options)
        backups = list(home.rglob("*.bak"))
        assert {each.read_bytes() for each in backups} <= {*before.values()}
        assert len(backups) <= len([*_files(client)])
        assert all(str(each) in said for each in backups)
    assert _tree(home) != before
    said = _done(run, "install", *words, "--remove")
    assert _tree(home) == before
    assert ".bak" not in said
    if client in HOOKS:
        _done(run, "install", *words, *hooks)
        _done(run, "install", *words, "--hooks", "--remove")
        _done(run, "install", *words, "--remove")
        assert _tree(home) == before
    again = _done(run, "install", *words, "--remove")
    assert f"Nothing of Minutebook is in {CLIENTS[client].title}." in again
    assert _tree(home) == before


@pytest.mark.parametrize(("client", "text"), [case for case in CASES if case[1]])
@pytest.mark.parametrize("is_noted", [True, False])
def test_what_a_person_changed_meanwhile_stays_and_the_rest_is_what_it_was(
    run: Run, home: Path, client: str, text: str, is_noted: bool
) -> None:
    _given(client, text)
    wanted = {path: told and told.replace(b"dark", b"light") for path, told in _tree(home).items()}
    words, hooks = _words(client), ["--hooks"] * (client in HOOKS)
    _done(run, "install", *words, *hooks)
    for path in _files(client):
        path.write_bytes(path.read_bytes().replace(b"dark", b"light"))
    if not is_noted:
        (home / "data" / "store" / "clients.json").unlink()
    else:
        _done(run, "install", *words, "--agent", "ana")
    _done(run, "install", *words, "--remove")
    left = _tree(home)
    if not is_noted:
        # Nobody knows then which folders we made.
        left = {path: told for path, told in left.items() if path in wanted or told is not None}
    assert left == wanted


@pytest.mark.parametrize("client", [name for name in CLIENTS if CLIENTS[name].user])
def test_what_a_person_wrote_into_a_file_of_ours_stays(run: Run, home: Path, client: str) -> None:
    _done(run, "install", client)
    path = next(_files(client))
    if CLIENTS[client].format in (Format.TOML, Format.YAML):
        mine = {Format.TOML: "mine = 1\n", Format.YAML: "mine: 1\n"}[CLIENTS[client].format]
        path.write_text(mine + path.read_text())
        wanted = mine
    else:
        path.write_text(path.read_text().replace("{\n", '{\n  "mine": 1,\n', 1))
        wanted = '{\n  "mine": 1\n}\n'
    _done(run, "install", client, "--remove")
    assert path.read_text().rstrip("\n") == wanted.rstrip("\n")
    assert not [*home.rglob("*.bak")]


def test_setup_takes_out_what_it_entered(run: Run, home: Path) -> None:
    folders = [path.parent for name in CLIENTS if CLIENTS[name].user for path in _files(name)]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    (home / ".claude.json").write_bytes(b'{"theme": "dark"}\r\n')
    (home / ".claude" / "settings.json").write_bytes(b'{"permissions": {"allow": []}}')
    before = _tree(home)
    _done(run, "setup", "--yes")
    entered = _tree(home)
    assert any(path.name == "SKILL.md" for path in entered)
    assert {client.title for client in CLIENTS.values() if client.user} <= {
        line.partition(":")[0] for line in _done(run, "setup", "--remove", "--dry-run").splitlines()
    }
    assert _tree(home) == entered
    said = _done(run, "setup", "--remove", "--yes")
    assert _tree(home) == before
    assert "What was remembered stays in" in said
    assert "Nothing was taken out." in _done(run, "setup", "--remove", "--yes")


def test_a_skill_of_several_clients_goes_with_the_last_of_them(run: Run, home: Path) -> None:
    shared = [name for name, each in CLIENTS.items() if each.skills is Skills.SHARED][:2]
    for name in shared:
        next(_files(name)).parent.mkdir(parents=True, exist_ok=True)
    _done(run, "setup", "--yes")
    skill = home / ".agents" / "skills" / "minutebook" / "SKILL.md"
    for name, is_left in zip(shared, (True, False), strict=True):
        _done(run, "install", name, "--remove")
        assert skill.exists() is is_left
    assert not (home / ".agents").exists()


def test_a_file_that_was_emptied_by_hand_is_forgotten(run: Run, home: Path) -> None:
    path = home / ".claude.json"
    path.write_text('{"theme": "dark"}')
    before = _tree(home)
    _done(run, "install", "claude-code")
    path.write_text('{"theme": "dark"}')
    _done(run, "install", "claude-code", "--remove")
    assert _tree(home) == before


def test_two_entries_leave_one_after_the_other(run: Run, home: Path) -> None:
    path = home / ".claude.json"
    path.write_bytes(b'{"theme":  "dark"}\r\n')
    before = _tree(home)
    for name in ("minutebook", "team"):
        _done(run, "install", "claude-code", "--name", name)
    _done(run, "install", "claude-code", "--remove")
    assert list(json.loads(path.read_text())["mcpServers"]) == ["team"]
    assert len([*home.glob("*.bak")]) == 1
    _done(run, "install", "claude-code", "--name", "team", "--remove")
    assert _tree(home) == before


def test_an_entry_of_before_the_notes_is_taken_out(run: Run, home: Path) -> None:
    path = home / ".claude.json"
    entry = {"command": "minutebook", "args": ["serve"]}
    path.write_text(json.dumps({"theme": "dark", "mcpServers": {"minutebook": entry}}))
    _done(run, "install", "claude-code")
    _done(run, "install", "claude-code", "--remove")
    assert json.loads(path.read_text()).get("mcpServers", {}) == {}
    assert "minutebook" not in path.read_text()


def test_a_program_on_the_path_is_a_client_that_is_here(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "No client that we know" in _done(run, "setup")
    folder = home / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    for client in CLIENTS.values():
        for program in itertools.islice(client.programs, 1):
            (folder / program).write_text("#!/bin/sh\n")
            (folder / program).chmod(0o755)
    shown = _done(run, "setup", "--dry-run")
    for client in CLIENTS.values():
        assert (f"{client.title}: the server" in shown) is bool(client.programs), client.title


def test_install_alone_lists_the_clients_and_names_setup(run: Run, home: Path) -> None:
    said = _done(run, "install")
    assert all(name in said for name in CLIENTS)
    assert "`minutebook setup`" in said
    assert not (home / "data").exists()


def test_every_form_of_hooks_is_tried() -> None:
    assert {HOOKS[client].form for client, _ in CASES if client in HOOKS} == set(Form)
