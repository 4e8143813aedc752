"""Enter our hooks, commands that a client runs in each session, into its settings, and take them out."""

import json
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from minutebook.config.machine import Places
from minutebook.features.install.clients import (
    Installation,
    Scope,
    backup_of,
    installation_of,
    location,
    read_configuration,
)
from minutebook.features.install.config_edits import Format, read, without_empties
from minutebook.features.install.json_edits import json_edited
from minutebook.features.install.known_clients import CLIENTS, ClientFile, client_rows
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import Reason


class Form(StrEnum):
    """The form of a client's file of hooks: for each event groups of commands or commands, or one program."""

    GROUPS = "groups"
    COMMANDS = "commands"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookClient(ClientFile):
    """A client's file of hooks.

    `events` maps each event for which we have a hook to its time limit, in the client's unit. `named` is the client
    that the command names, if the file is also another client's. `is_own` if the file has no hooks but ours. `reload` tells a
    person what to do afterwards.
    """

    form: Form
    events: Mapping[str, int] = field(default_factory=dict)
    named: str = ""
    is_own: bool = False

    @property
    def command_name(self) -> str:
        """The client in the command `minutebook hook CLIENT`."""
        return self.named or self.name


def _client(name: str, row: dict[str, Any]) -> HookClient:
    row["form"] = Form(row["form"])
    return HookClient(name=name, **row)


HOOKS: Mapping[str, HookClient] = {
    name: _client(name, row) for name, row in client_rows("known_hooks.toml").items()
}
"""The clients with hooks that we know how to enter."""

_PLUGIN = Path(__file__).with_name("opencode_plugin.js")
_NO_COMMAND = "const COMMAND = []"


def hook_client(client: str) -> HookClient:
    """Return the hook interface of a client. Raises InvalidInput if it has none."""
    found = HOOKS.get(client)
    if found is not None:
        return found
    title = CLIENTS[client].title if client in CLIENTS else ""
    others = Reason("must be one that has hooks: {names}", names=", ".join(HOOKS))
    if title:
        others = Reason(
            "{others}; {title} has none that we know. Without --hooks it gets the tools, and the server's instructions "
            "tell its agent when to recall and when to keep",
            others=others,
            title=title,
        )
    raise InvalidInput("client", others)


def plan_hooks(
    client: str,
    *,
    command: Sequence[str],
    scope: Scope,
    places: Places,
    remove: bool = False,
    earlier: Installation | None = None,
) -> Installation:
    """Return the plan of a client's settings with our hooks, each once, or with `remove` without them; nothing is written.

    `command` is the whole command of the hooks. If `earlier` is a plan of the same file, the returned plan includes it.
    Raises InvalidInput for a client without hooks, or malformed settings.
    """
    found = hook_client(client)
    path = location(found, scope, places)
    is_shared = earlier is not None and earlier.path == path
    before = earlier.before if is_shared and earlier else read_configuration(path)
    text = earlier.after if is_shared and earlier else before
    if found.form is Form.PLUGIN:
        after = "" if remove else _plugin(command)
    else:
        after = _with_hooks(
            found, path, text, _command_line(command, places.platform), remove=remove
        )
    plan = installation_of(CLIENTS[client], scope, path, before, after, "hooks", removes=remove)
    if earlier is not None and is_shared:
        note = earlier.note if remove else f"{earlier.note} {found.reload}"
        return replace(plan, note=note, parts=plan.parts | earlier.parts)
    return replace(plan, note="" if remove else found.reload, is_deleted=remove and not after)


def _command_line(command: Sequence[str], platform: str) -> str:
    return subprocess.list2cmdline(command) if platform == "win32" else shlex.join(command)


def _plugin(command: Sequence[str]) -> str:
    text = _PLUGIN.read_text(encoding="utf-8")
    return text.replace(_NO_COMMAND, f"const COMMAND = {json.dumps(list(command))}")


def _with_hooks(
    client: HookClient, path: Path, before: str | None, command: str, *, remove: bool
) -> str:
    """Return the file's text with our command at each event, or without it; "" if the file never had anything else."""
    settings = parsed(before, path)
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise InvalidInput(str(path), "must have an object at hooks")
    changed = dict(hooks)
    for event, limit in client.events.items():
        others = _without_ours(hooks.get(event, []), client, path)
        entry = {"type": "command", "command": command, "timeout": limit}
        one: Mapping[str, Any] = {"hooks": [entry]} if client.form is Form.GROUPS else entry
        if event in hooks or not remove:
            changed[event] = others if remove else [*others, one]
    if remove:
        original = read_configuration(backup_of(path))
        if original is not None and "version" not in parsed(original, path):
            settings.pop("version", None)
        after = rewritten(before, {**settings, "hooks": changed} if hooks else settings, path)
        is_left = after == before or parsed(after, path).keys() - {"version"}
        return after if is_left or original is not None else ""
    versioned = {"version": 1} if client.form is Form.COMMANDS else {}
    return rewritten(before, {**versioned, **settings, "hooks": changed}, path)


def parsed(text: str | None, path: Path) -> dict[str, Any]:
    """Return a client's settings. Raises InvalidInput if they are not a JSON object."""
    return read(Format.JSONC, text or "", str(path))


def rewritten(text: str | None, settings: Mapping[str, Any], path: Path) -> str:
    """Return the text of a client's settings, edited so that it has `settings`.

    Objects and lists that we emptied are removed, unless the file had them before ours.
    """
    known = parsed(text, path)
    original = parsed(read_configuration(backup_of(path)), path)
    kept = without_empties(settings, known, original)
    return (text or "") if kept == known else json_edited(text or "", kept)


def _without_ours(present: Any, client: HookClient, path: Path) -> list[Any]:
    """Return the entries of an event without our hooks, and without groups of only our hooks."""
    if not isinstance(present, list):
        raise InvalidInput(str(path), "must have a list at each event of hooks")
    kept = []
    for each in present:
        if client.form is Form.COMMANDS:
            kept += [] if _is_ours(each, client) else [each]
            continue
        entries = each.get("hooks") if isinstance(each, dict) else None
        if not isinstance(entries, list):
            kept.append(each)
            continue
        others = [entry for entry in entries if not _is_ours(entry, client)]
        if len(others) == len(entries):
            kept.append(each)
        elif others:
            kept.append({**each, "hooks": others})
    return kept


def _is_ours(entry: Any, client: HookClient) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    ours = rf"minutebook(\.exe)?['\"]?\s(.*\s)?hook {re.escape(client.command_name)}(\s|$)"
    return isinstance(command, str) and re.search(ours, command) is not None
