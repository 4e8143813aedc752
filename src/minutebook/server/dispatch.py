"""The work of requests: done in threads, each in its caller's name, whatever happens."""

import hashlib
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from minutebook.app import App
from minutebook.contracts.answers import Answer, Failure
from minutebook.contracts.contract import Contract
from minutebook.contracts.stacks import Stack
from minutebook.domain.caller import Call, Caller, Progress, Sample, no_progress
from minutebook.domain.errors import Fault, MinutebookError
from minutebook.domain.redaction import redacted_for
from minutebook.server.limits import Lines
from minutebook.server.logs import STACK, request_id
from minutebook.server.protocol.provenance import client_of, over
from minutebook.services.maintenance.database import Database, NotOpen

log = logging.getLogger(__name__)

T = TypeVar("T")

_FITTING = re.compile(r"[!-~]{1,64}")
"""What a request may be called in the log and on the trail."""

_SESSION = "minutebook.session"
"""Where a connection keeps its session's name."""

LOOKING_AT_ONCE = 4
"""How many calls that do not wait are answered at once, in threads that no other can take away."""

OpenApp = Callable[[], App]
"""Gives the app, opening it at the first call."""

Look = Callable[[], App | NotOpen]
"""Gives the app if it is open, without waiting."""

CallerOf = Callable[[ServerRequestContext[Any, Any]], Caller]
"""Tells who asks in a request; `request` is what the transport calls it, or empty."""

Task = Callable[[App, Caller], T]
"""What a request asks for, done with the app in a caller's name."""

_Work = Callable[[], T]

Observer = Callable[[str, str, float, Failure | None], None]
"""Hears of each task: the contract, the act, its seconds, and what it failed with."""


def unobserved(contract: str, act: str, seconds: float, failure: Failure | None) -> None:
    """Make nothing of a task."""


