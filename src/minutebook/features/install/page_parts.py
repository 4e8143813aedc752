"""The part of *Settings* about the clients of this machine."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.features.install.clients import set_up
from minutebook.features.install.known_clients import CLIENTS
from minutebook.machine import places_here


def clients(app: App, caller: Caller, folder: Path | None) -> Mapping[str, Any]:
    """Return the clients, and to the owner of the machine which are set up, seen from a folder."""
    known = list(CLIENTS.values())
    if folder is None:
        return {"clients": None, "known": known}
    here = replace(places_here(), cwd=folder)
    return {"clients": set_up(here), "known": known}
