"""What the pages ask of the server that shows them."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from starlette.requests import Request
from starlette.types import ASGIApp

from minutebook.app import App
from minutebook.domain.caller import Caller

T = TypeVar("T")


class Host(Protocol):
    """A server that identifies callers, reads forms and runs tasks in its threads, within its limits."""

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it over https."""

    async def identify(self, authorization: str) -> Caller:
        """Return the caller that an Authorization header authenticates.

        Raises Unidentified, KeysUnavailable, StoreError.
        """

    async def form(self, request: Request) -> dict[str, str]:
        """Read the fields of a form. Raises Rejected if it is too large, too slow or no form."""

    async def run(
        self, request: Request, act: str, caller: Caller, task: Callable[[App, Caller], T]
    ) -> T:
        """Run a task on the open app in a worker thread, logged and counted under the act's name.

        Raises MinutebookError as the caller may read it, Rejected if a limit is reached.
        """

    async def look(self, caller: Caller, task: Callable[[App, Caller], T]) -> T:
        """Run a short task whose answer others wait for, too. Raises MinutebookError as `run` does."""

    def stream(
        self,
        request: Request,
        caller: Caller,
        response: ASGIApp,
        check: Callable[[], Awaitable[object]],
    ) -> ASGIApp:
        """Return what serves an endless response until the server ends, or `check` says so.

        `check` raises Unidentified once the caller is let in no more. Beyond the limit on streams
        the answer is 429.
        """


class Rejected(Exception):
    """A request that is not looked at: the HTTP status, and the reason as a sentence."""

    def __init__(self, status: int, reason: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = headers or {}
