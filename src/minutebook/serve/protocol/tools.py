"""The tools of contracts for clients: listed as promised, called in worker threads."""

import logging
from collections.abc import Sequence
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from minutebook.record.caller import Sample
from minutebook.record.control_characters import encodable
from minutebook.serve.contracts.announced import Announced
from minutebook.serve.contracts.answers import Answer, Failure
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.dispatch import Dispatcher, protocol_error, tool_job
from minutebook.serve.protocol.calls import progress_of, result_of
from minutebook.serve.protocol.provenance import client_of
from minutebook.serve.protocol.sampling import ContextOf, Sampling

log = logging.getLogger(__name__)

_Context = ServerRequestContext[Any, Any]


class Tools:
    """Lists and calls the tools of some contracts."""

    def __init__(
        self, contracts: Sequence[Contract], dispatcher: Dispatcher, announced: Announced
    ) -> None:
        self._contracts = contracts
        self._dispatcher = dispatcher
        self._announced = announced
        self.sampling: Sampling[Answer | Failure] = Sampling(dispatcher.limits.paused_calls)

    async def list_all(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Describe the tools."""
        listed = self._announced.tools(context.protocol_version, client_of(context).client)
        return types.ListToolsResult.model_validate(listed)

    async def call(
        self, context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Call a tool; return its result, or the question that the client's model must answer first.

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
                caller = dispatcher.caller(context, progress_of(context_of), sample)
                return await dispatcher.run(tool_job(contract, name, arguments, caller))

            outcome = await self.sampling.run(context, params, dispatcher.caller(context), work)
        else:
            caller = dispatcher.caller(context, progress_of(lambda: context))
            outcome = await dispatcher.run(tool_job(contract, name, arguments, caller))
        if isinstance(outcome, types.InputRequiredResult):
            return outcome
        dispatcher.note_call()
        if isinstance(result := result_of(outcome), Failure):
            raise protocol_error(result)
        return types.CallToolResult.model_validate(encodable(result))
