"""The functions that the core calls: checks of `doctor`, and a part of the page *Settings*."""

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
    """Return a finding for each entry that lets code in the client's working directory run."""
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
    """Return the known clients, and, if `folder` is not None, the files of each with our entries, as seen from that folder."""
    from minutebook.features.install.clients import entered_clients
    from minutebook.features.install.known_clients import CLIENTS

    known = list(CLIENTS.values())
    if folder is None:
        return {"clients": None, "known": known}
    here = replace(places_here(), cwd=folder)
    return {"clients": entered_clients(here), "known": known}
