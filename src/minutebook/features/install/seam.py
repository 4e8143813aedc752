"""The functions of this feature that others call: checks of `doctor`, the part of *Settings*, the options with which a client is served."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from minutebook.app import App
from minutebook.config import Settings
from minutebook.contracts.announced import agent_tool_names
from minutebook.contracts.registry import CONTRACTS
from minutebook.domain.caller import Caller
from minutebook.machine import places_here
from minutebook.services.maintenance.doctor import Finding


def checks_here(settings: Settings) -> list[Finding]:
    """Return the entries that let the folder in which a client is run code."""
    from minutebook.features.install.clients import unsafe_entries

    return [
        Finding(
            f"{each.path}: the entry {each.name} of {each.title} starts Python with -m and without -P, "
            "so the folder that the client is in can run code",
            each.remedy,
        )
        for each in unsafe_entries(places_here())
    ]


def clients(app: App, caller: Caller, folder: Path | None) -> Mapping[str, Any]:
    """Return the clients, and to the owner of the machine which are set up, seen from a folder."""
    from minutebook.features.install.clients import set_up
    from minutebook.features.install.known_clients import CLIENTS

    known = list(CLIENTS.values())
    if folder is None:
        return {"clients": None, "known": known}
    here = replace(places_here(), cwd=folder)
    return {"clients": set_up(here), "known": known}


_CHATS = ("claude-desktop",)
"""Clients that work in no folder: their memories belong to no project."""


def agent_tools() -> Mapping[str, Sequence[str]]:
    """Return the tools that stand before an agent, by the contracts that have some."""
    tools = {name: agent_tool_names(opened().promise) for name, opened in CONTRACTS.items()}
    return {name: each for name, each in tools.items() if each}


def default_options(client: str) -> dict[str, str]:
    """Return the settings with which a client is served by default, as options write them."""
    from minutebook.features.install.known_clients import CLIENTS

    settings = {"tools": ",".join(chain.from_iterable(agent_tools().values())), "answers": "lines"}
    if client not in _CHATS:
        settings["scope_from_folder"] = "on"
    if client in CLIENTS and CLIENTS[client].safe_names:
        settings["tool_names"] = "safe"
    return settings