class Dispatcher:
    """Does what requests ask for, each in the name of whoever asks."""

    def __init__(
        self,
        open_app: OpenApp,
        caller_of: CallerOf,
        observer: Observer = unobserved,
        look: Look | None = None,
    ) -> None:
        """`look` may be left out where `open_app` never waits."""
        self._open_app = open_app
        self._look = look or open_app
        # Calls that wait, for the store or for one another, must not keep these from a thread.
        self._lookers = anyio.CapacityLimiter(LOOKING_AT_ONCE)
        self._caller_of = caller_of
        self._observer = observer
        self._connection = secrets.token_hex(4)
        self._entered: dict[str, Database] = {}
        self._lines = Lines()

    def asking(
        self,
        context: ServerRequestContext[Any, Any],
        progress: Progress = no_progress,
        sample: Sample | None = None,
    ) -> Caller:
        """Give who asks in a request, as the task is to know them."""
        caller = self._caller_of(context)
        request = f"{caller.call.request or self._connection}-{_plain(context.request_id)}"
        session = caller.call.session or self._session_of(connection_of(context.session))
        origin = client_of(context)
        return replace(
            caller,
            call=Call(
                request=request, session=session, origin=origin, progress=progress, sample=sample
            ),
        )

    async def do(
        self,
        contract: Contract,
        act: str,
        given: Mapping[str, Any],
        asking: Caller,
        task: Task[T],
    ) -> T | Failure:
        """Run a task in a worker thread when it is its caller's turn; Full.

        What fails is worded by the contract.
        """
        async with self._lines.turn(asking):
            return await self.do_at_once(contract, act, given, asking, task)

    async def do_at_once(
        self,
        contract: Contract,
        act: str,
        given: Mapping[str, Any],
        asking: Caller,
        task: Task[T],
    ) -> T | Failure:
        """Run a task that others wait for, whatever else its caller has under way."""
        asking = over(asking, contract.name)

        def work() -> T:
            app = self._open_app()
            app.database.enter(asking.call.session)
            self._entered[asking.call.session] = app.database
            return task(app, asking)

        return await anyio.to_thread.run_sync(self._observed, contract, act, given, asking, work)

    async def call(
        self, contract: Contract, tool: str, arguments: Mapping[str, Any], asking: Caller
    ) -> Answer | Failure:
        """Call a tool in a worker thread; one that does not wait takes the store as it finds it."""
        asking = over(asking, contract.name)

        def call(app: App, asking: Caller) -> Answer:
            return contract.call(app, asking, tool, arguments)

        def glance() -> Answer:
            found = self._look()
            if isinstance(found, NotOpen):
                error = None if found.error is None else redacted_for(asking, found.error)
                return contract.glance(NotOpen(error), tool)
            return call(found, asking)

        if contract.waits(tool):
            return await self.do(contract, tool, arguments, asking, call)
        return await anyio.to_thread.run_sync(
            self._observed, contract, tool, arguments, asking, glance, limiter=self._lookers
        )

    def _observed(
        self,
        contract: Contract,
        act: str,
        given: Mapping[str, Any],
        asking: Caller,
        work: _Work[T],
    ) -> T | Failure:
        # The thread has a context of its own: every line that is logged below bears this request.
        request_id.set(asking.call.request)
        began = time.perf_counter()
        outcome = self._try(contract, act, given, asking, work)
        seconds, failure = time.perf_counter() - began, failure_in(outcome)
        self._observer(contract.name, act, seconds, failure)
        _log_call(contract.name, act, seconds, failure, asking)
        return outcome

    def _try(
        self,
        contract: Contract,
        act: str,
        given: Mapping[str, Any],
        asking: Caller,
        work: _Work[T],
    ) -> T | Failure:
        """Do what is asked: a fault of ours must not end the connection."""
        try:
            return work()
        except MinutebookError as error:
            return contract.worded(error, asking, given)
        except Exception as error:  # noqa: BLE001 - logged without its message, which may quote content
            log.error("%s failed unexpectedly", act, extra={STACK: Stack(error)})
            return contract.worded(Fault(act, asking.call.request), asking, given)

    def _session_of(self, connection: Connection) -> str:
        """Name a connection's session, from its first request until it ends."""
        if _SESSION not in connection.state:
            session = connection.state[_SESSION] = new_session()
            connection.exit_stack.callback(self._leave, session)
        named: str = connection.state[_SESSION]
        return named

    def _leave(self, session: str) -> None:
        database = self._entered.pop(session, None)
        if database is not None:
            database.leave(session)


def _log_call(
    contract: str, act: str, seconds: float, failure: Failure | None, asking: Caller
) -> None:
    """Log who called what, how it went and how long it took; nothing of what was sent or answered."""
    facts = {
        "contract": contract,
        "tool": act,
        "outcome": "ok" if failure is None else failure.cause or "failed",
        "milliseconds": round(1000 * seconds, 1),
        "client": asking.call.origin.program if asking.call.origin else "",
    }
    line = "%(contract)s %(tool)s: %(outcome)s in %(milliseconds)s ms, client %(client)r"
    log.info(line, facts, extra=facts)


def new_session() -> str:
    """Name a session after now, unlike any other."""
    return f"session_{time.time_ns() // 1_000_000}_{secrets.token_hex(4)}"


def _plain(id: str | int | None) -> str:
    """Give a request's id as it can stand in a line; any text that is none gets a digest's name."""
    text = str(id)
    if _FITTING.fullmatch(text):
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def failure_in(outcome: object) -> Failure | None:
    """Give what a task failed with; None if it did not."""
    if isinstance(outcome, Answer):
        return outcome.error
    return outcome if isinstance(outcome, Failure) else None


def protocol_error(failure: Failure) -> MCPError:
    """Give a failure as a JSON-RPC error, for requests whose results have no room for one."""
    code = INTERNAL_ERROR if failure.code is None else failure.code
    return MCPError(code, failure.text, failure.structured)


def connection_of(session: ServerSession) -> Connection:
    """Give the connection behind a request's session: what is kept there ends with it."""
    # The SDK means handlers to use `Connection.exit_stack` and `.state`, and has no public way there.
    return session._connection
