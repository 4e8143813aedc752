"""Install into clients of a home that is made up, and read what came of it."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from minutebook.config.machine import Places
from minutebook.features.install.clients import (
    Installation,
    Scope,
    apply,
    location,
    plan,
    plan_remote,
)
from minutebook.features.install.known_clients import CLIENTS

COMMAND = ["/opt/mine book/bin/minutebook", "serve"]
HOME, PROJECT = Path("/home/zoë k"), Path("/work/my project")
NOTHING: Mapping[str, str] = MappingProxyType({})
PLATFORMS = ["linux", "darwin", "win32"]
TEAM = "https://memory.example.org/mcp"


def places(
    home: Path = HOME,
    cwd: Path = PROJECT,
    platform: str = "linux",
    variables: Mapping[str, str] = NOTHING,
) -> Places:
    return Places(platform=platform, home=home, cwd=cwd, variables=variables)


def install(
    client: str,
    here: Places,
    *,
    command: Sequence[str] = COMMAND,
    environment: Mapping[str, str] = NOTHING,
    server_name: str = "minutebook",
) -> Installation:
    planned = plan(
        client,
        command=command,
        environment=environment,
        scope=scope_of(client),
        places=here,
        server_name=server_name,
    )
    apply(planned)
    return planned


def install_remote(client: str, here: Places, url: str, variable: str | None) -> Installation:
    planned = plan_remote(
        client,
        url=url,
        token_variable=variable,
        scope=scope_of(client),
        places=here,
    )
    apply(planned)
    return planned


def scope_of(client: str) -> Scope:
    """Where the client has a file that can be edited: a person's, else a project's."""
    known = CLIENTS.get(client)
    return "project" if known is not None and known.user is None else "user"


def path_of(client: str, here: Places) -> Path:
    return location(CLIENTS[client], scope_of(client), here)


def parsed(planned: Installation) -> Any:
    text = planned.path.read_text(encoding="utf-8")
    readers = {".toml": tomllib.loads, ".yaml": yaml.safe_load}
    return readers.get(planned.path.suffix, json.loads)(text)


STARTED = {
    "command": COMMAND[0],
    "args": ["serve"],
    "env": {"MINUTEBOOK_HOME": "/data/minute book"},
}
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "claude-code": ("mcpServers", {"type": "stdio", **STARTED}),
    "claude-desktop": ("mcpServers", STARTED),
    "cursor": ("mcpServers", {"type": "stdio", **STARTED}),
    "vscode": ("servers", {"type": "stdio", **STARTED}),
    "gemini": ("mcpServers", STARTED),
    "codex": ("mcp_servers", STARTED),
    "copilot": ("mcpServers", {"type": "local", "tools": ["*"], **STARTED}),
    "windsurf": ("mcpServers", STARTED),
    "zed": ("context_servers", STARTED),
    "cline": ("mcpServers", STARTED),
    "roo": ("mcpServers", STARTED),
    "continue": ("mcpServers", STARTED),
    "opencode": (
        "mcp",
        {"type": "local", "enabled": True, "command": COMMAND, "environment": STARTED["env"]},
    ),
    "goose": (
        "extensions",
        {
            "name": "minutebook",
            "type": "stdio",
            "enabled": True,
            "cmd": COMMAND[0],
            "args": ["serve"],
            "envs": STARTED["env"],
        },
    ),
    "junie": ("mcpServers", STARTED),
    "kiro": ("mcpServers", STARTED),
    "amp": ("amp.mcpServers", STARTED),
}
"""Each client's table of servers, and an entry in its form."""
