"""Entries that lead a client to a server elsewhere; and the guide that names them all."""

import re
from pathlib import Path
from typing import Any

import pytest

from minutebook.config.machine import Places
from minutebook.features.install.clients import apply, plan_removal
from minutebook.features.install.known_clients import CLIENTS
from minutebook.record.errors import Conflict, InvalidInput
from tests.features.install.installing import (
    FORMS,
    TEAM,
    install,
    install_remote,
    parsed,
    path_of,
)


def bearer(written: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {written}"}}


REMOTE: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "http", "url": TEAM, **bearer("${TEAM_TOKEN}")},
    "cursor": {"url": TEAM, **bearer("${env:TEAM_TOKEN}")},
    "vscode": {"type": "http", "url": TEAM, **bearer("${env:TEAM_TOKEN}")},
    "gemini": {"httpUrl": TEAM, **bearer("${TEAM_TOKEN}")},
    "codex": {"url": TEAM, "bearer_token_env_var": "TEAM_TOKEN"},
    "windsurf": {"serverUrl": TEAM, **bearer("${env:TEAM_TOKEN}")},
    "opencode": {
        "type": "remote",
        "enabled": True,
        "oauth": False,
        "url": TEAM,
        **bearer("{env:TEAM_TOKEN}"),
    },
    "kiro": {"url": TEAM, **bearer("${TEAM_TOKEN}")},
    "amp": {"url": TEAM, **bearer("${TEAM_TOKEN}")},
}
"""An entry that leads to a team's server, with a token from a variable."""

WITHOUT_TOKEN: dict[str, dict[str, Any]] = {
    "copilot": {"type": "http", "tools": ["*"], "url": TEAM},
    "zed": {"url": TEAM},
    "cline": {"type": "streamableHttp", "url": TEAM},
    "roo": {"type": "streamable-http", "url": TEAM},
    "goose": {"name": "minutebook", "type": "streamable_http", "enabled": True, "uri": TEAM},
}
"""Clients that read no variable in a header."""


@pytest.mark.parametrize("client", CLIENTS)
def test_a_teams_server_is_entered_in_the_clients_form(here: Places, client: str) -> None:
    section, _ = FORMS[client]
    if client in REMOTE:
        planned = install_remote(client, here, TEAM, "TEAM_TOKEN")
        assert parsed(planned) == {section: {"minutebook": REMOTE[client]}}
        assert not install_remote(client, here, TEAM, "TEAM_TOKEN").changed
        return
    with pytest.raises(InvalidInput, match=re.escape(CLIENTS[client].documentation)) as refused:
        install_remote(client, here, TEAM, "TEAM_TOKEN")
    assert not path_of(client, here).exists()
    if client in WITHOUT_TOKEN:
        assert refused.value.argument == "token_env"
        planned = install_remote(client, here, TEAM, None)
        assert parsed(planned) == {section: {"minutebook": WITHOUT_TOKEN[client]}}
    else:
        assert refused.value.argument == "url"


@pytest.mark.parametrize("client", ["cursor", "goose", "opencode", "codex"])
def test_a_server_of_ones_own_is_not_made_a_teams_nor_the_other_way(
    here: Places, client: str
) -> None:
    install(client, here)
    with pytest.raises(Conflict, match="is a local server"):
        install_remote(client, here, TEAM, None)
    removal = plan_removal(client, scope="user", places=here)
    apply(removal)
    install_remote(client, here, TEAM, None)
    with pytest.raises(Conflict, match="is a remote server"):
        install(client, here)


@pytest.mark.parametrize(
    ("url", "variable", "argument"),
    [
        ("http://memory.example.org/mcp", None, "url"),
        ("https://ada:secret@memory.example.org/mcp", None, "url"),
        ("https://memory.example.org/mcp?token=x", None, "url"),
        ("memory.example.org", None, "url"),
        ("https://", None, "url"),
        ("https://[::1/mcp", None, "url"),
        ("https://memory.example.org/m cp", None, "url"),
        ("file:///etc/passwd", None, "url"),
        (TEAM, "mbk_secret-token", "token_env"),
        (TEAM, "", "token_env"),
    ],
)
def test_a_url_or_variable_that_does_not_fit_is_named_and_no_token_shown(
    here: Places, url: str, variable: str | None, argument: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        install_remote("cursor", here, url, variable)
    assert refused.value.argument == argument
    assert "secret" not in str(refused.value)


def test_a_server_of_this_machine_may_be_reached_without_encryption(here: Places) -> None:
    assert install_remote("cursor", here, "http://127.0.0.1:8765/mcp", "T").changed


def test_the_guide_has_each_clients_files_documentation_and_note() -> None:
    guide = Path(__file__).parents[3] / "docs" / "guides" / "clients.md"
    lines = guide.read_text(encoding="utf-8").splitlines()
    for name, client in CLIENTS.items():
        (row,) = [line for line in lines if line.startswith(f"| [`{name}`]")]
        paths = [client.user, client.project]
        assert all(path in row for path in paths if path is not None), row
        assert f"({client.documentation})" in row
        assert ("token" in row) == (client.remote is not None)
        assert ("--token-env" in row) == (name in REMOTE)
        (note,) = [line for line in lines if line.startswith(f"| {client.title} |")]
        assert client.reload in note
        assert client.project_reload in note
