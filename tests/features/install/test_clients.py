import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from minutebook.config.machine import Places
from minutebook.features.install.clients import (
    Scope,
    apply,
    location,
    plan,
    plan_removal,
    unsafe_entries,
)
from minutebook.features.install.known_clients import CLIENTS
from minutebook.record.errors import Conflict, InvalidInput
from tests.features.install.installing import (
    COMMAND,
    FORMS,
    HOME,
    PLATFORMS,
    PROJECT,
    install,
    parsed,
    path_of,
    places,
    scope_of,
)

AT_HOME = {
    "copilot": ".copilot/mcp-config.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "cline": ".cline/data/settings/cline_mcp_settings.json",
    "junie": ".junie/mcp/mcp.json",
    "kiro": ".kiro/settings/mcp.json",
    "amp": ".config/amp/settings.json",
}
"""Clients whose file is at the same place of the home on every platform."""

ROO = "globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"


@pytest.mark.parametrize(
    ("client", "platform", "path"),
    [
        ("claude-code", "linux", ".claude.json"),
        ("claude-code", "darwin", ".claude.json"),
        ("claude-code", "win32", ".claude.json"),
        ("claude-desktop", "linux", ".config/Claude/claude_desktop_config.json"),
        (
            "claude-desktop",
            "darwin",
            "Library/Application Support/Claude/claude_desktop_config.json",
        ),
        ("claude-desktop", "win32", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("cursor", "linux", ".cursor/mcp.json"),
        ("cursor", "darwin", ".cursor/mcp.json"),
        ("cursor", "win32", ".cursor/mcp.json"),
        ("vscode", "linux", ".config/Code/User/mcp.json"),
        ("vscode", "darwin", "Library/Application Support/Code/User/mcp.json"),
        ("vscode", "win32", "AppData/Roaming/Code/User/mcp.json"),
        ("gemini", "linux", ".gemini/settings.json"),
        ("gemini", "darwin", ".gemini/settings.json"),
        ("gemini", "win32", ".gemini/settings.json"),
        ("codex", "linux", ".codex/config.toml"),
        ("codex", "darwin", ".codex/config.toml"),
        ("codex", "win32", ".codex/config.toml"),
        *((name, each, path) for name, path in AT_HOME.items() for each in PLATFORMS),
        ("zed", "linux", ".config/zed/settings.json"),
        ("zed", "darwin", ".config/zed/settings.json"),
        ("zed", "win32", "AppData/Roaming/Zed/settings.json"),
        ("roo", "linux", f".config/Code/User/{ROO}"),
        ("roo", "darwin", f"Library/Application Support/Code/User/{ROO}"),
        ("roo", "win32", f"AppData/Roaming/Code/User/{ROO}"),
        ("opencode", "linux", ".config/opencode/opencode.json"),
        ("opencode", "darwin", ".config/opencode/opencode.json"),
        ("opencode", "win32", ".config/opencode/opencode.json"),
        ("goose", "linux", ".config/goose/config.yaml"),
        ("goose", "darwin", ".config/goose/config.yaml"),
        ("goose", "win32", "AppData/Roaming/Block/goose/config/config.yaml"),
    ],
)
def test_the_users_configuration_is_where_the_client_looks(
    client: str, platform: str, path: str
) -> None:
    assert location(CLIENTS[client], "user", places(platform=platform)) == HOME / path


@pytest.mark.parametrize(
    ("client", "path"),
    [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("gemini", ".gemini/settings.json"),
        ("codex", ".codex/config.toml"),
        ("copilot", ".github/mcp.json"),
        ("roo", ".roo/mcp.json"),
        ("continue", ".continue/mcpServers/mcp.json"),
        ("opencode", "opencode.json"),
        ("junie", ".junie/mcp/mcp.json"),
        ("kiro", ".kiro/settings/mcp.json"),
        ("amp", ".amp/settings.json"),
    ],
)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_projects_configuration_is_in_the_project(
    client: str, path: str, platform: str
) -> None:
    assert location(CLIENTS[client], "project", places(platform=platform)) == PROJECT / path


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize(
    ("client", "name", "other"),
    [
        ("opencode", "opencode.json", "opencode.jsonc"),
        ("amp", "settings.json", "settings.jsonc"),
        ("gemini", "settings.json", None),
    ],
)
def test_the_entry_goes_into_the_file_that_is_there(
    here: Places, client: str, name: str, other: str | None, scope: Scope
) -> None:
    fresh = location(CLIENTS[client], scope, here)
    assert fresh.name == name
    fresh.parent.mkdir(parents=True, exist_ok=True)
    text = '{\n  // mine\n  "model": "x",\n}\n'
    beside = fresh.with_suffix(".jsonc")
    beside.write_text(text)
    command = {"command": COMMAND, "environment": {}}
    entered = plan(client, **command, scope=scope, places=here)  # type: ignore[arg-type]
    apply(entered)
    assert entered.path.name == (other or name)
    if other is not None:
        assert beside.read_text().startswith('{\n  // mine\n  "model": "x",')
        apply(plan_removal(client, scope=scope, places=here))
        assert "minutebook" not in beside.read_text()
        fresh.write_text("{}")
        assert location(CLIENTS[client], scope, here) == fresh


@pytest.mark.parametrize(
    ("client", "platform", "variable", "path"),
    [
        ("claude-code", "linux", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "darwin", "CODEX_HOME", "config.toml"),
        ("gemini", "win32", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("vscode", "linux", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
        ("vscode", "win32", "APPDATA", "Code/User/mcp.json"),
        ("claude-desktop", "win32", "APPDATA", "Claude/claude_desktop_config.json"),
        ("zed", "darwin", "XDG_CONFIG_HOME", "zed/settings.json"),
        ("goose", "win32", "APPDATA", "Block/goose/config/config.yaml"),
        ("cline", "linux", "CLINE_MCP_SETTINGS_PATH", ""),
    ],
)
def test_a_variable_of_the_client_or_the_platform_moves_the_users_file(
    client: str, platform: str, variable: str, path: str
) -> None:
    moved = places(platform=platform, variables={variable: "/else where"})
    assert location(CLIENTS[client], "user", moved) == Path("/else where") / path
    unmoved = places(platform=platform, variables={variable: " "})
    assert location(CLIENTS[client], "user", unmoved).is_relative_to(HOME)


def test_a_packaged_claude_desktop_on_windows_has_settings_of_its_own(tmp_path: Path) -> None:
    here = places(tmp_path, platform="win32")
    packages = tmp_path / "AppData" / "Local" / "Packages"
    inside = Path("LocalCache", "Roaming", "Claude", "claude_desktop_config.json")
    (packages / "Claude_one").mkdir(parents=True)
    assert location(CLIENTS["claude-desktop"], "user", here) == packages / "Claude_one" / inside
    used = packages / "Claude_two" / inside
    used.parent.mkdir(parents=True)
    used.write_text("{}")
    assert location(CLIENTS["claude-desktop"], "user", here) == used


@pytest.mark.parametrize(
    ("client", "scope"), [("claude-desktop", "project"), ("goose", "project"), ("continue", "user")]
)
def test_a_client_without_such_a_configuration_says_so(client: str, scope: Scope) -> None:
    with pytest.raises(InvalidInput) as refused:
        location(CLIENTS[client], scope, places())
    assert refused.value.argument == "scope"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_fresh_installation_holds_the_entry_in_the_clients_form(
    here: Places, client: str
) -> None:
    planned = install(client, here, environment={"MINUTEBOOK_HOME": "/data/minute book"})
    section, entry = FORMS[client]
    assert parsed(planned) == {section: {"minutebook": entry}}
    assert planned.before is None
    assert planned.backup is None
    assert planned.note


@pytest.mark.parametrize("client", CLIENTS)
def test_without_variables_the_entry_has_no_table_of_them(here: Places, client: str) -> None:
    after = install(client, here).after
    assert not re.search(r'"env(ironment)?"|env =|envs:', after)


@pytest.mark.parametrize("client", CLIENTS)
def test_installing_twice_changes_nothing_the_second_time(here: Places, client: str) -> None:
    first = install(client, here, environment={"A": "1"})
    stamp = first.path.stat().st_mtime_ns
    second = install(client, here, environment={"A": "1"})
    assert first.changed
    assert not second.changed
    assert second.backup is None
    assert first.path.stat().st_mtime_ns == stamp
    assert list(first.path.parent.glob("*.bak")) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_removing_takes_out_what_installing_put_in_and_nothing_else(
    here: Places, client: str
) -> None:
    other = install(client, here, server_name="other", command=["/bin/other"])
    install(client, here)
    removal = plan_removal(client, scope=scope_of(client), places=here)
    apply(removal)
    assert other.path.read_text(encoding="utf-8").strip() == other.after.strip()
    again = plan_removal(client, scope=scope_of(client), places=here)
    assert not again.changed


@pytest.mark.parametrize("client", CLIENTS)
def test_removing_where_there_is_no_file_makes_none(here: Places, client: str) -> None:
    removal = plan_removal(client, scope=scope_of(client), places=here)
    apply(removal)
    assert not removal.changed
    assert not removal.path.exists()


@pytest.mark.parametrize("client", CLIENTS)
def test_an_empty_file_is_an_empty_configuration(here: Places, client: str) -> None:
    path = path_of(client, here)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    assert "minutebook" in str(parsed(install(client, here)))


def test_what_a_person_added_to_the_entry_stays(here: Places) -> None:
    path = here.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    entry = {"command": "old", "args": [], "env": {"KEY": "k"}, "envFile": ".env"}
    path.write_text(json.dumps({"mcpServers": {"minutebook": entry}}))
    planned = install("cursor", here, environment={"A": "1"})
    assert parsed(planned)["mcpServers"]["minutebook"] == {
        "command": COMMAND[0],
        "args": ["serve"],
        "env": {"KEY": "k", "A": "1"},
        "envFile": ".env",
        "type": "stdio",
    }


def test_a_new_file_is_its_owners_alone(here: Places) -> None:
    planned = install("codex", here)
    assert stat.S_IMODE(planned.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("exists", [True, False])
def test_a_linked_configuration_stays_a_link(here: Places, tmp_path: Path, exists: bool) -> None:
    target = tmp_path / "dot files" / "claude.json"
    target.parent.mkdir()
    if exists:
        target.write_text('{"kept": true}')
    link = here.home / ".claude.json"
    link.symlink_to(Path(os.path.relpath(target, link.parent)))
    install("claude-code", here)
    assert link.is_symlink()
    data = json.loads(target.read_text())
    assert ("kept" in data) is exists
    assert data["mcpServers"]["minutebook"]["command"] == COMMAND[0]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("content", "told"),
    [(b"{]\n", "line 1"), (b"\xff\xfe{\x00}\x00", "UTF-8"), (b"a = \n= b", "line 1")],
    ids=["broken", "UTF-16", "neither"],
)
def test_a_broken_configuration_is_refused_untouched(
    here: Places, client: str, content: bytes, told: str
) -> None:
    path = path_of(client, here)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as refused:
        install(client, here)
    assert refused.value.argument == str(path)
    assert told in refused.value.remedy
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "content",
    ['{"mcpServers": []}', '{"mcpServers": {"minutebook": "x"}}',
     '{"mcpServers": {"minutebook": {"env": ["A=1"]}}}'],
)  # fmt: skip
def test_a_configuration_of_another_shape_is_refused_untouched(here: Places, content: str) -> None:
    path = here.home / ".claude.json"
    path.write_text(content)
    with pytest.raises(InvalidInput):
        install("claude-code", here)
    assert path.read_text() == content


@pytest.mark.parametrize("key", ["url", "httpUrl"])
def test_a_remote_server_by_that_name_is_not_made_a_local_one(here: Places, key: str) -> None:
    path = here.home / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"minutebook": {key: "http://127.0.0.1/mcp"}}}))
    with pytest.raises(Conflict):
        install("gemini", here)
    assert install("gemini", here, server_name="minutebook-local").changed


