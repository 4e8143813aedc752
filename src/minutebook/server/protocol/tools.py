"""The callable parts of contracts for clients: the tools, listed as promised, called in worker threads."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import anyio.from_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from minutebook.contracts import announced
from minutebook.contracts.answers import Answer, Failure, failed, texts_of
from minutebook.contracts.contract import Contract
from minutebook.domain.caller import Progress, Sample
from minutebook.domain.control_characters import encodable
from minutebook.server.dispatch import Dispatcher, protocol_error, tool_job
from minutebook.server.protocol.provenance import client_of
from minutebook.server.protocol.sampling import ContextOf, Sampling

log = logging.getLogger(__name__)

REPORT_EVERY = 0.5
"""Seconds between two progress notifications of one call."""

_NOTES = "minutebook"
"""The prefix of the names under which notes are in a result's `_meta`."""

_Context = ServerRequestContext[Any, Any]


class Tools:
    """Lists and calls the tools of some contracts; `wake` is called when records may have changed."""

    def __init__(
        self,
        contracts: Sequence[Contract],
        dispatcher: Dispatcher,
        spelling: Callable[[str], str],
        wake: Callable[[], None],
    ) -> None:
        self._contracts = contracts
        self._dispatcher = dispatcher
        self._wake = wake
        self.sampling: Sampling[Answer | Failure] = Sampling(dispatcher.limits.paused_calls)
        self._spelling = spelling
        self.listed = self._entries(has_output_schema=True)

    async def list_all(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Describe the tools."""
        knows, client = (
            announced.knows_output_schemas(context.protocol_version),
            client_of(context).client,
        )
        if knows and announced.knows_every_format(client):
            return self.listed
        return self._entries(has_output_schema=knows, client=client)

    def _entries(self, *, has_output_schema: bool, client: str = "") -> types.ListToolsResult:
        shown = (each for one in self._contracts for each in one.tools.values() if each.is_listed)
        entries = [
            announced.tool_entry(each.promise, has_output_schema=has_output_schema, client=client)
            | {"name": self._spelling(each.name)}
            for each in shown
        ]
        return types.ListToolsResult(tools=[types.Tool.model_validate(each) for each in entries])

    async def call(
        self, context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool, or return the question that the client's model is asked first.

        Raises MCPError for an unknown tool, and for an error that has a JSON-RPC code.
        """
        name, arguments = params.name, params.arguments or {}
        contract = next((each for each in self._contracts if each.offers(name)), None)
        if contract is None:
            log.info("a tool was called that is not offered")
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}")
        dispatcher = self._dispatcher
        await dispatcher.locate(context)
        outcome: Answer | Failure | types.InputRequiredResult
        if contract.samples(name):

            async def work(context_of: ContextOf, sample: Sample | None) -> Answer | Failure:
                caller = dispatcher.caller(context, _progress(context_of), sample)
                return await dispatcher.run(tool_job(contract, name, arguments, caller))

            outcome = await self.sampling.run(context, params, dispatcher.caller(context), work)
        else:
            caller = dispatcher.caller(context, _progress(lambda: context))
            outcome = await dispatcher.run(tool_job(contract, name, arguments, caller))
        self._wake()
        if isinstance(outcome, types.InputRequiredResult):
            return outcome
        return _as_result(outcome)


def _progress(context_of: ContextOf) -> Progress:
    """Return a callback that reports progress if the client asked, and ends a cancelled call."""
    sent_at, sent = 0.0, 0.0

    def progress(part: float, what: str) -> None:
        nonlocal sent_at, sent
        anyio.from_thread.check_cancelled()
        now = time.monotonic()
        context = context_of()
        if context is not None and now - sent_at >= REPORT_EVERY and part > sent:
            sent_at, sent = now, part
            anyio.from_thread.run(context.session.report_progress, part, 1.0, what)

    return progress


def _as_result(outcome: Answer | Failure) -> types.CallToolResult:
    answer = failed(outcome) if isinstance(outcome, Failure) else outcome
    failure = answer.error
    if failure is not None and failure.code is not None:
        raise protocol_error(failure)
    structured = answer.content if failure is None else failure.structured
    if answer.in_lines:
        structured = None
    texts = texts_of(answer)
    meta = {f"{_NOTES}/{name}": dict(note.facts) for name, note in answer.notes.items()}
    # The command line can be given half a character, and what was stored can hold one.
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=encodable(text)) for text in texts],
        structured_content=None if structured is None else encodable(structured),
        is_error=failure is not None,
        _meta=encodable(meta) or None,
    )
