"""What clients read of contracts: resources, their templates and completions, prompts."""

from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from minutebook.app import App
from minutebook.contracts.answers import Answer, Failure
from minutebook.contracts.contract import Contract
from minutebook.domain.policy import Caller
from minutebook.server.watch import Watch
from minutebook.server.worker import Worker, protocol_error

MOST_VALUES = 100
"""How many values a completion may hold, by the protocol."""

_Context = ServerRequestContext[Any, Any]
_Page = types.PaginatedRequestParams | None


def add_resources(server: Server[Any], watch: Watch, worker: Worker) -> None:
    """Let a server list, read, complete and watch the resources of the watched contracts."""
    contracts = watch.contracts

    async def list_resources(context: _Context, params: _Page) -> types.ListResourcesResult:
        await watch.look(context.session)
        told: list[types.Resource] = []
        for contract in contracts:
            promises = await worker.do(
                contract, "resources/list", {}, context.request_id, contract.listing
            )
            if isinstance(promises, Failure):
                raise protocol_error(promises)
            told += map(_resource, promises)
        return types.ListResourcesResult(resources=told)

    async def list_templates(context: _Context, params: _Page) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                _template(each.promise) for contract in contracts for each in contract.templates
            ]
        )

    async def read(
        context: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        contract, mime_type = _owner(contracts, uri)

        def reading(app: App, asking: Caller) -> Answer:
            return contract.read(app, asking, uri)

        outcome = await worker.do(contract, uri, {"uri": uri}, context.request_id, reading)
        if isinstance(outcome, Failure) or outcome.error is not None:
            raise protocol_error(_failure(outcome))
        text = types.TextResourceContents(uri=uri, mime_type=mime_type, text=outcome.text)
        return types.ReadResourceResult(contents=[text])

    async def complete(
        context: _Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        found: list[str] = []
        reference, argument = params.ref, params.argument
        if isinstance(reference, types.ResourceTemplateReference):
            for contract in contracts:

                def completion(
                    app: App, asking: Caller, contract: Contract = contract
                ) -> list[str]:
                    return contract.complete(
                        app, asking, reference.uri, argument.name, argument.value
                    )

                given = {argument.name: argument.value}
                values = await worker.do(
                    contract, "completion/complete", given, context.request_id, completion
                )
                if isinstance(values, Failure):
                    raise protocol_error(values)
                found += values
        return types.CompleteResult(
            completion=types.Completion(
                values=found[:MOST_VALUES], total=len(found), has_more=len(found) > MOST_VALUES
            )
        )

    async def subscribe(
        context: _Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        _owner(contracts, str(params.uri))
        await watch.subscribe(str(params.uri), context.session)
        return types.EmptyResult()

    async def unsubscribe(
        context: _Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        watch.unsubscribe(str(params.uri))
        return types.EmptyResult()

    page, add = types.PaginatedRequestParams, server.add_request_handler
    add("resources/list", page, list_resources)
    add("resources/templates/list", page, list_templates)
    add("resources/read", types.ReadResourceRequestParams, read)
    add("resources/subscribe", types.SubscribeRequestParams, subscribe)
    add("resources/unsubscribe", types.UnsubscribeRequestParams, unsubscribe)
    add("subscriptions/listen", types.SubscriptionsListenRequestParams, watch.listen)
    add("completion/complete", types.CompleteRequestParams, complete)


def add_prompts(server: Server[Any], contracts: Sequence[Contract]) -> None:
    """Let a server list and give the prompts of some contracts."""

    async def list_prompts(context: _Context, params: _Page) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(name=name, description=promise["description"])
                for contract in contracts
                for name, promise in contract.prompts.items()
            ]
        )

    async def get_prompt(
        context: _Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        contract = next((each for each in contracts if params.name in each.prompts), None)
        if contract is None:
            known = ", ".join(name for each in contracts for name in each.prompts)
            raise MCPError(
                types.INVALID_PARAMS, f"Unknown prompt: {params.name}; there are: {known}"
            )
        text = types.TextContent(type="text", text=contract.prompt(params.name))
        return types.GetPromptResult(
            description=contract.prompts[params.name]["description"],
            messages=[types.PromptMessage(role="user", content=text)],
        )

    server.add_request_handler("prompts/list", types.PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, get_prompt)


def _owner(contracts: Sequence[Contract], uri: str) -> tuple[Contract, str]:
    for contract in contracts:
        if (resource := contract.resource(uri)) is not None:
            return contract, resource.mime_type
    raise MCPError(types.INVALID_PARAMS, f"Unknown resource: {uri}", {"uri": uri})


def _failure(outcome: Answer | Failure) -> Failure:
    if isinstance(outcome, Failure):
        return outcome
    assert outcome.error is not None
    return outcome.error


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