def test_a_layout_that_only_a_person_can_edit_is_refused_with_what_to_add(here: Places) -> None:
    fresh = install("codex", here)
    fresh.path.write_text('mcp_servers = {a = {command = "x"}}\n')
    with pytest.raises(Conflict) as refused:
        install("codex", here)
    assert fresh.after in refused.value.reason


def test_a_file_that_changed_after_planning_is_not_overwritten(here: Places) -> None:
    path = here.home / ".claude.json"
    path.write_text('{"a": 1}')
    planned = plan("claude-code", command=COMMAND, environment={}, scope="user", places=here)
    path.write_text('{"a": 2}')
    with pytest.raises(Conflict):
        apply(planned)
    assert path.read_text() == '{"a": 2}'
    assert list(here.home.iterdir()) == [path]


def test_a_folder_in_place_of_the_file_is_told_as_a_conflict(here: Places) -> None:
    (here.home / ".claude.json").mkdir()
    with pytest.raises(Conflict) as refused:
        install("claude-code", here)
    assert refused.value.id == str(here.home / ".claude.json")


def test_a_file_in_place_of_the_folder_is_told_as_a_conflict(here: Places) -> None:
    (here.home / ".codex").write_text("")
    with pytest.raises(Conflict):
        install("codex", here)


@pytest.mark.skipif(sys.platform == "win32", reason="a path there is always text")
def test_a_path_that_is_no_text_is_refused(here: Places) -> None:
    program = os.fsdecode(b"/opt/\xff/minutebook")
    with pytest.raises(InvalidInput) as refused:
        install("cursor", here, command=[program])
    assert refused.value.argument == "command"


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [
        ("client", {"client": "emacs"}),
        ("server_name", {"server_name": "mine.book"}),
        ("server_name", {"server_name": ""}),
        ("server_name", {"server_name": "a" * 65}),
        ("command", {"command": []}),
        ("command", {"command": ["", "serve"]}),
        ("command", {"command": ["/bin/x", "a\0b"]}),
        ("environment", {"environment": {"A=B": "1"}}),
        ("environment", {"environment": {"A": "\ud800"}}),
    ],
)
def test_an_argument_that_no_client_could_use_is_named(
    here: Places, argument: str, wrong: dict[str, Any]
) -> None:
    given: dict[str, Any] = {"client": "codex", "here": here} | wrong
    with pytest.raises(InvalidInput) as refused:
        install(**given)
    assert refused.value.argument == argument


