"""The pages as `serve --http` and `ui` have them served."""

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


def show(asking: DaemonClient, request: Mapping[str, Any]) -> None:
    """Serve the pages to a port of this machine until the client leaves; send the link that lets its owner in.

    Raises InvalidInput if the port cannot be used, or the request has another form.
    """
    if not isinstance(wanted := request["pages"], dict):
        raise unknown_request()
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


class PagesMount:
    """The pages at every path that nothing else has; to this machine alone a token is the only other way in."""

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
        """Return the sentence that tells where the pages are, and by which ways people come in."""
        ways = " or ".join(filter(None, ["a token", *_ways(settings)]))
        return f"Its pages are at {public_url_of(settings) or url}; {ways} lets people in"

    def routes(self, served: Served) -> Sequence[BaseRoute]:
        """Return the mount of all pages."""
        host = Host(served.settings, served.dispatcher, served.access)
        return [Mount("/", pages_application(host, self._sign_ins, is_local=self._is_local))]


def _ways(settings: Settings) -> Sequence[str]:
    """Return the other ways in by settings. Raises InvalidInput if they do not fit together."""
    return [way.name(settings) for each in registered() for way in each.ways_in]
