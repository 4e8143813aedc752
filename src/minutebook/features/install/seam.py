"""The functions of this feature that the core calls: checks of `doctor`, and the part of *Settings*."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from minutebook.app import App
from minutebook.config import Settings
from minutebook.config.machine import places_here
from minutebook.memory.maintenance.doctor import Finding
from minutebook.record.caller import Caller


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
