"""Enter our hooks into a client's settings, and take them out: commands that it runs in each session."""

import json
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from minutebook.domain.errors import InvalidInput
from minutebook.domain.reason import Reason
from minutebook.features.install.clients import (
    Installation,
    Scope,
    installation_of,
    location,
    read_configuration,
)
from minutebook.features.install.known_clients import CLIENTS
from minutebook.features.install.known_hooks import HOOKS, Form, HookClient
from minutebook.machine import Places

_INDENT = re.compile(r"^([ \t]+)\"", re.MULTILINE)
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
    now: datetime,
    remove: bool = False,
    earlier: Installation | None = None,
) -> Installation:
    """Work out the settings with our hooks, each once, or without them; other entries stay.

    `command` is the program with its options, to which `hook CLIENT` belongs. If `earlier` is a plan of
    the same file, the plan that is returned has its change, too, and takes its place. Writes nothing. Raises
    InvalidInput for a client without hooks, or settings that are not what they should be.
    """
    found = hook_client(client)
    path = location(found, scope, places)
    is_shared = earlier is not None and earlier.path == path
    before = earlier.before if is_shared and earlier else read_configuration(path)
    text = earlier.after if is_shared and earlier else before
    if found.form is Form.PLUGIN:
        after = "" if remove else _plugin(command)
    else:
        after = _listed(found, path, text, _typed(command, places.platform), remove=remove)
    plan = installation_of(CLIENTS[client], scope, path, before, after, now)
    note = f"{earlier.note} {found.reload}" if is_shared and earlier else found.reload
    is_gone = found.is_own and remove and not after
    # What is ours alone leaves nothing behind, and a copy beside it might be read as another.
    backup = None if is_gone or found.form is Form.PLUGIN else plan.backup
    return replace(plan, note=note, is_removed=is_gone, backup=backup)


def _typed(command: Sequence[str], platform: str) -> str:
    return subprocess.list2cmdline(command) if platform == "win32" else shlex.join(command)


def _plugin(command: Sequence[str]) -> str:
    text = _PLUGIN.read_text(encoding="utf-8")
    return text.replace(_NO_COMMAND, f"const COMMAND = {json.dumps(list(command))}")


def _listed(
    client: HookClient, path: Path, before: str | None, command: str, *, remove: bool
) -> str:
    """Return the file's text with our command at each event, or without; "" if nothing else was in it."""
    settings = parsed(before, path)
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise InvalidInput(str(path), "must have an object at hooks")
    changed = dict(hooks)
    for event, limit in client.events.items():
        changed[event] = _without_ours(hooks.get(event, []), client, path)
        if not remove:
            entry = {"type": "command", "command": command, "timeout": limit}
            one: Mapping[str, Any] = {"hooks": [entry]} if client.form is Form.GROUPS else entry
            changed[event].append(one)
    kept = {event: each for event, each in changed.items() if each or event not in client.events}
    others = {key: value for key, value in settings.items() if key != "hooks"}
    if client.form is Form.COMMANDS:
        others = {"version": 1, **others}
    after = {**others, **({"hooks": kept} if kept or client.form is Form.COMMANDS else {})}
    if client.is_own and remove and not kept and set(others) == {"version"}:
        return ""
    is_same = after == settings or (remove and kept == hooks)
    return (before or "") if is_same else written(after, before)


def parsed(text: str | None, path: Path) -> dict[str, Any]:
    """Read a client's settings. Raises InvalidInput if they are no object of JSON."""
    if text is None or not text.strip():
        return {}
    try:
        settings = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        remedy = "must be valid JSON, without comments; correct this by hand first: {error}"
        raise InvalidInput(str(path), remedy, error=error) from error
    if not isinstance(settings, dict):
        raise InvalidInput(str(path), "must be a JSON object")
    return settings


def _without_ours(listed: Any, client: HookClient, path: Path) -> list[Any]:
    """Return the entries of an event without our hooks; a group that held nothing else is left out."""
    if not isinstance(listed, list):
        raise InvalidInput(str(path), "must have a list at each event of hooks")
    left = []
    for each in listed:
        if client.form is Form.COMMANDS:
            left += [] if _is_ours(each, client) else [each]
            continue
        entries = each.get("hooks") if isinstance(each, dict) else None
        if not isinstance(entries, list):
            left.append(each)
            continue
        others = [entry for entry in entries if not _is_ours(entry, client)]
        if len(others) == len(entries):
            left.append(each)
        elif others:
            left.append({**each, "hooks": others})
    return left


def _is_ours(entry: Any, client: HookClient) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    ours = rf"minutebook(\.exe)?['\"]?\s(.*\s)?hook {re.escape(client.command_name)}(\s|$)"
    return isinstance(command, str) and re.search(ours, command) is not None


def written(settings: Mapping[str, Any], before: str | None) -> str:
    """Write settings with the indent that they had."""
    found = _INDENT.search(before or "")
    return json.dumps(settings, indent=found[1] if found else 2, ensure_ascii=False) + "\n"
