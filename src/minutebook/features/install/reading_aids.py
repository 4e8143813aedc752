"""The skill that tells an agent when to recall and to store, and a client's permission for tools that only read."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from minutebook.config.machine import Places
from minutebook.features.install.clients import (
    Installation,
    entered_clients,
    installation_of,
    location,
    read_configuration,
    server_part,
)
from minutebook.features.install.config_edits import edited, read
from minutebook.features.install.hooks import HOOKS, parsed, rewritten
from minutebook.features.install.known_clients import CLIENTS, Approval, Client, Skills
from minutebook.record.errors import InvalidInput
from minutebook.serve.contracts.announced import SKILL_FILE
from minutebook.serve.contracts.registry import CONTRACTS

_SERVER = "minutebook"
_PART = "permission"


def reading_tools() -> list[str]:
    """Return the names of the tools for agents that only read."""
    tools = (tool for opened in CONTRACTS.values() for tool in opened().promise["tools"])
    return [
        each["name"]
        for each in tools
        if "forAgents" in each and each["annotations"]["readOnlyHint"]
    ]


def plan_skill(client: str, places: Places, *, remove: bool = False) -> Installation | None:
    """Return the plan of a client's skill, or of its removal; None for a client without skills.

    A skill that several clients share is removed with the last client that has an entry of ours, None before that.
    """
    found = CLIENTS[client]
    if found.skills is None or (remove and _is_shared(found, places)):
        return None
    folder = places.home / ".agents"
    if found.skills is Skills.OWN:
        folder = location(HOOKS[client], "user", places).parent
    path = folder / "skills" / "minutebook" / "SKILL.md"
    before = read_configuration(path)
    after = "" if remove else Path(SKILL_FILE).read_text(encoding="utf-8")
    plan = installation_of(found, "user", path, before, after, "skill", removes=remove)
    return replace(plan, note="", is_deleted=remove)


def _is_shared(client: Client, places: Places) -> bool:
    """Tell whether another client in which Minutebook is entered reads the same skill."""
    return client.skills is Skills.SHARED and any(
        each.names and each.client.skills is Skills.SHARED and each.client is not client
        for each in entered_clients(places)
    )


def plan_permission(client: str, places: Places, *, remove: bool = False) -> Installation | None:
    """Return the plan that a client may call tools that only read without asking, or that it may not any more.

    None for a client without such a setting, and, if the setting is a part of the server's entry, without that entry.
    Raises InvalidInput or Conflict for malformed settings.
    """
    found, tools = CLIENTS[client], reading_tools()
    match found.approval:
        case None:
            return None
        case Approval.RULES:
            path = location(HOOKS[client], "user", places)
            before = read_configuration(path)
            rules = [f"mcp__{_SERVER}__{tool}" for tool in tools]
            after = _with_rules(path, before, rules, remove=remove)
        case Approval.POLICY:
            path = location(found, "user", places).parent / "policies" / "minutebook.toml"
            before = read_configuration(path)
            names = json.dumps(tools)
            after = f'[[rule]]\nmcpName = "{_SERVER}"\ntoolName = {names}\ndecision = "allow"\npriority = 100\n'
            after = "" if remove else after
            plan = installation_of(found, "user", path, before, after, _PART, removes=remove)
            return replace(plan, note="", is_deleted=remove)
        case Approval.ENTRY:
            entered = next(each for each in entered_clients(places) if each.client.name == client)
            if _SERVER not in entered.names or remove:
                return None
            path = entered.path
            before = read_configuration(path)
            servers = read(found.format, before or "", str(path))[found.section]
            allowed = _texts(path, servers[_SERVER].get(found.approves))
            entry = {found.approves: [*allowed, *(each for each in tools if each not in allowed)]}
            after = (
                edited(found.format, before or "", found.section, _SERVER, entry) or before or ""
            )
    part = server_part(_SERVER) if found.approval is Approval.ENTRY else _PART
    plan = installation_of(found, "user", path, before, after, part, removes=remove)
    return replace(plan, note="")


def _with_rules(path: Path, before: str | None, rules: Sequence[str], *, remove: bool) -> str:
    """Return the text of settings with rules that allow tools, or with `remove` without them."""
    settings = parsed(before, path)
    permissions = settings.get("permissions", {})
    if not isinstance(permissions, dict):
        raise InvalidInput(str(path), "must have an object at permissions")
    allowed = _texts(path, permissions.get("allow"))
    kept = [each for each in allowed if each not in rules]
    after = kept if remove else [*allowed, *(each for each in rules if each not in allowed)]
    if after == allowed:
        return before or ""
    return rewritten(before, {**settings, "permissions": {**permissions, "allow": after}}, path)


def _texts(path: Path, value: Any) -> list[str]:
    if value is not None and not isinstance(value, list):
        raise InvalidInput(str(path), "must have a list of the tools that are allowed")
    return [] if value is None else value
