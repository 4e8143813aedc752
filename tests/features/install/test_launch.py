"""What starts Minutebook again must not run what lies in the folder where it is started."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from minutebook.config.machine import Places
from minutebook.features.install.clients import location
from minutebook.features.install.config_edits import Format
from minutebook.features.install.known_clients import CLIENTS
from minutebook.serve.launch import import_path, lasting_command, module_command, source_of
from tests.serve.stdio.speaking import INITIALIZE
from tests.terminal import Run

MARK = "import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch()\n"
MODULES = ("json.py", "click.py", "socket.py", "sitecustomize.py", "minutebook/__init__.py")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A project whose files have the names of modules that a server imports."""
    folder = tmp_path / "a cloned project"
    for name in MODULES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MARK)
    return folder


def entry_of(client: str, home: Path) -> dict[str, Any]:
    """The server in a client's own configuration."""
    found = CLIENTS[client]
    path = location(found, "user", Places(platform=sys.platform, home=home, cwd=home, variables={}))
    readers = {Format.TOML: tomllib.loads, Format.YAML: yaml.safe_load}
    read = readers.get(found.format, json.loads)
    entry: dict[str, Any] = read(path.read_text())[found.section]["minutebook"]
    return entry


def started(command: list[str], folder: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    """Start a server as a client does, in a folder; its answer to `initialize`."""
    done = subprocess.run(
        [*command, "--no-daemon"],
        cwd=folder,
        input=json.dumps(INITIALIZE).encode() + b"\n",
        capture_output=True,
        env={**os.environ, "MINUTEBOOK_EMBEDDER": "none", **variables},
        timeout=60,
    )
    assert done.stdout, done.stderr.decode()
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def ran(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.ran")]


@pytest.mark.cold_start
def test_what_each_client_is_told_to_start_runs_nothing_of_the_folder_it_stands_in(
    run: Run, tmp_path: Path, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(variable, raising=False)
    # An empty part is the working directory, too.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", str(tmp_path), "."]))
    entries = []
    clients = [name for name, client in CLIENTS.items() if client.user is not None]
    commands = []
    for client in clients:
        assert run("install", client).exit_code == 0
        entry, form = entry_of(client, tmp_path), CLIENTS[client].local
        entries.append(entry)
        program = entry[form.command]
        arguments = entry[form.arguments] if form.arguments else []
        commands.append([*([program] if isinstance(program, str) else program), *arguments])
        assert entry[form.environment] == {"PYTHONPATH": str(tmp_path)}
    # They differ in the name of the client and in options alone: one start tells of all.
    whole = commands[0]
    at = [command.index("--agent") for command in commands]
    assert [command[n + 1] for command, n in zip(commands, at, strict=True)] == clients
    programs = [command[:n] for command, n in zip(commands, at, strict=True)]
    assert programs == programs[:1] * len(clients)
    answer = started(whole, hostile, entries[0]["env"])
    assert answer["result"]["serverInfo"]["name"]
    assert ran(hostile) == []


@pytest.mark.thorough
@pytest.mark.cold_start
def test_a_module_runs_nothing_of_the_folder_either(tmp_path: Path, hostile: Path) -> None:
    command = module_command("minutebook", "serve", "--home", str(tmp_path / "home"))
    assert "result" in started(command, hostile, {})
    assert ran(hostile) == []


def test_without_that_precaution_the_folder_is_run(tmp_path: Path, hostile: Path) -> None:
    """The fixture's files are such as `python -m` imports."""
    subprocess.run([sys.executable, "-m", "minutebook"], cwd=hostile, capture_output=True)
    assert ran(hostile)


@pytest.mark.parametrize(
    ("prefix", "source", "expected"),
    [
        ("/home/a b/.cache/uv/archive-v0/k_MXIr", "", ["uvx", "minutebook"]),
        ("/var/cache/mine/builds-v0/.tmpAbc", "", ["uvx", "minutebook"]),
        (
            "/home/a/.cache/uv/archive-v0/x",
            "git+https://example.org/m.git@c0ffee",
            ["uvx", "--from", "git+https://example.org/m.git@c0ffee", "minutebook"],
        ),
        ("/home/a/.cache/pipx/0123abcd", "", ["pipx", "run", "minutebook"]),
        (
            "/home/a/.local/share/pipx/.cache/0123",
            "file:///m",
            ["pipx", "run", "--spec", "file:///m", "minutebook"],
        ),
    ],
)
def test_an_environment_in_a_cache_is_started_through_the_tool_that_makes_it(
    prefix: str, source: str, expected: list[str]
) -> None:
    python = Path(prefix, "bin", "python")
    assert lasting_command(python, Path(prefix), Path("/usr"), source) == expected


@pytest.mark.parametrize("name", ["uv/tools/minutebook", "pipx/venvs/minutebook", "a venv"])
def test_an_environment_that_stays_is_started_by_its_console_script(
    tmp_path: Path, name: str
) -> None:
    prefix = tmp_path / name
    script = prefix / "bin" / "minutebook"
    script.parent.mkdir(parents=True)
    python = script.with_name("python")
    through_python = [str(python), "-P", "-m", "minutebook"]
    assert lasting_command(python, prefix, Path("/usr"), "file:///m") == through_python
    script.touch()
    assert lasting_command(python, prefix, Path("/usr"), "file:///m") == [str(script)]
    # Beside the system's interpreter it may be another installation's.
    assert lasting_command(python, prefix, prefix, "") == through_python


@pytest.mark.skipif(sys.platform == "win32", reason="scripts there end in .exe")
def test_a_windows_script_is_found_by_its_ending(tmp_path: Path) -> None:
    (tmp_path / "minutebook.exe").touch()
    found = lasting_command(tmp_path / "python.exe", tmp_path, Path("/usr"), "")
    assert found == [str(tmp_path / "minutebook.exe")]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (None, ""),
        ('{"url": "file:///my%20m", "dir_info": {}}', "file:///my%20m"),
        (
            '{"url": "https://example.org/m.git", "vcs_info": {"vcs": "git", "commit_id": "c0"}}',
            "git+https://example.org/m.git@c0",
        ),
        (
            '{"url": "https://example.org/m.zip", "archive_info": {}, "subdirectory": "py"}',
            "https://example.org/m.zip#subdirectory=py",
        ),
    ],
)
def test_a_distribution_is_named_by_where_it_came_from(told: str | None, expected: str) -> None:
    assert source_of(told) == expected


def test_an_import_path_without_relative_parts_stays_as_it_is() -> None:
    one, other = str(Path.home() / "one"), str(Path.home() / "other")
    assert import_path({}) == {}
    assert import_path({"PYTHONPATH": os.pathsep.join([one, other])}) == {}
    assert import_path({"PYTHONPATH": f".{os.pathsep}{one}"}) == {"PYTHONPATH": one}
    assert import_path({"PYTHONPATH": os.pathsep}) == {"PYTHONPATH": ""}
