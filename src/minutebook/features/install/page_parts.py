"""The part of *Settings* about the clients of this machine."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minutebook.app import App
from minutebook.config import environment
from minutebook.domain.caller import Caller
from minutebook.features.install.clients import Places, set_up
from minutebook.features.install.known_clients import CLIENTS


def clients(app: App, caller: Caller, folder: Path | None) -> Mapping[str, Any]:
    """Return the clients, and to the owner of the machine which are set up, seen from a folder."""
    known = list(CLIENTS.values())
    if folder is None:
        return {"clients": None, "known": known}
    here = Places(platform=sys.platform, home=Path.home(), cwd=folder, variables=environment())
    return {"clients": set_up(here), "known": known}
