"""Enter our hooks into a client's settings, and take them out: commands that it runs in each session.

Claude Code's are documented at https://code.claude.com/docs/en/hooks.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from minutebook.domain.errors import InvalidInput
from minutebook.install.clients import (
    Installation,
    Places,
    Scope,
    installation_of,
    read_configuration,
)
from minutebook.install.known_clients import CLIENTS

TIMEOUT = 5
"""Seconds after which the client itself ends a hook, which should have ended by itself long before."""

_INDENT = re.compile(r"^([ \t]+)\"", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class HookPlace:
    """Where a client keeps its hooks, and for which events we have one."""

    variable: str
    folder: str
    file: str
    events: tuple[str, ...]


HOOKS: Mapping[str, HookPlace] = {
    "claude-code": HookPlace(
        "CLAUDE_CONFIG_DIR",
        ".claude",
        "settings.json",
        ("SessionStart", "UserPromptSubmit", "SessionEnd"),
    ),
}
"""The clients that have hooks we know how to enter."""


def plan_hooks(
    client: str,
    *,
    command: Sequence[str],
    scope: Scope,
    places: Places,
    now: datetime,
    remove: bool = False,
) -> Installation:
    """Work out the settings with our hooks, each once, or without them; what others entered stays.

    `command` is the program with its options, to which `hook CLIENT` belongs. Writes nothing. Raises
    InvalidInput for a client without hooks, or settings that are not what they should be.
    """
    place = HOOKS.get(client)
    if place is None:
        raise InvalidInput("client", f"must be one that has hooks: {', '.join(HOOKS)}")
    root = (
        places.cwd / place.folder
        if scope == "project"
        else places.folder(place.variable, place.folder)
    )
    path = root / place.file
    before = read_configuration(path)
    settings = _parsed(before, path)
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise InvalidInput(str(path), "must have an object at hooks")
    entry = {"type": "command", "command": shlex.join(command), "timeout": TIMEOUT}
    for event in place.events:
        groups = _without_ours(hooks.get(event, []), client, path)
        if not remove:
            groups.append({"hooks": [entry]})
        hooks[event] = groups
    kept = {event: groups for event, groups in hooks.items() if groups}
    after = {**{key: value for key, value in settings.items() if key != "hooks"}}
    if kept:
        after["hooks"] = kept
    text = (before or "") if after == _parsed(before, path) else _written(after, before)
    return installation_of(CLIENTS[client], scope, path, before, text, now)


def _parsed(text: str | None, path: Path) -> dict[str, Any]:
    if text is None or not text.strip():
        return {}
    try:
        settings = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        remedy = f"must be valid JSON; correct this by hand first: {error}"
        raise InvalidInput(str(path), remedy) from error
    if not isinstance(settings, dict):
        raise InvalidInput(str(path), "must be a JSON object")
    return settings


def _without_ours(groups: Any, client: str, path: Path) -> list[Any]:
    """Return the groups of an event without our hooks; one that held nothing else is left out."""
    if not isinstance(groups, list):
        raise InvalidInput(str(path), "must have a list at each event of hooks")
    left = []
    for group in groups:
        entries = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(entries, list):
            left.append(group)
            continue
        others = [each for each in entries if not _is_ours(each, client)]
        if len(others) == len(entries):
            left.append(group)
        elif others:
            left.append({**group, "hooks": others})
    return left


def _is_ours(entry: Any, client: str) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    asks = ["hook", client]
    is_hook = any(words[at : at + 2] == asks for at in range(len(words)))
    return is_hook and any(Path(word).stem == "minutebook" for word in words)


def _written(settings: Mapping[str, Any], before: str | None) -> str:
    """Write settings with the indent that they had."""
    found = _INDENT.search(before or "")
    return json.dumps(settings, indent=found[1] if found else 2, ensure_ascii=False) + "\n"
