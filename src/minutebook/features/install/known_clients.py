"""The MCP clients that are known, as `known_clients.toml` lists them."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from minutebook.features.install.config_edits import Format, Value


class Base(StrEnum):
    """The base of a client's path: the home, or where applications keep their settings."""

    HOME = "home"
    APPLICATIONS = "applications"
    CONFIGURATION = "configuration"
    """`~/.config`, or XDG_CONFIG_HOME, on every platform."""


class Skills(StrEnum):
    """Where a client reads a user's skills: beside its settings, or in `~/.agents/skills` with others."""

    OWN = "own"
    SHARED = "shared"


class Approval(StrEnum):
    """Where a client notes the tools for which it need not ask: rules in its settings, a policy file, the server's entry."""

    RULES = "rules"
    POLICY = "policy"
    ENTRY = "entry"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalForm:
    """The form of an entry for a program to start: its keys, and the client's further ones there.

    Where `arguments` is empty the command is one list with its arguments.
    """

    command: str = "command"
    arguments: str = "args"
    environment: str = "env"
    also: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteForm:
    """How an entry names a server by its URL.

    `variable` writes a variable within a header, NAME being its name; None where the client reads
    none there. `token_variable` is the key that takes a variable's name instead.
    """

    url: str = "url"
    variable: str | None = None
    token_variable: str | None = None
    also: Mapping[str, Value] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """A file of a client: where it is for a user and in a project, and how the client reads it again.

    `user` is the path below `base`, None where there is no such file that can be edited; `project` the path
    below the working directory. `on_windows` is the user's path there if it differs. `moved` is the variable
    that puts the user's file elsewhere, and its path from there. `package` matches the folder of a packaged
    Windows application, which sees a settings folder of its own. `other_name` is a further name of the file, in
    the same folder. `documentation` says where all this stands.
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
    """One MCP client by the file of its servers: in which form that is, and how it notices a change.

    `remote` is None for a client whose file takes no remote server. `names_entry` has the entry repeat
    its name. `approves` is the key of an entry with the tools for which the client need not ask. `safe_names`
    tells that it refuses names of tools with other signs than letters, digits and underscores.
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


def listed(name: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a list of clients beside this module, by client."""
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
    name: _client(name, row) for name, row in listed("known_clients.toml").items()
}
"""The clients by name."""
