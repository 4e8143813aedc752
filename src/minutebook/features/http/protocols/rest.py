"""The operations of a contract over plain HTTP, and the OpenAPI document that describes them."""

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cache
from typing import Any

from anyio import to_thread
from mcp_types import INVALID_REQUEST
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from minutebook.features.http.protocols import openapi
from minutebook.features.http.requests.access import AccessControl
from minutebook.features.http.requests.body import read_body
from minutebook.features.http.requests.errors import REFUSALS, refusal, refused
from minutebook.record.caller import with_call
from minutebook.serve.contracts.answers import Answer, Failure, failed
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.dispatch import Dispatcher, tool_job
from minutebook.serve.limits import Limits
from minutebook.serve.protocol.message import BadMessage, decoded
from minutebook.serve.protocol.provenance import client_of_header

NOTES = "Minutebook-Notes"
"""The header with the notes on an answer, for which its body has no room: an object of facts by the note's name."""

LONGEST_NOTE = 2000
"""Characters of a note that goes into a header; proxies take some 8,000 for all headers."""


def plain_routes(
    contract: Contract,
    dispatcher: Dispatcher,
    access: AccessControl,
    middleware: Sequence[Middleware],
) -> list[BaseRoute]:
    """Return the routes of `/openapi.json` and `.yaml`, which need no token, and of each operation."""

    def answering(tool: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def answer(request: Request) -> Response:
            caller = request.state.caller
            program = client_of_header(request.headers.get("user-agent"))
            caller = with_call(access.in_session(caller), origin=program)
            try:
                arguments = await arguments_of(request, access.limits)
                with access.limits.calls.hold(caller.principal):
                    outcome = await dispatcher.run(tool_job(contract, tool, arguments, caller))
            except REFUSALS as error:
                return refused(request, error)
            except ClientDisconnect:
                return Response(status_code=400)
            answer = failed(outcome) if isinstance(outcome, Failure) else outcome
            status = openapi.status_of(contract, answer)
            return JSONResponse(openapi.body_of(answer), status, _notes_header(answer))

        return answer

    calls = [
        Route(each.path, answering(each.tool.name), methods=[each.method], middleware=middleware)
        for each in openapi.operations(contract)
    ]
    return [*_document_routes(contract), *calls]


def _document_routes(contract: Contract) -> list[BaseRoute]:
    """Return the routes of the OpenAPI document in each format, in the version of `?version=`."""

    @cache
    def written(format: str, version: str) -> str:
        # Not at the start: writing all four would double its time.
        return openapi.exported(contract, format, version)

    def describing(format: str) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def described(request: Request) -> Response:
            version = request.query_params.get("version", openapi.VERSIONS[0])
            if version not in openapi.VERSIONS:
                known = ", ".join(openapi.VERSIONS)
                return refusal(request, 400, f"version must be one of {known}")
            text = await to_thread.run_sync(written, format, version)
            return Response(text, media_type=f"application/{format}")

        return described

    return [Route(f"/openapi.{each}", describing(each)) for each in openapi.FORMATS]


def _notes_header(answer: Answer) -> dict[str, str] | None:
    """Return the header NOTES of an answer, without notes that are too long; None if there are no notes."""
    facts = {name: dict(note.facts) for name, note in answer.notes.items()}
    short = {name: each for name, each in facts.items() if len(json.dumps(each)) <= LONGEST_NOTE}
    return {NOTES: json.dumps(short)} if short else None


async def arguments_of(request: Request, limits: Limits) -> Mapping[str, Any]:
    """Return the JSON object in a request's body, {} if there is no body.

    Raises BadBody or BadMessage if the body is something else.
    """
    is_empty = request.headers.get("content-length", "0") == "0"
    if is_empty and "transfer-encoding" not in request.headers:
        return {}
    arguments = decoded(await read_body(request, limits))
    if not isinstance(arguments, dict):
        raise BadMessage(INVALID_REQUEST, "The body must be an object of arguments")
    return arguments
