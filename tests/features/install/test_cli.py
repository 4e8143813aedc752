"""`minutebook install` as a person types it."""

import json
import re
from pathlib import Path

import pytest

from minutebook.features.install.known_clients import CLIENTS
from tests.terminal import Run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["install", "cursor", "--tools", "recal"], "the nearest is recall"),
        (["install", "cursor", "--token-env", "T"], "--token-env needs --url"),
        (["install", "cursor", "--url", "x.org"], "url must be such as https://"),
        (
            ["install", "cursor", "--url", "https://x.org", "--read-only"],
            "the server there decides",
        ),
        (
            ["install", "cursor", "--url", "https://x.org/mcp", "--contract", "knowledge"],
            "cannot be used with a --url that has a path already",
        ),
        (["install", "continue"], "must be project, by --project"),
        (["install", "emacs"], "must be one of claude-code"),
    ],
)
@pytest.mark.usefixtures("begun")
def test_what_cannot_be_installed_is_one_sentence_that_says_why(
    run: Run, arguments: list[str], said: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == 1
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output


def test_install_writes_shows_and_removes_a_configuration(run: Run, tmp_path: Path) -> None:
    planned = run("install", "cursor", "--dry-run")
    assert "+" in planned.output
    assert "Nothing was written." in planned.output
    path = tmp_path / ".cursor" / "mcp.json"
    assert not path.exists()
    assert run("install", "cursor").exit_code == 0
    entry = json.loads(path.read_text())["mcpServers"]["minutebook"]
    assert after(entry["args"], "--home") == str(tmp_path / "home")
    assert after(entry["args"], "--agent") == "cursor"
    assert "is as it should be" in run("install", "cursor").output
    assert run("install", "cursor", "--remove").exit_code == 0
    assert not path.parent.exists()


@pytest.mark.needs("catalog")
def test_install_passes_on_the_contracts_and_the_spelling_of_tool_names(
    run: Run, tmp_path: Path
) -> None:
    asked = ("--contract", "catalog", "--contract", "knowledge", "--tool-names", "safe")
    assert run("install", "cursor", *asked).exit_code == 0
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["minutebook"]
    assert entry["args"][:3] == ["serve", "catalog", "knowledge"]
    assert after(entry["args"], "--tool-names") == "safe"
    assert "--tools" not in entry["args"]


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        (("--url", "https://x.org"), "/mcp"),
        (("--url", "https://x.org/", "--contract", "knowledge"), "/mcp/knowledge"),
        (("--url", "https://x.org/team/mcp"), "/team/mcp"),
    ],
)
def test_install_leads_a_client_to_a_teams_server(
    run: Run, tmp_path: Path, asked: tuple[str, ...], path: str
) -> None:
    done = run("install", "cursor", *asked, "--token-env", "TEAM_TOKEN")
    assert done.exit_code == 0, done.stderr
    assert "The token goes into the variable TEAM_TOKEN" in done.stdout
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["minutebook"]
    assert entry["url"] == f"https://x.org{path}"
    assert entry["headers"] == {"Authorization": "Bearer ${env:TEAM_TOKEN}"}


def test_install_passes_on_which_tools_are_served(run: Run, tmp_path: Path) -> None:
    asked = ("--read-only", "--tools", "recall, get_memory")
    assert run("install", "cursor", *asked).exit_code == 0
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["minutebook"]
    assert "--read-only" in entry["args"]
    assert after(entry["args"], "--tools") == "recall,get_memory"


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ((), ["--agent", "cursor"]),
        (("--agent", "ana"), ["--agent", "ana"]),
        pytest.param(
            ("--contract", "catalog"), ["--agent", "cursor"], marks=pytest.mark.needs("catalog")
        ),
        # Its calls name their agent themselves, and no other than the one that was named here.
        pytest.param(("--contract", "governance"), [], marks=pytest.mark.needs("governance")),
    ],
)
def test_install_names_the_agent_unless_somebody_did(
    run: Run, tmp_path: Path, asked: tuple[str, ...], named: list[str]
) -> None:
    assert run("install", "cursor", *asked).exit_code == 0
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["minutebook"]
    at = entry["args"].index("--agent") if "--agent" in entry["args"] else len(entry["args"])
    assert entry["args"][at : at + 2] == named


