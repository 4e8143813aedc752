"""Commands of the command line, run for people who typed them elsewhere and whose token says who they are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import INVALID_REQUEST
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from minutebook.app import App
from minutebook.contracts.answers import Failure
from minutebook.domain.caller import Caller, in_call
from minutebook.domain.errors import MinutebookError
from minutebook.domain.redaction import redacted_for
from minutebook.server.dispatch import Dispatcher, Job
from minutebook.server.http.access import AccessControl
from minutebook.server.http.errors import REFUSALS, refusal, refused
from minutebook.server.http.rest import arguments_of
from minutebook.server.protocol.message import BadMessage
from minutebook.server.protocol.provenance import agent_of

PATH = "/command"

Printed = tuple[str, str]
"""A stream, `stdout` or `stderr`, and a part of what a command printed there."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command printed, in order, and its exit status."""

    printed: Sequence[Printed]
    status: int


Run = Callable[[App, Caller, Sequence[str], bool], Outcome]
"""Runs a command by its words in a caller's name; the flag tells whether it prints to a terminal."""


class CommandWording:
    """Words errors that come before the command itself could word them."""

    name = "command-line"

    def worded(
        self, error: MinutebookError, caller: Caller, arguments: Mapping[str, Any]
    ) -> Failure:
        """Word an error; who came by a token hears nothing of how this machine is."""
        return Failure(str(redacted_for(caller, error)), cause=type(error).__name__)


def command_route(
    run: Run, dispatcher: Dispatcher, access: AccessControl, middleware: Sequence[Middleware]
) -> Route:
    """Return the route to which a command's words are posted."""
    wording = CommandWording()

    async def answer(request: Request) -> Response:
        caller, program = request.state.caller, agent_of(request.headers.get("user-agent"))
        caller = in_call(access.in_session(caller), origin=program)
        try:
            words, is_terminal = _typed(await arguments_of(request, access.limits))
            job = Job(
                wording,
                "command",
                {},
                caller,
                lambda app, asking: run(app, asking, words, is_terminal),
            )
            with access.limits.calls.hold(caller.principal):
                outcome = await dispatcher.run(job)
        except REFUSALS as error:
            return refused(request, error)
        except ClientDisconnect:
            return Response(status_code=400)
        if isinstance(outcome, Failure):
            return refusal(request, 503, outcome.text)
        printed = [list(part) for part in outcome.printed]
        return JSONResponse({"printed": printed, "status": outcome.status})

    return Route(PATH, answer, methods=["POST"], middleware=middleware)


def _typed(body: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Return the words of a command, and whether it prints to a terminal. Raises BadMessage."""
    words = body.get("words")
    if not isinstance(words, list) or not words or not all(isinstance(w, str) for w in words):
        raise BadMessage(INVALID_REQUEST, "`words` must be the words of a command")
    return words, body.get("terminal") is True
