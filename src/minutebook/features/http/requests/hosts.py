"""The host names by which the server may be called, and the origins of pages that may call it.

A web page must not make a browser call a server of this machine: neither by a name that its owner points
here (checked by `Host`), nor from its own origin (checked by `Origin`).
"""

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from minutebook.features.http.requests.errors import refusal
from minutebook.record.errors import InvalidInput

LOOPBACK = "localhost"

_ADDRESS = re.compile(
    r"((\[(?P<number>[0-9a-fA-F:.]+)\]|(?P<name>[^:\[\]\s/]+)):)?(?P<port>[0-9]{1,5})"
)


@dataclass(frozen=True, slots=True)
class Address:
    """The address at which the server listens."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Tell whether only this machine can connect to it."""
        return _is_loopback(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parsed_address(text: str) -> Address:
    """Return the address in a text: HOST:PORT, [IPV6]:PORT, or PORT for 127.0.0.1.

    Raises InvalidInput if the text is none of these.
    """
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found["port"]) > 65535:
        raise InvalidInput(
            "http", "must be HOST:PORT, such as 127.0.0.1:8765 (got {given!r})", given=text
        )
    return Address(found["number"] or found["name"] or "127.0.0.1", int(found["port"]))


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """The names by which the server may be called, and the origins of pages that may call it."""

    hosts: Collection[str]
    origins: Collection[str]
    is_loopback: bool

    def has_host(self, host: str) -> bool:
        """Tell whether a `Host` header is the server's.

        Any IP address is allowed: unlike a name, nobody can point it elsewhere.
        """
        name = None if "@" in host else _name_of(f"//{host}")
        return name is not None and (name in {LOOPBACK, *self.hosts} or _is_number(name))

    def has_origin(self, origin: str, host: str) -> bool:
        """Tell whether a page of an origin may call the server by a `Host`: one in `origins`, or of the same host and port.

        Pages from other ports of this machine may not: another program or user serves them.
        """
        if origin in self.origins:
            return True
        name = _name_of(origin)
        if name is None or urlsplit(origin).scheme not in ("http", "https"):
            return False
        return urlsplit(origin).netloc == host


class HostCheck:
    """Lets through requests addressed to this server, from its own pages or from none."""

    def __init__(self, app: ASGIApp, names: AllowedHosts) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it with 421 or 403."""
        if scope["type"] == "http":
            request = Request(scope)
            host, origin = request.headers.get("host", ""), request.headers.get("origin")
            if not self._names.has_host(host):
                reason = (
                    f"Host {host[:100]!r} is not this server's; http_hosts names those that are"
                )
                await refusal(request, 421, reason)(scope, receive, send)
                return
            if origin is not None and not self._names.has_origin(origin, host):
                reason = f"Origin {origin[:100]!r} is not let in; http_origins names those that are"
                await refusal(request, 403, reason)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _name_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return name == LOOPBACK or (_is_number(name) and ipaddress.ip_address(name).is_loopback)