@pytest.mark.parametrize(
    ("asked", "named"),
    [((), []), (("--scope-from-folder", "off"), ["off"]), (("--scope-from-folder", "on"), ["on"])],
)
def test_install_says_of_folders_what_is_said_of_this_client_alone(
    run: Run, tmp_path: Path, asked: tuple[str, ...], named: list[str]
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text('scope_from_folder = "on"\n', encoding="utf-8")
    assert run("install", "cursor", *asked).exit_code == 0
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["minutebook"]
    at = [n + 1 for n, each in enumerate(entry["args"]) if each == "--scope-from-folder"]
    assert [entry["args"][each] for each in at] == named


def test_help_names_every_client(run: Run) -> None:
    words = re.findall(r"[a-z-]+", run("install", "--help").stdout)
    assert set(CLIENTS) <= set(words)


def after(arguments: list[str], option: str) -> str:
    """Return what follows an option."""
    return arguments[arguments.index(option) + 1]


def entered(tmp_path: Path) -> list[str]:
    """Return how Cursor starts the server."""
    text = (tmp_path / ".cursor" / "mcp.json").read_text(encoding="utf-8")
    arguments: list[str] = json.loads(text)["mcpServers"]["minutebook"]["args"]
    return arguments


@pytest.mark.needs("code", "ledger")
def test_eight_tools_stand_before_an_agent_and_answer_in_lines(run: Run, tmp_path: Path) -> None:
    done = run("install", "cursor")
    assert "It is served store_memory, " in done.output
    assert "belongs to that project" in done.output
    assert "+" not in done.output
    args = entered(tmp_path)
    assert args[args.index("serve") + 1 :][:2] == ["knowledge", "ledger"]
    assert after(args, "--answers") == "lines"
    assert after(args, "--scope-from-folder") == "on"
    tools = after(args, "--tools").split(",")
    assert len(tools) == 8
    assert not {"reset_all_memory", "delete_memory", "delete_project"} & set(tools)


@pytest.mark.parametrize(
    ("client", "is_safe"),
    [
        *((each, True) for each in ("codex", "copilot", "claude-desktop", "cursor")),
        *((each, False) for each in ("claude-code", "vscode", "gemini", "opencode")),
    ],
)
def test_a_client_that_refuses_other_signs_is_served_safe_names(
    run: Run, client: str, is_safe: bool
) -> None:
    for contract in ((), ("--contract", "knowledge")):
        shown = run("install", client, "--dry-run", *contract).output
        assert ("--tool-names" in shown) is is_safe
    asked = run("install", client, "--dry-run", "--tool-names", "contract").output
    assert "--tool-names" not in asked


@pytest.mark.needs("ledger")
def test_every_tool_is_served_to_whom_it_is_asked_for(run: Run, tmp_path: Path) -> None:
    assert run("install", "cursor", "--tools", "all").exit_code == 0
    args = entered(tmp_path)
    assert args[args.index("serve") + 1 :][:2] == ["knowledge", "ledger"]
    assert "--tools" not in args


def test_what_the_file_of_settings_says_is_not_said_anew(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    text = 'answers = "json"\nscope_from_folder = "off"\n'
    (tmp_path / "home" / "config.toml").write_text(text, encoding="utf-8")
    assert run("install", "cursor").exit_code == 0
    assert not {"--answers", "--scope-from-folder"} & set(entered(tmp_path))


def test_a_chat_that_works_in_no_folder_keeps_no_projects_apart(run: Run) -> None:
    assert "--scope-from-folder" not in run("install", "claude-desktop", "--dry-run").output
