"""The parts of the server that pages use: authentication, forms, tasks in threads within the limits of all callers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from minutebook.app import App
from minutebook.config import Settings
from minutebook.features.http.requests.access import AccessControl
from minutebook.features.http.requests.body import FORM, BadBody, read_body
from minutebook.features.http.requests.errors import refused
from minutebook.features.http.settings import HttpSettings
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import MinutebookError
from minutebook.record.origin import Origin
from minutebook.record.reason import Reason
from minutebook.record.rights.redaction import redacted_for
from minutebook.serve.contracts.answers import Failure
from minutebook.serve.dispatch import CallJob, Dispatcher
from minutebook.serve.limits import TooManyRequests

T = TypeVar("T")

CLIENT = "browser"
"""The program of acts on a page, in provenance, since browsers send many names."""

MOST_FIELDS = 50


@dataclass(frozen=True, slots=True)
class _Raised(Failure):
    """A failure that keeps its error, which the pages put into words."""

    error: MinutebookError | None = None


class _Pages:
    """The `Wording` of the pages for the dispatcher."""

    name = "web"

    def worded(
        self, error: MinutebookError, caller: Caller, arguments: Mapping[str, Any]
    ) -> Failure:
        """Return a failure with the error as the caller may read it."""
        return _Raised(str(error), cause=type(error).__name__, error=redacted_for(caller, error))


_WORDING: Any = _Pages()


def _answer(outcome: T | Failure) -> T:
    """Return the result of a job. Raises the error with which it failed."""
    if isinstance(outcome, _Raised):
        assert outcome.error is not None
        raise outcome.error
    assert not isinstance(outcome, Failure)
    return outcome


class Rejected(Exception):
    """A request that is refused: the HTTP status, and the reason as a sentence."""

    def __init__(
        self, status: int, reason: str, headers: dict[str, str] | None = None, **values: object
    ) -> None:
        super().__init__(reason)
        self.status, self.reason = status, Reason(reason, **values)
        self.headers = headers or {}


def public_url_of(settings: Settings) -> str | None:
    """Return the URL at which browsers reach the pages, None if the settings name none."""
    return settings.of(HttpSettings).public_url


def is_https(url: str | None) -> bool:
    """Tell whether a URL is one of https."""
    return url is not None and url.startswith("https://")


class Host:
    """Identifies people, reads their forms, and runs the tasks of pages, within the limits of all callers."""

    def __init__(self, settings: Settings, dispatcher: Dispatcher, access: AccessControl) -> None:
        self.settings = settings
        self._dispatcher = dispatcher
        self.access = access
        self.is_secure = is_https(public_url_of(settings))

    async def form(self, request: Request) -> dict[str, str]:
        """Return the fields of a form. Raises Rejected if it is too large, too slow or malformed, or too many wait."""
        limits = self.access.limits
        try:
            body = await read_body(request, limits, FORM)
            text = body.decode("utf-8")
            return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
        except BadBody as error:
            raise Rejected(error.status, error.reason, {"Connection": "close"}) from error
        except TooManyRequests as error:
            raise Rejected(429, error.reason, {"Retry-After": "1"}) from error
        except ValueError as error:
            raise Rejected(400, "The form cannot be read: {error}", error=error) from error

    async def run(
        self, request: Request, act: str, caller: Caller, task: Callable[[App, Caller], T]
    ) -> T:
        """Run a task on the open app in a worker thread, logged and counted under the act's name.

        Raises MinutebookError as the caller may read it, Rejected if a limit is reached.
        """
        limits = self.access.limits
        if caller.token and (wait := limits.requests.wait(caller.principal)):
            reason = "This token has made too many requests; come again in {wait} s"
            raise Rejected(429, reason, {"Retry-After": str(wait)}, wait=wait)
        origin = Origin(client=CLIENT)
        caller = with_call(caller, request=request.state.id, origin=origin, notes={})
        request.state.caller = caller = self.access.in_session(caller)
        try:
            with limits.calls.hold(caller.principal):
                return _answer(await self._dispatcher.run(CallJob(_WORDING, act, {}, caller, task)))
        except TooManyRequests as error:
            raise Rejected(429, error.reason, {"Retry-After": "1"}) from error

    async def run_shared(self, caller: Caller, task: Callable[[App, Caller], T]) -> T:
        """Run a short task that other callers wait for, too, outside the caller's share. Raises MinutebookError as `run` does."""
        caller = self.access.in_session(with_call(caller, request="watch"))
        return _answer(
            await self._dispatcher.run_shared(CallJob(_WORDING, "watch", {}, caller, task))
        )

    def stream(
        self,
        request: Request,
        caller: Caller,
        response: ASGIApp,
        check: Callable[[], Awaitable[object]],
    ) -> ASGIApp:
        """Return the app that serves an endless response until the server ends or `check` raises Unidentified.

        Beyond the limit on streams the answer is 429.
        """
        request.state.caller = caller

        async def served(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await self.access.stream(response, scope, receive, send, check)
            except TooManyRequests as error:
                await refused(request, error)(scope, receive, send)

        return served
