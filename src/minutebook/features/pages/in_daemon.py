"""The web pages, which the daemon serves from its store and model as long as the person's process waits."""

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from minutebook.config import Settings
from minutebook.domain.caller import Caller
from minutebook.features.http.process import of_this_machine, serve_alone
from minutebook.features.http.requests.hosts import Address
from minutebook.features.pages.frame.sign_ins import SignIns
from minutebook.features.pages.serving import PagesMount
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
    sign_ins = SignIns(owner, folder=Path(str(wanted["folder"])))

    def announce(url: str) -> None:
        send({"link": f"{url}/enter?key={sign_ins.link()}"})

    def wait() -> None:
        # It says nothing more: what is read is its end, or the daemon's.
        with suppress(OSError):
            connection.recv(1)

    alone = of_this_machine(settings)
    address = Address("127.0.0.1", int(wanted["port"]))
    serve_alone(alone, loader, address, announce, PagesMount(sign_ins, is_local=True), wait)
