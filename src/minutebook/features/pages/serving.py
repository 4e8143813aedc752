"""The pages as `serve --http` and `ui` have them served."""

from collections.abc import Sequence

from starlette.routing import BaseRoute, Mount

from minutebook.config import Settings
from minutebook.domain.errors import InvalidInput
from minutebook.features.http.mounts import Served
from minutebook.features.http.requests.hosts import Address
from minutebook.features.pages.frame.application import pages_application
from minutebook.features.pages.frame.host import Host, is_https, public_url_of
from minutebook.features.pages.frame.register import registered
from minutebook.features.pages.frame.sign_ins import SignIns


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
