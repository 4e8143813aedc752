"""Requests wait for their turn before anything else is done for them."""

import hashlib
from ipaddress import ip_address, ip_network

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from minutebook.features.http.requests.body import RequestTurn
from minutebook.features.http.requests.errors import refused
from minutebook.serve.limits import KEPT, FairQueue, TooManyRequests

REMEMBERED = 4
"""Credentials, tokens or sign-ins, that are remembered of one principal: the latest."""


class Admission:
    """Has each request wait for a turn of its holder; the turn ends with the answer, or after TURN_SECONDS.

    The holder is the principal of the request's credential if an earlier request with it was authenticated, else the
    client's address. This permits nothing.
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
        credential = _credential(request)
        turn = RequestTurn(self._queue, self._principals.find(credential) or _address(request))
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
                self._principals.remember(credential, caller.principal)


class _Principals:
    """The principals of credentials: the last few of each principal, so that none displaces those of another."""

    def __init__(self) -> None:
        self._principals: dict[bytes, str] = {}
        # Principals and their credentials are in the order in which they came last.
        self._credentials: dict[str, dict[bytes, None]] = {}

    def find(self, credential: bytes) -> str | None:
        """Return the principal of a credential; None if it is not remembered."""
        return self._principals.get(credential)

    def remember(self, credential: bytes, principal: str) -> None:
        """Remember the principal of a credential."""
        own = self._credentials[principal] = self._credentials.pop(principal, {})
        own.pop(credential, None)
        own[credential] = None
        self._principals[credential] = principal
        if len(own) > REMEMBERED:
            oldest = next(iter(own))
            del own[oldest]
            self._principals.pop(oldest, None)
        if len(self._credentials) > KEPT:
            for each in self._credentials.pop(next(iter(self._credentials))):
                self._principals.pop(each, None)


def _credential(request: Request) -> bytes:
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
