"""Calls of tools that ask the client's own model, by MCP sampling, as each revision of the protocol does it.

Up to 2025-11-25 the server sends a request and waits for its result. In 2026-07-28 the client's call is
answered with the question, and the client calls again with the model's answer; the work waits in its
thread meanwhile.
"""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import Any, Generic, TypeVar

import anyio
import anyio.from_thread
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from minutebook.record.caller import Caller, Sample
from minutebook.record.errors import AskedEnough, Unanswered
from minutebook.record.reason import Reason
from minutebook.serve.limits import ConcurrencyLimit, TooManyRequests

ASK_WITHIN = 300.0
"""Seconds in which the client has to answer; it may ask its user first."""

MOST_ROUNDS = 10
"""Questions that one call may ask in 2026-07-28: clients allow as many by default."""

T = TypeVar("T")

_Context = ServerRequestContext[Any, Any]
ContextOf = Callable[[], _Context | None]
"""Returns the request under way, through which the client can be notified; None between two requests."""

Work = Callable[[ContextOf, Sample | None], Awaitable[T]]
"""Does the work of a call; it may ask the client's model by the `Sample`, which is None if the client has none."""


class Sampling(Generic[T]):
    """Does the work of calls that may ask the client's model."""

    def __init__(self, paused_calls: ConcurrencyLimit) -> None:
        self._paused_calls = paused_calls
        self._waiting: dict[str, _SamplingTalk[T]] = {}
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Keep open, while the server runs, the task group in which work waits between two requests."""
        if self._group is not None:
            yield
            return
        async with anyio.create_task_group() as self._group:
            yield
            self._group.cancel_scope.cancel()
        self._group = None

    async def run(
        self, context: _Context, params: types.CallToolRequestParams, caller: Caller, work: Work[T]
    ) -> T | types.InputRequiredResult:
        """Do the work of a call, or continue it; return its outcome, or the next question for the client's model.

        Raises MCPError if the call continues one that another caller began, or one with other arguments.
        """
        if not _offers(context):
            return await work(lambda: context, None)
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            ask = partial(_ask_at_once, context) if context.session.can_send_request else None
            return await work(lambda: context, ask)
        call = (caller, params.name, params.arguments or {})
        if params.request_state is not None:
            talk = self._waiting.get(params.request_state)
            if talk is None or talk.call != call:
                reason = "`requestState` is unknown or too old; make the call again without it"
                raise MCPError(types.INVALID_PARAMS, reason)
            del self._waiting[params.request_state]
            return await talk.continue_with(context, params.input_responses or {})
        if self._group is None:
            raise RuntimeError("calls that may ask need the server's lifespan")
        talk = _SamplingTalk(call, self._waiting)
        with ExitStack() as exits:
            exits.enter_context(self._paused_calls.hold(caller.principal))
            self._group.start_soon(self._run_talk, talk, exits.pop_all(), work)
        return await talk.continue_with(context, {})

    async def _run_talk(self, talk: "_SamplingTalk[T]", exits: ExitStack, work: Work[T]) -> None:
        with exits:
            await talk.run(work)


class _SamplingTalk(Generic[T]):
    """A call that takes several requests: its last question, the answer to it, and the outcome."""

    def __init__(self, call: object, waiting: "dict[str, _SamplingTalk[T]]") -> None:
        self.call = call
        self._waiting = waiting
        self._context: _Context | None = None
        self._scope = anyio.CancelScope()
        self._has_result = anyio.Event()
        self._answered = anyio.Event()
        self._question: types.InputRequiredResult | None = None
        self._answers: types.InputResponses = {}
        self._outcome: list[T] = []
        self._error: MCPError | TooManyRequests | None = None
        self._rounds = 0

    async def run(self, work: Work[T]) -> None:
        """Do the work; the request that waits in `continue_with` gets the outcome."""

        def ask(system: str, prompt: str, max_tokens: int) -> str:
            return anyio.from_thread.run(self._ask, system, prompt, max_tokens)

        with self._scope:
            try:
                self._outcome.append(await work(lambda: self._context, ask))
            except (MCPError, TooManyRequests) as error:
                self._error = error
        self._has_result.set()

    async def continue_with(
        self, context: _Context, answers: types.InputResponses
    ) -> T | types.InputRequiredResult:
        """Hand over the client's answers; wait for the outcome or for the next question."""
        self._context, self._answers = context, answers
        self._has_result, self._question = anyio.Event(), None
        self._answered.set()
        try:
            await self._has_result.wait()
        except anyio.get_cancelled_exc_class():
            self._scope.cancel()
            raise
        finally:
            self._context = None
        return self._result()

    def _result(self) -> T | types.InputRequiredResult:
        """Return the open question, or the outcome. Raises the error of the work."""
        if self._question is not None:
            return self._question
        if self._error is not None:
            raise self._error
        if not self._outcome:
            raise MCPError(types.INTERNAL_ERROR, "the call was ended before it was done")
        return self._outcome[0]

    async def _ask(self, system: str, prompt: str, max_tokens: int) -> str:
        """Answer the request under way with a question, and return the answer in the next request. Raises Unanswered."""
        if self._rounds == MOST_ROUNDS:
            # Not Unanswered: after that a lesser model would be asked in place of the client's.
            raise AskedEnough(
                Reason(
                    "a client's model is asked {most} times in a call; call again for the rest",
                    most=MOST_ROUNDS,
                )
            )
        self._rounds += 1
        token = secrets.token_urlsafe(16)
        self._question = types.InputRequiredResult(
            input_requests={token: _request(system, prompt, max_tokens)}, request_state=token
        )
        self._answered = anyio.Event()
        self._waiting[token] = self
        self._has_result.set()
        with anyio.move_on_after(ASK_WITHIN):
            await self._answered.wait()
        self._waiting.pop(token, None)
        if token not in self._answers:
            raise Unanswered("the client gave no answer within {seconds:g} s", seconds=ASK_WITHIN)
        return _text_of(self._answers[token])


def _offers(context: _Context) -> bool:
    """Tell whether the client lets its model be asked."""
    offered = types.ClientCapabilities(sampling=types.SamplingCapability())
    return context.session.check_client_capability(offered)


def _ask_at_once(context: _Context, system: str, prompt: str, max_tokens: int) -> str:
    """Ask the client's model from a worker thread, by a request of the server.

    Raises Unanswered if the client declines or answers without a text.
    """
    send = partial(
        context.session.send_request,
        _request(system, prompt, max_tokens),
        types.CreateMessageResult,
        request_read_timeout_seconds=ASK_WITHIN,
        metadata=ServerMessageMetadata(related_request_id=context.request_id),
    )
    try:
        return _text_of(anyio.from_thread.run(send))
    except MCPError as error:
        raise Unanswered("the client declined: {words}", words=error.error.message) from error
    except ValidationError as error:
        raise Unanswered("the client's answer is not one of sampling") from error


def _request(system: str, prompt: str, max_tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(
        role="user", content=types.TextContent(type="text", text=prompt)
    )
    params = types.CreateMessageRequestParams(
        messages=[message], system_prompt=system, max_tokens=max_tokens
    )
    return types.CreateMessageRequest(params=params)


def _text_of(answer: object) -> str:
    """Return the text of a model's answer. Raises Unanswered if it has none."""
    content = getattr(answer, "content", None)
    parts = content if isinstance(content, list) else [content]
    text = "".join(part.text for part in parts if isinstance(part, types.TextContent))
    if not text.strip():
        raise Unanswered("the client's model answered without a text")
    return text
