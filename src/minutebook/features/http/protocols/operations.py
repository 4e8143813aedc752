"""Operations of the command line over HTTP, for people at other machines with tokens."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from anyio import CapacityLimiter
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from minutebook.app import App
from minutebook.ask.operation import ANY, BY_OPERATION, Operation
from minutebook.ask.table import operations as all_operations
from minutebook.features.http.protocols.rest import arguments_of
from minutebook.features.http.requests.access import AccessControl
from minutebook.features.http.requests.errors import REFUSALS, refusal, refused
from minutebook.features.http.requests.work import AT_ONCE, Work, while_connected
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import MinutebookError
from minutebook.record.plain import plain
from minutebook.record.rights.redaction import redacted_for
from minutebook.serve.contracts.answers import Failure
from minutebook.serve.dispatch import CallJob, Dispatcher
from minutebook.serve.protocol.provenance import client_of_header

PATH = "/operations"


class OperationWording:
    """Words the errors of operations, with their facts, from which the command line makes its own words."""

    name = BY_OPERATION

    def worded(
        self, error: MinutebookError, caller: Caller, arguments: Mapping[str, Any]
    ) -> Failure:
        """Return an error with its facts; a caller with a token learns nothing about this machine."""
        shown = redacted_for(caller, error)
        return Failure(str(shown), cause=type(error).__name__, facts=plain(shown))


def served_operations(
    contracts: Collection[str], *, read_only: bool
) -> dict[str, Operation[..., object]]:
    """Return the operations of some contracts by name, with `read_only` without those that write."""
    return {
        name: each
        for name, each in all_operations().items()
        if each.contract in (*contracts, ANY) and not (read_only and each.writes)
    }


def operations_route(
    operations: Mapping[str, Operation[..., object]],
    dispatcher: Dispatcher,
    access: AccessControl,
    middleware: Sequence[Middleware],
) -> Route:
    """Return the route of POST requests to `/operations/NAME`, with the arguments as the body."""
    wording, long = OperationWording(), CapacityLimiter(AT_ONCE)

    async def answer(request: Request) -> Response:
        name, caller = request.path_params["name"], request.state.caller
        origin = client_of_header(request.headers.get("user-agent"))
        caller = with_call(access.in_session(caller), origin=origin)
        if (operation := operations.get(name)) is None:
            return refusal(request, 404, _why_not_served(name))
        try:
            given = await arguments_of(request, access.limits)
            work = Work(name, caller)
            if operation.is_long:
                caller = with_call(caller, progress=work)
            job = CallJob(wording, name, given, caller, _task(operation, given))

            async def run() -> Mapping[str, Any] | Failure:
                async with long if operation.is_long else nullcontext():
                    return await dispatcher.run(job)

            with access.limits.calls.hold(caller.principal):
                outcome = await while_connected(request, work, run)
        except REFUSALS as error:
            return refused(request, error)
        except ClientDisconnect:
            return Response(status_code=400)
        if isinstance(outcome, Failure):
            return JSONResponse({"facts": dict(outcome.facts), "message": outcome.text}, 400)
        return JSONResponse(outcome)

    return Route(f"{PATH}/{{name}}", answer, methods=["POST"], middleware=middleware)


def _task(operation: Operation[..., object], given: Mapping[str, Any]) -> Any:
    """Return the task that does an operation and returns its answer and the notes on it."""

    def task(app: App, caller: Caller) -> Mapping[str, Any]:
        caller = with_call(caller, notes={})
        answer = operation.answer(app, caller, given)
        notes = {name: note.text for name, note in caller.call.notes.items()}
        return {"answer": answer, "notes": notes}

    return task


def _why_not_served(name: str) -> str:
    """Return the reason why an operation is not served."""
    if (known := all_operations().get(name)) is None or known.contract is None:
        return f"{name[:50]!r} is no operation of a server"
    return f"{name} belongs to the contract {known.contract}, or writes; this server does not serve that"
