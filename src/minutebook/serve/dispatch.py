"""Run requests: in worker threads, within limits, logged, whatever happens."""

import hashlib
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import anyio
import anyio.to_thread

from minutebook.app import App
from minutebook.memory.maintenance.database import EngineControl
from minutebook.record.caller import Call, Caller, Progress, Sample, no_progress
from minutebook.record.errors import Fault, MinutebookError
from minutebook.serve.contracts.answers import Answer, Failure
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.contracts.stacks import Stack
from minutebook.serve.limits import RESERVED_THREADS, Limits
from minutebook.serve.logs import STACK, request_id
from minutebook.serve.protocol.methods import INTERNAL_ERROR
from minutebook.serve.protocol.provenance import client_of, with_origin

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.session import ServerSession
    from mcp.shared.exceptions import MCPError

log = logging.getLogger(__name__)

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_SAFE_ID = re.compile(r"[!-~]{1,64}")
"""Request ids that the log and the audit trail show as they are."""

_SESSION = "minutebook.session"
"""The key under which a connection keeps the name of its session."""

OpenApp = Callable[[], App]
"""Returns the app; opens it at the first call."""


CallerOf = Callable[[Any], Caller]
"""Returns the caller of a request; its `request` is the transport's id for it, or empty."""

Locate = Callable[[Any], Awaitable[None]]
"""Finds out where the client of a request works, if it is to be asked."""

Observer = Callable[[str, str, float, Failure | None], None]
"""Called after each job with the contract's name, the act, the seconds it took, and its failure if it failed."""


class Wording(Protocol):
    """The wording of errors for callers: a contract's, or the pages'."""

    @property
    def name(self) -> str:
        """The name in the log, in metrics and in provenance."""

    def worded(
        self, error: MinutebookError, caller: Caller, arguments: Mapping[str, Any]
    ) -> Failure:
        """Word an error as the caller may read it."""


@dataclass(frozen=True, slots=True)
class CallJob(Generic[T_co]):
    """A request to a contract or to the pages, and its caller.

    `act` is its name in the log and in metrics; errors are worded with the `arguments`. `unopened`
    answers where the store could not be opened; None if the job then fails.
    """

    contract: Wording
    act: str
    arguments: Mapping[str, Any]
    caller: Caller
    task: Callable[[App, Caller], T_co]
    unopened: Callable[[MinutebookError, Caller], T_co] | None = None


def tool_job(
    contract: Contract, tool: str, arguments: Mapping[str, Any], caller: Caller
) -> CallJob[Answer]:
    """Return the job that calls a tool."""
    task = partial(contract.call, name=tool, arguments=arguments)
    return CallJob(contract, tool, arguments, caller, task, contract.unopened(tool))


async def locate_nowhere(context: Any) -> None:
    """Ask no client where it works: the `locate` of a dispatcher by default."""


def observe_nothing(contract: str, act: str, seconds: float, failure: Failure | None) -> None:
    """Do nothing about a job: the observer of a dispatcher by default."""


