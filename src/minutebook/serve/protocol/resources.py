"""The readable parts of contracts for clients: resources, their templates and completions, prompts."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from minutebook.record.errors import InvalidInput, NotFound
from minutebook.serve.contracts.answers import Failure
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.dispatch import CallJob, Dispatcher, protocol_error
from minutebook.serve.protocol.subscriptions import Watch

MOST_VALUES = 100
"""The most values that a completion may hold, by the protocol."""

NO_RESOURCE = -32002
"""The error code for an unknown resource up to 2025-11-25; since then it is INVALID_PARAMS."""

T = TypeVar("T")

_Context = ServerRequestContext[Any, Any]
_Page = types.PaginatedRequestParams | None
_Prompt = types.GetPromptRequestParams


class Resources:
    """Lists, reads, completes and watches the resources of some contracts."""

    def __init__(self, watch: Watch, dispatcher: Dispatcher) -> None:
        self._contracts = watch.contracts
        self._watch = watch
        self._dispatcher = dispatcher

    def add_to(self, server: Server[Any]) -> None:
        """Add the handlers of resource requests to a server."""
        page, add = types.PaginatedRequestParams, server.add_request_handler
        add("resources/list", page, self.list_all)
        add("resources/templates/list", page, self.list_templates)
        add("resources/read", types.ReadResourceRequestParams, self.read)
        add("resources/subscribe", types.SubscribeRequestParams, self.subscribe)
        add("resources/unsubscribe", types.UnsubscribeRequestParams, self.unsubscribe)
        add("subscriptions/listen", types.SubscriptionsListenRequestParams, self._watch.listen)
        add("completion/complete", types.CompleteRequestParams, self.complete)

    async def list_all(self, context: _Context, params: _Page) -> types.ListResourcesResult:
        """Describe the resources."""
        await self._watch.subscribe_to_list(context)
        await self._dispatcher.locate(context)
        listed: list[types.Resource] = []
        caller = self._dispatcher.caller(context)
        for contract in self._contracts:
            job = CallJob(contract, "resources/list", {}, caller, contract.listing)
            listed += map(_resource, await _run(self._dispatcher, job))
        return types.ListResourcesResult(resources=listed)

    async def list_templates(
        self, context: _Context, params: _Page
    ) -> types.ListResourceTemplatesResult:
        """Describe the templates."""
        return types.ListResourceTemplatesResult(
            resource_templates=[
                _template(template.promise)
                for contract in self._contracts
                for template in contract.templates
            ]
        )

    async def read(
        self, context: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read one resource."""
        uri = str(params.uri)
        contract, mime_type = _owner(self._contracts, uri, context)
        await self._dispatcher.locate(context)
        caller, task = self._dispatcher.caller(context), partial(contract.read, uri=uri)
        job = CallJob(contract, "resources/read", {"uri": uri}, caller, task)
        answer = await _run(self._dispatcher, job)
        if answer.error is not None:
            error = protocol_error(answer.error)
            if answer.error.cause == NotFound.__name__:
                data = {**(error.data or {}), "uri": uri}
                raise MCPError(not_found(context), error.message, data)
            raise error
        text = types.TextResourceContents(uri=uri, mime_type=mime_type, text=answer.text)
        return types.ReadResourceResult(contents=[text])

    async def complete(
        self, context: _Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Return the values that a template's variable may have."""
        template, argument = str(getattr(params.ref, "uri", "")), params.argument
        found: list[str] = []
        caller, arguments = self._dispatcher.caller(context), {argument.name: argument.value}
        for contract in self._contracts:
            task = partial(
                contract.complete, template=template, variable=argument.name, typed=argument.value
            )
            job = CallJob(contract, "completion/complete", arguments, caller, task)
            found += await _run(self._dispatcher, job)
        has_more = len(found) > MOST_VALUES
        return types.CompleteResult(
            completion=types.Completion(
                values=found[:MOST_VALUES],
                total=None if has_more else len(found),
                has_more=has_more,
            )
        )

    async def subscribe(
        self, context: _Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Notify a client of handshake revisions from now on when the content of a resource changes."""
        _owner(self._contracts, str(params.uri), context)
        await self._watch.subscribe(str(params.uri), context)
        return types.EmptyResult()

    async def unsubscribe(
        self, context: _Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """End a client's notifications about a resource."""
        self._watch.unsubscribe(str(params.uri), context)
        return types.EmptyResult()


def add_prompts(server: Server[Any], contracts: Sequence[Contract], dispatcher: Dispatcher) -> None:
    """Add the handlers that list and return the prompts of some contracts to a server."""

    async def list_prompts(context: _Context, params: _Page) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=name,
                    title=promise.get("title"),
                    description=promise["description"],
                    arguments=_arguments(promise),
                )
                for contract in contracts
                for name, promise in contract.prompts.items()
            ]
        )

    async def get_prompt(context: _Context, params: _Prompt) -> types.GetPromptResult:
        contract = next((each for each in contracts if params.name in each.prompts), None)
        if contract is None:
            known = ", ".join(name for each in contracts for name in each.prompts)
            message = f"Unknown prompt: {params.name}; there are: {known}"
            raise MCPError(types.INVALID_PARAMS, message)
        try:
            text = contract.prompt(params.name, params.arguments or {})
        except InvalidInput as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        if (data := contract.prompt_data(params.name)) is not None:
            await dispatcher.locate(context)
            job = CallJob(contract, "prompts/get", {}, dispatcher.caller(context), data)
            text = text.replace("{data}", await _run(dispatcher, job))
        content = types.TextContent(type="text", text=text)
        return types.GetPromptResult(
            description=contract.prompts[params.name]["description"],
            messages=[types.PromptMessage(role="user", content=content)],
        )

    server.add_request_handler("prompts/list", types.PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", _Prompt, get_prompt)


async def _run(dispatcher: Dispatcher, job: CallJob[T]) -> T:
    """Return the result of a job. Raises MCPError if it fails."""
    outcome = await dispatcher.run(job)
    if isinstance(outcome, Failure):
        raise protocol_error(outcome)
    return outcome


def _arguments(promise: Mapping[str, Any]) -> list[types.PromptArgument] | None:
    taken = promise.get("arguments")
    return None if taken is None else [types.PromptArgument(**each) for each in taken]


def _owner(contracts: Sequence[Contract], uri: str, context: _Context) -> tuple[Contract, str]:
    """Return the contract that has a resource, and its media type. Raises MCPError if none has."""
    for contract in contracts:
        if (resource := contract.resource(uri)) is not None:
            return contract, resource.mime_type
    raise MCPError(not_found(context), f"Unknown resource: {uri}", {"uri": uri})


def not_found(context: _Context) -> int:
    """Return the error code for an unknown resource in the client's revision of the protocol."""
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return types.INVALID_PARAMS if is_modern else NO_RESOURCE


def _resource(promise: Mapping[str, Any]) -> types.Resource:
    return types.Resource(
        uri=promise["uri"],
        name=promise["name"],
        description=promise.get("description"),
        mime_type=promise["mimeType"],
    )


def _template(promise: Mapping[str, Any]) -> types.ResourceTemplate:
    return types.ResourceTemplate(
        uri_template=promise["uriTemplate"],
        name=promise["name"],
        description=promise["description"],
        mime_type=promise["mimeType"],
    )
