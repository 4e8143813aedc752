"""The web pages, which the daemon serves from its store and model as long as the person's process waits."""

import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from minutebook.config import Settings, environment
from minutebook.domain.caller import Caller
from minutebook.features.http.process import of_this_machine, serve_pages
from minutebook.features.http.requests.hosts import Address
from minutebook.features.install.clients import Places
from minutebook.features.pages.frame.sign_ins import SignIns
from minutebook.server.app_loader import AppLoader


def show(
    connection: socket.socket,
    loader: AppLoader,
    settings: Settings,
    owner: Caller,
    wanted: Mapping[str, Any],
    send: Callable[[Mapping[str, Any]], None],
) -> None:
    """Serve the pages to a port of this machine until the client leaves; send the link that lets its owner in.

    Raises InvalidInput if the port cannot be used.
    """
    folder, variables = Path(str(wanted["folder"])), environment()
    places = Places(platform=sys.platform, home=Path.home(), cwd=folder, variables=variables)
    sign_ins = SignIns(owner, places=places)

    def announce(url: str) -> None:
        send({"link": f"{url}/enter?key={sign_ins.link()}"})

    def wait() -> None:
        # It says nothing more: what is read is its end, or the daemon's.
        with suppress(OSError):
            connection.recv(1)

    alone = of_this_machine(settings)
    address = Address("127.0.0.1", int(wanted["port"]))
    serve_pages(alone, loader, address, announce, sign_ins, wait)
