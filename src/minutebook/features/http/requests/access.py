"""Authenticate requests, apply the rate limit, end streams of revoked tokens."""

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from minutebook.app import App
from minutebook.features.http.requests.authentication import Authenticator, user_of
from minutebook.features.http.requests.errors import refusal
from minutebook.memory.maintenance.database import EngineControl
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import KeysUnavailable, StoreError, Unidentified
from minutebook.serve.dispatch import OpenApp, new_session
from minutebook.serve.limits import RESERVED_THREADS, Limits

log = logging.getLogger(__name__)

CHECK_EVERY = 2.0
"""Seconds between two checks that the caller of an open stream is still authenticated."""

Check = Callable[[], Awaitable[object]]
"""Raises Unidentified if the caller of an open stream is no longer authenticated."""

T = TypeVar("T")

SESSION = "http"
"""The session with which authentication keeps the store running."""


class AccessControl:
    """Authenticates requests, names their sessions, and ends the streams of callers that are no longer authenticated."""

    def __init__(
        self,
        open_app: OpenApp,
        authenticator: Authenticator,
        limits: Limits,
        leaving: anyio.Event,
        *,
        needs_token: bool,
    ) -> None:
        """With `needs_token` every request without a token is refused, even if no token exists."""
        self._open_app = open_app
        self.authenticator = authenticator
        self.limits = limits
        self._leaving = leaving
        self._needs_token = needs_token
        self._threads = anyio.CapacityLimiter(RESERVED_THREADS)
        self._sessions: dict[str, str] = defaultdict(new_session)

    async def authenticate(self, request: Request) -> Caller:
        """Return the caller of a request.

        Raises Unidentified if its token is missing or not valid, KeysUnavailable if the issuer's keys
        cannot be fetched, StoreError if the store cannot be read.
        """
        header = request.headers.get("authorization")
        if header is None and self._needs_token:
            raise Unidentified("a token is needed here", is_given=False)
        return await self.identify(header)

    async def identify(self, header: str | None) -> Caller:
        """Return the caller of an Authorization header, or of a request without one.

        Raises Unidentified, KeysUnavailable, StoreError.
        """
        return await self.ask(lambda app: self.authenticator.caller_of(header))

    async def ask(
        self, task: Callable[[App], T], threads: anyio.CapacityLimiter | None = None
    ) -> T:
        """Run a task on the open app, in one of `threads`, by default those that are reserved for identifying callers."""

        def run() -> T:
            app = self._open_app()
            # Tokens are in the store: it must run even if every caller has stopped it for itself.
            app.database.acquire(SESSION)
            return task(app)

        return await anyio.to_thread.run_sync(run, limiter=threads or self._threads)

    def release(self, database: EngineControl) -> None:
        """Release the store for the sessions of all requests, when the server ends but others use the store too."""
        for session in (SESSION, *self._sessions.values()):
            database.release(session)

    def in_session(self, caller: Caller) -> Caller:
        """Return the caller in the session of its principal, for requests without a session of their own."""
        return with_call(caller, session=self._sessions[caller.principal])

    async def stream(
        self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, check: Check | None = None
    ) -> None:
        """Serve a stream until its caller is no longer authenticated or the server ends.

        `check` replaces the check of the request's token. Raises TooManyRequests if the principal has its share of
        streams open.
        """
        request = Request(scope)
        with self.limits.streams.hold(request.state.caller.principal):
            await self._stream(
                app, scope, receive, send, check or partial(self.authenticate, request)
            )

    async def _stream(
        self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, check: Check
    ) -> None:
        last: Message | None = None

        async def sending(message: Message) -> None:
            nonlocal last
            last = message
            await send(message)

        async with anyio.create_task_group() as group:
            group.start_soon(self._end_when_due, check, group.cancel_scope)
            await app(scope, receive, sending)
            group.cancel_scope.cancel()
        if last is None:
            await refusal(Request(scope), 503, "The stream has ended")(scope, receive, send)
        elif last["type"] == "http.response.start" or last.get("more_body"):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _end_when_due(self, check: Check, stream: anyio.CancelScope) -> None:
        """End a stream once its check fails or the server ends."""
        while not self._leaving.is_set():
            with anyio.move_on_after(CHECK_EVERY):
                await self._leaving.wait()
                break
            try:
                await check()
            except Unidentified:
                break
            except (KeysUnavailable, StoreError):
                # The caller cannot be checked now, and was authenticated before.
                continue
        stream.cancel()


class AccessMiddleware:
    """Serves a request with its caller in `request.state.caller`, or refuses it: 401, 429, 503."""

    def __init__(self, app: ASGIApp, access: AccessControl) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request in its caller's name."""
        request = Request(scope)
        access = self._access
        try:
            caller = await access.authenticate(request)
        except Unidentified as error:
            challenge = access.authenticator.challenge(request.url.path, error)
            response = refusal(request, 401, error.reason, headers={"WWW-Authenticate": challenge})
            await response(scope, receive, send)
            return
        except (KeysUnavailable, StoreError) as error:
            # The reason is not sent: the caller may not be allowed to read it.
            log.error("nobody can be identified: %s", error.reason)
            reason = "Nobody can be identified now; the log of the server tells why"
            await refusal(request, 503, reason)(scope, receive, send)
            return
        if caller.token and (wait := access.limits.requests.wait(caller.principal)):
            reason = f"This token has made too many requests; come again in {wait} s"
            response = refusal(request, 429, reason, headers={"Retry-After": str(wait)})
            await response(scope, receive, send)
            return
        request.state.caller = with_call(caller, request=request.state.id)
        scope["user"] = user_of(caller)
        await self._app(scope, receive, send)
