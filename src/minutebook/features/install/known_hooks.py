"""The clients with sessions that run commands, as `known_hooks.toml` lists them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from minutebook.features.install.known_clients import ClientFile, listed


class Form(StrEnum):
    """How a client's file lists hooks: groups of commands an event, commands an event, or a program."""

    GROUPS = "groups"
    COMMANDS = "commands"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookClient(ClientFile):
    """One client with hooks by the file of these: its form, and the events for which we have one.

    `events` maps each to the time limit that stands beside it, in the client's unit. `named` is the client
    that the command names, where the file is another's too. `is_own` tells that nobody else's hooks are in
    the file. `reload` says what a person does then.
    """

    form: Form
    events: Mapping[str, int] = field(default_factory=dict)
    named: str = ""
    is_own: bool = False

    @property
    def command_name(self) -> str:
        """The client that `minutebook hook` is told."""
        return self.named or self.name


def _client(name: str, row: dict[str, Any]) -> HookClient:
    row["form"] = Form(row["form"])
    return HookClient(name=name, **row)


HOOKS: Mapping[str, HookClient] = {
    name: _client(name, row) for name, row in listed("known_hooks.toml").items()
}
"""The clients that have hooks we know how to enter."""
