"""Serve the pages, by `serve --http` and `ui`."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.routing import BaseRoute, Mount

from minutebook.config import Settings
from minutebook.features.http.mounts import Served
from minutebook.features.http.process import of_this_machine, serve_alone
from minutebook.features.http.requests.hosts import Address
from minutebook.features.pages.frame.application import pages_application
from minutebook.features.pages.frame.host import Host, is_https, public_url_of
from minutebook.features.pages.frame.register import registered
from minutebook.features.pages.frame.sign_ins import SignIns
from minutebook.record.errors import InvalidInput
from minutebook.serve.daemon.operations import DaemonClient, unknown_request


def show(daemon_client: DaemonClient, request: Mapping[str, Any]) -> None:
    """Serve the pages at a port of this machine until the client leaves; send it the link that signs its owner in.

    Raises InvalidInput if the port cannot be used, or the request is malformed.
    """
    if not isinstance(wanted := request["pages"], dict):
        raise unknown_request()
    sign_ins = SignIns(daemon_client.caller, folder=Path(str(wanted["folder"])))

    def announce(url: str) -> None:
        daemon_client.send({"link": f"{url}/enter?key={sign_ins.link()}"})

    def wait() -> None:
        # The client sends nothing more: this returns when its connection ends, or the daemon does.
        with suppress(OSError):
            daemon_client.connection.recv(1)

    local = of_this_machine(daemon_client.settings)
    address = Address("127.0.0.1", int(wanted["port"]))
    mount = PagesMount(sign_ins, is_local=True)
    with daemon_client.host.stay():
        serve_alone(local, daemon_client.host.loader, address, announce, mount, wait)


class PagesMount:
    """The mount of the pages, at every path that no other route has; with `is_local` no other way to sign in is offered."""

    def __init__(self, sign_ins: SignIns, *, is_local: bool = False) -> None:
        self._sign_ins, self._is_local = sign_ins, is_local

    def check(self, settings: Settings, address: Address) -> None:
        """Raise InvalidInput if cookies would be sent over plain http."""
        if not address.is_loopback and not is_https(public_url_of(settings)):
            raise InvalidInput(
                "--ui",
                "at {address} would send its cookies over plain http; serve behind a proxy and name its https "
                "address as `public_url`, or serve at 127.0.0.1",
                address=address,
            )
        _ways(settings)

    def announced(self, settings: Settings, url: str) -> str:
        """Return the sentence with the URL of the pages, and the ways to sign in."""
        ways = " or ".join(filter(None, ["a token", *_ways(settings)]))
        return f"Its pages are at {public_url_of(settings) or url}; {ways} lets people in"

    def routes(self, served: Served) -> Sequence[BaseRoute]:
        """Return the mount of all pages."""
        host = Host(served.settings, served.dispatcher, served.access)
        return [Mount("/", pages_application(host, self._sign_ins, is_local=self._is_local))]


def _ways(settings: Settings) -> Sequence[str]:
    """Return the names of the ways to sign in besides a token. Raises InvalidInput if settings do not fit together."""
    return [way.name(settings) for each in registered() for way in each.ways_in]