class Dispatcher:
    """Runs jobs in worker threads: within the caller's limits, logged, errors as the contract words them."""

    def __init__(
        self,
        open_app: OpenApp,
        caller_of: CallerOf,
        *,
        observer: Observer = observe_nothing,
        limits: Limits | None = None,
        locate: Locate = locate_nowhere,
    ) -> None:
        """`locate` is awaited before `caller` is asked for the caller of a request."""
        self.locate = locate
        self._open_app = open_app
        self._caller_of = caller_of
        self._observer = observer
        self.limits = limits or Limits()
        self.on_call: list[Callable[[], None]] = []
        """Called after each call of a tool, which may have changed records."""
        # Jobs that wait, for the store or for one another, must not keep these from a thread.
        self._reserved = anyio.CapacityLimiter(RESERVED_THREADS)
        self._connection = secrets.token_hex(4)
        self._databases: dict[str, EngineControl] = {}

    def caller(
        self, context: Any, progress: Progress = no_progress, sample: Sample | None = None
    ) -> Caller:
        """Return the caller of a request, with the request as its call."""
        caller = self._caller_of(context)
        call = Call(
            request=f"{caller.call.request or self._connection}-{_safe_id(context.request_id)}",
            session=caller.call.session or self._session_of(connection_of(context.session)),
            origin=client_of(context),
            progress=progress,
            sample=sample,
            notes=dict(caller.call.notes),
            work_tree=caller.call.work_tree,
        )
        return replace(caller, call=call)

    def note_call(self) -> None:
        """Call the listeners `on_call`, after a call of a tool."""
        for listener in self.on_call:
            listener()

    async def run(self, job: CallJob[T]) -> T | Failure:
        """Run a job in a worker thread, within the caller's share of the threads.

        A job that can answer without a store has threads reserved for it. Raises TooManyRequests.
        """
        if job.unopened is not None:
            return await anyio.to_thread.run_sync(self._run, job, limiter=self._reserved)
        async with self.limits.threads.hold(job.caller.principal):
            return await anyio.to_thread.run_sync(self._run, job)

    async def run_shared(self, job: CallJob[T]) -> T | Failure:
        """Run a job that other callers wait for too, outside its caller's share of the threads."""
        return await anyio.to_thread.run_sync(self._run, job)

    def _run(self, job: CallJob[T]) -> T | Failure:
        """Run a job in this thread. A fault of ours must not end the connection."""
        caller, contract = with_origin(job.caller, job.contract.name), job.contract
        # The thread has a context of its own: every line that is logged below bears this request.
        request_id.set(caller.call.request)
        began = time.perf_counter()
        outcome: T | Failure
        try:
            outcome = self._outcome(job, caller)
        except MinutebookError as error:
            outcome = contract.worded(error, caller, job.arguments)
        except Exception as error:  # noqa: BLE001 - logged without its message, which may quote content
            log.error("%s failed unexpectedly", job.act, extra={STACK: Stack(error)})
            fault = Fault(job.act, caller.call.request)
            outcome = contract.worded(fault, caller, job.arguments)
        seconds, failure = time.perf_counter() - began, failure_in(outcome)
        self._observer(contract.name, job.act, seconds, failure)
        _log_call(contract.name, job.act, seconds, failure, caller)
        return outcome

    def _outcome(self, job: CallJob[T], caller: Caller) -> T:
        """Do the job's task, or return its answer where the store cannot be opened."""
        try:
            app = self._opened_for(caller.call.session)
        except MinutebookError as error:
            if job.unopened is None:
                raise
            return job.unopened(error, caller)
        return job.task(app, caller)

    def _opened_for(self, session: str) -> App:
        """Return the app, and count the session as a user of its engine unless it stopped the engine."""
        app = self._open_app()
        app.database.acquire(session)
        self._databases[session] = app.database
        return app

    def _session_of(self, connection: "Connection") -> str:
        """Return the name of a connection's session, made at its first request and released when the connection ends."""
        if _SESSION not in connection.state:
            session = connection.state[_SESSION] = new_session()
            connection.exit_stack.callback(self._release, session)
        name: str = connection.state[_SESSION]
        return name

    def _release(self, session: str) -> None:
        database = self._databases.pop(session, None)
        if database is not None:
            database.release(session)


def _log_call(
    contract: str, act: str, seconds: float, failure: Failure | None, caller: Caller
) -> None:
    """Log the client, name, outcome and duration of a call; nothing of its arguments or its answer."""
    facts = {
        "contract": contract,
        "tool": act,
        "outcome": "ok" if failure is None else failure.cause or "failed",
        "milliseconds": round(1000 * seconds, 1),
        "client": caller.call.origin.program if caller.call.origin else "",
    }
    line = "%(contract)s %(tool)s: %(outcome)s in %(milliseconds)s ms, client %(client)r"
    log.info(line, facts)


def new_session() -> str:
    """Return a name for a session: the time and a random part."""
    return f"session_{time.time_ns() // 1_000_000}_{secrets.token_hex(4)}"


def _safe_id(id: str | int | None) -> str:
    """Return a request's id if it is short printable ASCII, else the start of its digest."""
    text = str(id)
    if _SAFE_ID.fullmatch(text):
        return text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def failure_in(outcome: object) -> Failure | None:
    """Return the failure of a job, or None."""
    if isinstance(outcome, Answer):
        return outcome.error
    return outcome if isinstance(outcome, Failure) else None


def rpc_error(failure: Failure) -> dict[str, Any]:
    """Return a failure as the error of a JSON-RPC answer."""
    code = INTERNAL_ERROR if failure.code is None else failure.code
    return {"code": code, "message": failure.text, "data": dict(failure.structured or {}) or None}


def protocol_error(failure: Failure) -> "MCPError":
    """Return a failure as the SDK's error, for requests with results that cannot hold one."""
    from mcp.shared.exceptions import MCPError

    return MCPError(**rpc_error(failure))


def connection_of(session: "ServerSession") -> "Connection":
    """Return the connection of a request's session: values kept there end with it."""
    # The SDK means handlers to use `Connection.exit_stack` and `.state`, and has no public way there.
    return session._connection
