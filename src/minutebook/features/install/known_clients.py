"""The MCP clients that are known, as `known_clients.toml` lists them."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from minutebook.features.install.config_edits import Format, Value


class Base(StrEnum):
    """The base of a client's path: the home, the settings of applications, or `~/.config` (XDG_CONFIG_HOME) on every platform."""

    HOME = "home"
    APPLICATIONS = "applications"
    CONFIGURATION = "configuration"


class Skills(StrEnum):
    """The folder of a user's skills: the client's own beside its settings, or `~/.agents/skills`, shared with others."""

    OWN = "own"
    SHARED = "shared"


class Approval(StrEnum):
    """The place of the tools that a client may call without asking: rules in its settings, a policy file, the server's entry."""

    RULES = "rules"
    POLICY = "policy"
    ENTRY = "entry"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalForm:
    """The keys of an entry for a program to start; `also` are further fields that the client needs.

    If `arguments` is "", the command is one list with its arguments.
    """

    command: str = "command"
    arguments: str = "args"
    environment: str = "env"
    also: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteForm:
    """The keys of an entry with a server's URL; `also` are further fields that the client needs.

    `variable` is the spelling of the variable NAME within a header, None if the client reads none there; `token_variable` is
    a key whose value is the name of the variable instead.
    """

    url: str = "url"
    variable: str | None = None
    token_variable: str | None = None
    also: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """A file of a client, for a user and in a project.

    `user` is the path below `base`, None if there is no such file that can be edited; `project` is the path below
    the working directory. `on_windows` is the user's path there if it differs. `moved` is a variable that names
    another folder for the user's file, and the path below that. `package` is a pattern for the folder of a packaged
    Windows application, which has a settings folder of its own. `other_name` is another name that the file may have.
    `reload` tells a person how the client reads the file again; `documentation` is the URL of the client's own.
    """

    name: str
    title: str
    reload: str
    documentation: str
    base: Base = Base.HOME
    user: str | None = None
    on_windows: str | None = None
    moved: tuple[str, str] | None = None
    package: str | None = None
    project: str | None = None
    other_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Client(ClientFile):
    """An MCP client, by the file of its servers.

    `section` is the key of the servers in the file. `remote` is None if the file takes no remote server. `names_entry`
    if an entry must repeat its name. `approves` is the key, in an entry, of the tools that the client may call without
    asking. `safe_names` if it refuses tools with names of other characters than letters, digits and underscores.
    `programs` are the commands by which the client is found.
    """

    format: Format = Format.JSONC
    section: str = "mcpServers"
    local: LocalForm = LocalForm()
    remote: RemoteForm | None = None
    project_reload: str = ""
    names_entry: bool = False
    skills: Skills | None = None
    approval: Approval | None = None
    approves: str = ""
    safe_names: bool = False
    programs: Sequence[str] = ()


def client_rows(name: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a TOML file beside this module, by client."""
    rows = tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    for row in rows.values():
        row["base"] = Base(row.get("base", Base.HOME))
        if "moved" in row:
            row["moved"] = tuple(row["moved"])
    return rows


def _client(name: str, row: dict[str, Any]) -> Client:
    row["format"] = Format(row.get("format", Format.JSONC))
    row["local"] = LocalForm(**row.get("local", {}))
    row["remote"] = RemoteForm(**row["remote"]) if "remote" in row else None
    row["skills"] = Skills(row["skills"]) if "skills" in row else None
    row["approval"] = Approval(row["approval"]) if "approval" in row else None
    return Client(name=name, **row)


CLIENTS: Mapping[str, Client] = {
    name: _client(name, row) for name, row in client_rows("known_clients.toml").items()
}
"""The clients by name."""
