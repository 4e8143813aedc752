"""Requests wait for their turn, before anything is done for them."""

import hashlib
from ipaddress import ip_address, ip_network

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from minutebook.features.http.requests.body import RequestTurn
from minutebook.features.http.requests.errors import refused
from minutebook.serve.limits import KEPT, FairQueue, TooManyRequests

SHOWN = 4
"""What one principal showed last that is remembered: its tokens and sign-ins."""


class Admission:
    """Has each request wait for its turn, which ends with the answer, or after TURN_SECONDS.

    Whose turn it is, is said by the token or sign-in that the request shows, if a request with it was let in before; else by
    the address. Nothing is permitted by it.
    """

    def __init__(self, app: ASGIApp, queue: FairQueue) -> None:
        self._app = app
        self._queue = queue
        self._principals = _Principals()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request in its turn, or refuse it: 429."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        shown = _shown(request)
        turn = RequestTurn(self._queue, self._principals.find(shown) or _address(request))
        request.state.turn = turn
        try:
            await turn.take()
        except TooManyRequests as error:
            await refused(request, error)(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            turn.release()
            caller = getattr(request.state, "caller", None)
            if caller is not None and caller.token:
                self._principals.remember(shown, caller.principal)


class _Principals:
    """The principals of requests' credentials: of each the last few, so that none makes another forgotten."""

    def __init__(self) -> None:
        self._of: dict[bytes, str] = {}
        # Both in the order in which they came last.
        self._shown: dict[str, dict[bytes, None]] = {}

    def find(self, shown: bytes) -> str | None:
        """Return the principal of a credential; None if it was not remembered."""
        return self._of.get(shown)

    def remember(self, shown: bytes, principal: str) -> None:
        """Remember the principal of a credential."""
        by_it = self._shown[principal] = self._shown.pop(principal, {})
        by_it.pop(shown, None)
        by_it[shown] = None
        self._of[shown] = principal
        if len(by_it) > SHOWN:
            self._forget(by_it, next(iter(by_it)))
        if len(self._shown) > KEPT:
            longest_ago = self._shown.pop(next(iter(self._shown)))
            for each in list(longest_ago):
                self._forget(longest_ago, each)

    def _forget(self, by_it: dict[bytes, None], shown: bytes) -> None:
        del by_it[shown]
        self._of.pop(shown, None)


def _shown(request: Request) -> bytes:
    """Return the digest of a request's credential."""
    headers = request.headers
    text = headers.get("authorization") or headers.get("cookie", "")
    return hashlib.sha256(text.encode("latin-1")).digest()


def _address(request: Request) -> str:
    """Return the client's IPv4 address, or the /64 network of its IPv6 address, which one subscriber has."""
    host = request.client.host if request.client else ""
    try:
        parsed = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    return str(ip_network((parsed, 64), strict=False)) if parsed.version == 6 else host
