"""The web pages, which the daemon serves from its store and model as long as the person's process waits."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from minutebook.features.http.process import of_this_machine, serve_alone
from minutebook.features.http.requests.hosts import Address
from minutebook.features.pages.frame.sign_ins import SignIns
from minutebook.features.pages.serving import PagesMount
from minutebook.server.daemon.operations import DaemonClient, unknown


def show(asking: DaemonClient, request: Mapping[str, Any]) -> None:
    """Serve the pages to a port of this machine until the client leaves; send the link that lets its owner in.

    Raises InvalidInput if the port cannot be used, or the request has another form.
    """
    if not isinstance(wanted := request["pages"], dict):
        raise unknown()
    sign_ins = SignIns(asking.caller, folder=Path(str(wanted["folder"])))

    def announce(url: str) -> None:
        asking.send({"link": f"{url}/enter?key={sign_ins.link()}"})

    def wait() -> None:
        # It says nothing more: what is read is its end, or the daemon's.
        with suppress(OSError):
            asking.connection.recv(1)

    alone = of_this_machine(asking.settings)
    address = Address("127.0.0.1", int(wanted["port"]))
    mount = PagesMount(sign_ins, is_local=True)
    with asking.host.stay():
        serve_alone(alone, asking.host.loader, address, announce, mount, wait)
