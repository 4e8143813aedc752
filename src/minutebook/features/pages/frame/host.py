"""The interface of the server that shows the pages."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeVar

from starlette.requests import Request
from starlette.types import ASGIApp

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.reason import Reason

T = TypeVar("T")


class ProviderFault(StrEnum):
    """Why a sign-in at a provider failed."""

    DECLINED = "declined"
    STATE = "state"
    LATE = "late"
    CODE = "code"
    MIXED_UP = "mixed up"
    SETTINGS = "settings"
    DOWN = "down"
    BUSY = "busy"


class ProviderError(Exception):
    """A sign-in at a provider failed: why, and the known details."""

    def __init__(self, fault: ProviderFault, detail: str) -> None:
        super().__init__(detail)
        self.fault = fault
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Person:
    """A person signed in at a provider, for how many seconds, and the ID token as proof."""

    caller: Caller
    lasts: float
    id_token: str = field(repr=False)


class Host(Protocol):
    """A server that identifies callers, reads forms and runs tasks in its threads, within its limits."""

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it over https."""

    async def identify(self, authorization: str) -> Caller:
        """Return the caller that an Authorization header authenticates.

        Raises Unidentified, KeysUnavailable, StoreError.
        """

    @property
    def provider(self) -> str | None:
        """The host name of the provider at which people sign in; None if there is none."""

    async def authorization_url(self, state: str, nonce: str, challenge: str) -> str:
        """Return where a browser goes to sign in. Raises ProviderError."""

    async def redeem(self, code: str, verifier: str, nonce: str, issuer: str | None) -> Person:
        """Return the person in the provider's answer; the refusal of an ID token is audited.

        Raises ProviderError, Unidentified, KeysUnavailable, StoreError.
        """

    async def check_person(self, id_token: str) -> None:
        """Raise Unidentified if the ID token of a sign-in was revoked since, StoreError."""

    async def check_issuer(self, issuer: str | None) -> None:
        """Raise ProviderError if an answer is of another issuer than the provider."""

    async def sign_out_url(self, id_token: str) -> str | None:
        """Return where a browser signs out at the provider; None if there is no such place."""

    async def form(self, request: Request) -> dict[str, str]:
        """Read the fields of a form. Raises Rejected if it is too large, too slow or no form."""

    async def run(
        self, request: Request, act: str, caller: Caller, task: Callable[[App, Caller], T]
    ) -> T:
        """Run a task on the open app in a worker thread, logged and counted under the act's name.

        Raises MinutebookError as the caller may read it, Rejected if a limit is reached.
        """

    async def look(self, caller: Caller, task: Callable[[App, Caller], T]) -> T:
        """Run a short task with an answer that others wait for, too. Raises MinutebookError as `run` does."""

    def stream(
        self,
        request: Request,
        caller: Caller,
        response: ASGIApp,
        check: Callable[[], Awaitable[object]],
    ) -> ASGIApp:
        """Return the app that serves an endless response until the server ends, or `check` says so.

        `check` raises Unidentified once the caller is let in no more. Beyond the limit on streams
        the answer is 429.
        """


class Rejected(Exception):
    """A request that is not looked at: the HTTP status, and the reason as a sentence."""

    def __init__(
        self, status: int, reason: str, headers: dict[str, str] | None = None, **values: object
    ) -> None:
        super().__init__(reason)
        self.status, self.reason = status, Reason(reason, **values)
        self.headers = headers or {}