@pytest.mark.parametrize("client", CLIENTS)
def test_an_entry_that_lets_the_working_directory_run_code_is_found_and_mended(
    client: str, here: Places
) -> None:
    old = install(client, here, command=["/usr/bin/python3", "-m", "minutebook", "serve"])
    (found,) = unsafe_entries(here)
    assert (found.path, found.title, found.name) == (
        old.path,
        CLIENTS[client].title,
        "minutebook",
    )
    options = " --project" * (scope_of(client) == "project")
    assert f"`minutebook install {client}{options} --name minutebook`" in found.remedy
    install(client, here)
    assert unsafe_entries(here) == []


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["-m", "minutebook", "serve"], 1),
        (["-u", "-m", "minutebook"], 1),
        (["-P", "-m", "minutebook", "serve"], 0),
        (["-uI", "-m", "minutebook"], 0),
        (["-m", "http.server"], 0),
        (["serve"], 0),
        ("-m minutebook", 0),
        (None, 0),
    ],
)
def test_only_a_module_that_is_found_from_the_working_directory_is_unsafe(
    here: Places, arguments: Any, count: int
) -> None:
    path = here.cwd / ".mcp.json"
    entry = {"command": "python", "args": arguments}
    path.write_text(json.dumps({"mcpServers": {"memory": entry, "other": 7}}))
    found = unsafe_entries(here)
    assert len(found) == count
    assert all("install claude-code --project --name memory" in each.remedy for each in found)


def test_a_configuration_that_cannot_be_read_is_passed_over(here: Places) -> None:
    (here.home / ".claude.json").write_text("{")
    (here.cwd / ".mcp.json").write_bytes(b"\xff")
    assert unsafe_entries(here) == []
