"""The tools that an agent is served by default, and the default settings of a client's server."""

from collections.abc import Mapping, Sequence
from itertools import chain

from minutebook.features.install.known_clients import CLIENTS
from minutebook.serve.contracts.announced import agent_tool_names
from minutebook.serve.contracts.registry import CONTRACTS

_CHATS = ("claude-desktop",)
"""Clients that do not work in a folder, so that their memories belong to no project."""


def agent_tools() -> Mapping[str, Sequence[str]]:
    """Return the tools that an agent is served by default, by contract."""
    tools = {name: agent_tool_names(opened().promise) for name, opened in CONTRACTS.items()}
    return {name: each for name, each in tools.items() if each}


def default_options(client: str) -> dict[str, str]:
    """Return the default settings of a client's server, with values as options have them."""
    settings = {"tools": ",".join(chain.from_iterable(agent_tools().values())), "answers": "lines"}
    if client not in _CHATS:
        settings["scope_from_folder"] = "on"
    if client in CLIENTS and CLIENTS[client].safe_names:
        settings["tool_names"] = "safe"
    return settings
