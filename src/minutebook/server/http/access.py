"""Who comes in: whoever says who they are, as often as they may, for as long as they are known."""

import logging
from collections import defaultdict

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from minutebook.domain.caller import Caller, in_call
from minutebook.domain.errors import KeysUnavailable, StoreError, Unidentified
from minutebook.domain.grants import principal
from minutebook.server.dispatch import OpenApp, new_session
from minutebook.server.http.authentication import Identity, user_of
from minutebook.server.http.errors import refusal
from minutebook.server.http.rate_limit import Pace, Queue

log = logging.getLogger(__name__)

ASKED_EVERY = 2.0
"""Seconds between two looks whether who holds a stream open is still known."""

DOOR = "door"
"""The session in whose name the door keeps the store running."""

MOST_STREAMS = 384
"""How many streams are open at once, so that connections are left for calls."""

ASKING_AT_ONCE = 4
"""How many requests are identified at once, in threads that no call can take away."""


class Doorkeeper:
    """Asks who comes, how often they came, and who of those that stay is still known."""

    def __init__(
        self,
        open_app: OpenApp,
        identity: Identity,
        pace: Pace,
        leaving: anyio.Event,
        *,
        admits_nobody: bool,
    ) -> None:
        """`admits_nobody`: who shows no token is let in, where no token is needed."""
        self._open_app = open_app
        self.identity = identity
        self.pace = pace
        self._leaving = leaving
        self._admits_nobody = admits_nobody
        self._askers = anyio.CapacityLimiter(ASKING_AT_ONCE)
        self._sessions: dict[str, str] = defaultdict(new_session)
        self._streams = Queue(MOST_STREAMS)

    async def caller_of(self, request: Request) -> Caller:
        """Tell who asks; Unidentified, KeysUnavailable, StoreError."""
        shown = request.headers.get("authorization")
        if shown is None and not self._admits_nobody:
            raise Unidentified("a token is needed here", is_given=False)
        return await anyio.to_thread.run_sync(self._identified, shown, limiter=self._askers)

    def _identified(self, shown: str | None) -> Caller:
        # Tokens are in the store, so it runs on when every caller has stopped it for themselves.
        self._open_app().database.enter(DOOR)
        return self.identity.caller_of(shown)

    def in_session(self, caller: Caller) -> Caller:
        """Give a caller whose requests keep no session themselves the one they have while we serve."""
        return in_call(caller, session=self._sessions[principal(caller)])

    async def stream(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a stream without end, until its caller is known no longer or the server leaves; Full."""
        with self._streams.place(Request(scope).state.caller):
            await self._stream(app, scope, receive, send)

    async def _stream(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        last: Message | None = None

        async def sending(message: Message) -> None:
            nonlocal last
            last = message
            await send(message)

        async with anyio.create_task_group() as group:
            group.start_soon(self._stay, Request(scope), group.cancel_scope)
            await app(scope, receive, sending)
            group.cancel_scope.cancel()
        if last is None:
            await refusal(Request(scope), 503, "The stream has ended")(scope, receive, send)
        elif last["type"] == "http.response.start" or last.get("more_body"):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _stay(self, request: Request, stream: anyio.CancelScope) -> None:
        """End a stream when the time has come."""
        while not self._leaving.is_set():
            with anyio.move_on_after(ASKED_EVERY):
                await self._leaving.wait()
                break
            try:
                await self.caller_of(request)
            except Unidentified:
                break
            except (KeysUnavailable, StoreError):
                # Whether they are known cannot be told now; it could when they came.
                continue
        stream.cancel()


class Door:
    """Lets a request in with its caller in `request.state.caller`, or refuses it: 401, 429, 503."""

    def __init__(self, app: ASGIApp, keeper: Doorkeeper) -> None:
        self._app = app
        self._keeper = keeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request in its caller's name."""
        request = Request(scope)
        keeper = self._keeper
        try:
            caller = await keeper.caller_of(request)
        except Unidentified as error:
            challenge = keeper.identity.challenge(request.url.path, error)
            response = refusal(request, 401, error.reason, headers={"WWW-Authenticate": challenge})
            await response(scope, receive, send)
            return
        except (KeysUnavailable, StoreError) as error:
            # To whom the rest may be told is not known either.
            log.error("nobody can be identified: %s", error.reason)
            reason = "Nobody can be identified now; the log of the server tells why"
            await refusal(request, 503, reason)(scope, receive, send)
            return
        if caller.token and (wait := keeper.pace.wait(principal(caller))):
            reason = f"This token has made too many requests; come again in {wait} s"
            response = refusal(request, 429, reason, headers={"Retry-After": str(wait)})
            await response(scope, receive, send)
            return
        request.state.caller = in_call(caller, request=request.state.id)
        scope["user"] = user_of(caller)
        await self._app(scope, receive, send)
