"""What the conformance suite asks for and no contract of ours gives: pictures, questions, rounds.

These answers are the fixture's own, added to a server that `build_server` made. What they prove is
our way of carrying a server: HTTP, sessions, streams, identity.
"""

import base64
import json
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import (
    CallNext,
    HandlerResult,
    ServerMiddleware,
    ServerRequestContext,
)
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]
Called = types.CallToolResult | types.InputRequiredResult
Answering = Callable[[Context, types.CallToolRequestParams], Awaitable[Called]]
Schema = Mapping[str, Any]


def extend(server: Server[Any]) -> None:
    """Let a server that has tools, resources and prompts answer what is missing, too."""
    _extend_tools(server)
    _extend_resources(server)
    _extend_prompts(server)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, _set_level)
    server.middleware.append(_sealing(server.name))


def _sealing(name: str) -> ServerMiddleware[Any]:
    """Return what seals the state of the answers here; the server seals that of its own."""
    boundary = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=name)

    async def seal(ctx: Context, call_next: CallNext) -> HandlerResult:
        is_of_here = (ctx.params or {}).get("name") in ANSWERS
        return await (boundary(ctx, call_next) if is_of_here else call_next(ctx))

    return seal


# Contents that are no text


def _png() -> str:
    """Draw one red point."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    parts = (
        chunk(b"IHDR", header),
        chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")),
        chunk(b"IEND", b""),
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def _wav() -> str:
    """Record one sample of silence."""
    form = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    body = b"WAVE" + form + b"data" + struct.pack("<IH", 2, 0)
    return base64.b64encode(b"RIFF" + struct.pack("<I", len(body)) + body).decode()


PICTURE = types.ImageContent(type="image", data=_png(), mime_type="image/png")
SOUND = types.AudioContent(type="audio", data=_wav(), mime_type="audio/wav")


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def _embedded(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    resource = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.EmbeddedResource(type="resource", resource=resource)


def _always(*content: types.ContentBlock) -> Answering:
    async def answer(context: Context, params: types.CallToolRequestParams) -> Called:
        return types.CallToolResult(content=list(content))

    return answer


def _said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[_text(text)])


# Questions to the client while a call is under way, as sessions allow them


async def _log(context: Context, params: types.CallToolRequestParams) -> Called:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        notice = types.LoggingMessageNotification(
            params=types.LoggingMessageNotificationParams(level="info", data=text)
        )
        await context.session.send_notification(notice, context.request_id)
        await anyio.sleep(0.05)
    return _said("Told the log three times.")


def _asking(schema: Schema) -> Answering:
    async def ask(context: Context, params: types.CallToolRequestParams) -> Called:
        asked = str((params.arguments or {}).get("message", "Please fill this in"))
        told = await context.session.elicit_form(asked, dict(schema), context.request_id)
        content = json.dumps(told.content)
        return _said(f"Elicitation completed: action={told.action}, content={content}")

    return ask


def _form(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


STRING = {"type": "string"}
ADDRESS = _form(("username", "email"), username=STRING, email=STRING)
DEFAULTS = _form(
    name={"type": "string", "default": "John Doe"},
    age={"type": "integer", "default": 30},
    score={"type": "number", "default": 95.5},
    status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    verified={"type": "boolean", "default": True},
)
NUMBERED = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"{n}. choice"} for n in (1, 2, 3)]
CHOICES = _form(
    untitledSingle={"type": "string", "enum": NUMBERED},
    titledSingle={"type": "string", "oneOf": TITLED},
    legacyEnum={
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti={"type": "array", "items": {"type": "string", "enum": NUMBERED}},
    titledMulti={"type": "array", "items": {"anyOf": TITLED}},
)


# Questions as a result, which the client answers by calling again: 2026-07-28


def _question(message: str, name: str, type: str = "string") -> types.ElicitRequest:
    form = dict(_form((name,), **{name: {"type": type}}))
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=form)
    )


NAME = _question("What is your name?", "name")
COLOR = _question("Step 2: What is your favorite color?", "color")
CONTEXT = _question("What context should the prompt use?", "context")
CONFIRM = _question("Please confirm", "ok", "boolean")
ROOTS = types.ListRootsRequest()
GREETING = types.CreateMessageRequest(
    params=types.CreateMessageRequestParams(
        messages=[types.SamplingMessage(role="user", content=_text("Generate a greeting"))],
        max_tokens=50,
    )
)


def _answers(
    params: types.CallToolRequestParams | types.GetPromptRequestParams, *names: str
) -> list[Any] | None:
    """Return what the client answered under these names; None unless it answered all of them."""
    given = params.input_responses or {}
    return [given[name] for name in names] if all(name in given for name in names) else None


def _rounds(*rounds: Mapping[str, types.InputRequest], state: bool = False) -> Answering:
    """Ask round after round, each once the one before is answered; then tell what was answered.

    With `state`, how many rounds are done goes to the client and back, sealed.
    """

    async def answer(context: Context, params: types.CallToolRequestParams) -> Called:
        done = int(params.request_state or 0)
        told = _answers(params, *rounds[done])
        if told is not None:
            done += 1
        if done < len(rounds):
            kept = str(done) if state else None
            return types.InputRequiredResult(input_requests=dict(rounds[done]), request_state=kept)
        shown = json.dumps([each.model_dump(mode="json", by_alias=True) for each in told or ()])
        return _said(f"{'state-ok ' * state}{shown}")

    return answer


async def _ask_what_can_be_asked(context: Context, params: types.CallToolRequestParams) -> Called:
    able = context.session.client_capabilities or types.ClientCapabilities()
    asked: dict[str, types.InputRequest] = {}
    if able.sampling is not None:
        asked["greeting"] = GREETING
    if able.elicitation is not None:
        asked["user_name"] = NAME
    return types.InputRequiredResult(input_requests=asked, request_state="asked")


async def _need_sampling(context: Context, params: types.CallToolRequestParams) -> Called:
    able = context.session.client_capabilities or types.ClientCapabilities()
    if able.sampling is None:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "This tool needs sampling",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return _said("The client can sample.")


ANSWERS: Mapping[str, Answering] = {
    "test_image_content": _always(PICTURE),
    "test_audio_content": _always(SOUND),
    "test_embedded_resource": _always(
        _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": _always(
        _text("Multiple content types test:"),
        PICTURE,
        _embedded(
            "test://mixed-content-resource", "application/json", '{"test":"data","value":123}'
        ),
    ),
    "test_tool_with_logging": _log,
    "test_elicitation": _asking(ADDRESS),
    "test_elicitation_sep1034_defaults": _asking(DEFAULTS),
    "test_elicitation_sep1330_enums": _asking(CHOICES),
    "test_missing_capability": _need_sampling,
    "test_streaming_elicitation": _rounds({"user_name": NAME}),
    "test_input_required_result_elicitation": _rounds({"user_name": NAME}),
    "test_input_required_result_list_roots": _rounds({"client_roots": ROOTS}),
    "test_input_required_result_request_state": _rounds({"confirm": CONFIRM}, state=True),
    "test_input_required_result_multiple_inputs": _rounds(
        {"user_name": NAME, "greeting": GREETING, "client_roots": ROOTS}, state=True
    ),
    "test_input_required_result_multi_round": _rounds(
        {"step1": _question("Step 1: What is your name?", "name")},
        {"step2": COLOR},
        state=True,
    ),
    "test_input_required_result_capabilities": _ask_what_can_be_asked,
}

TAKES = {"test_elicitation": _form(("message",), message=STRING)}
"""The arguments of those that take any."""


def _extend_tools(server: Server[Any]) -> None:
    list_ours, call_ours = _ours(server, "tools/list"), _ours(server, "tools/call")
    added = [
        types.Tool(
            name=name,
            description=name.replace("_", " "),
            input_schema=dict(TAKES.get(name, _form())),
        )
        for name in ANSWERS
    ]

    async def list_all(context: Context, params: types.PaginatedRequestParams) -> Any:
        listed = await list_ours(context, params)
        return types.ListToolsResult(tools=[*listed.tools, *added])

    async def call(context: Context, params: types.CallToolRequestParams) -> Any:
        answer = ANSWERS.get(params.name, call_ours)
        return await answer(context, params)

    server.add_request_handler("tools/list", types.PaginatedRequestParams, list_all)
    server.add_request_handler("tools/call", types.CallToolRequestParams, call)


def _extend_resources(server: Server[Any]) -> None:
    uri = "test://static-binary"
    list_ours, read_ours = _ours(server, "resources/list"), _ours(server, "resources/read")
    added = types.Resource(uri=uri, name="static-binary", description="A red point")
    contents = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PICTURE.data)

    async def list_all(context: Context, params: types.PaginatedRequestParams) -> Any:
        listed = await list_ours(context, params)
        return types.ListResourcesResult(resources=[*listed.resources, added])

    async def read(context: Context, params: types.ReadResourceRequestParams) -> Any:
        if params.uri == uri:
            return types.ReadResourceResult(contents=[contents])
        return await read_ours(context, params)

    server.add_request_handler("resources/list", types.PaginatedRequestParams, list_all)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read)


def _with_arguments(given: Mapping[str, str]) -> list[types.ContentBlock]:
    return [_text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]


def _with_resource(given: Mapping[str, str]) -> list[types.ContentBlock]:
    text = "Embeddings resource content for testing."
    return [
        _embedded(given["resourceUri"], "text/plain", text),
        _text("Please process the embedded resource above."),
    ]


def _with_picture(given: Mapping[str, str]) -> list[types.ContentBlock]:
    return [PICTURE, _text("Please analyze the image above.")]


WRITING: Mapping[str, tuple[tuple[str, ...], Callable[..., list[types.ContentBlock]]]] = {
    "test_prompt_with_arguments": (("arg1", "arg2"), _with_arguments),
    "test_prompt_with_embedded_resource": (("resourceUri",), _with_resource),
    "test_prompt_with_image": ((), _with_picture),
}
ASKING = "test_input_required_result_prompt"


def _extend_prompts(server: Server[Any]) -> None:
    list_ours, get_ours = _ours(server, "prompts/list"), _ours(server, "prompts/get")
    takes = {name: taken for name, (taken, _) in WRITING.items()} | {ASKING: ()}
    added = [
        types.Prompt(
            name=name,
            description=name.replace("_", " "),
            arguments=[types.PromptArgument(name=each, required=True) for each in taken],
        )
        for name, taken in takes.items()
    ]

    async def list_all(context: Context, params: types.PaginatedRequestParams) -> Any:
        listed = await list_ours(context, params)
        return types.ListPromptsResult(prompts=[*listed.prompts, *added])

    async def get(context: Context, params: types.GetPromptRequestParams) -> Any:
        if params.name == ASKING:
            told = _answers(params, "user_context")
            if told is None:
                return types.InputRequiredResult(input_requests={"user_context": CONTEXT})
            return _prompt([_text(f"In this context: {told[0].content}")])
        if params.name not in WRITING:
            return await get_ours(context, params)
        return _prompt(WRITING[params.name][1](params.arguments or {}))

    server.add_request_handler("prompts/list", types.PaginatedRequestParams, list_all)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, get)


def _prompt(contents: list[types.ContentBlock]) -> types.GetPromptResult:
    messages = [types.PromptMessage(role="user", content=each) for each in contents]
    return types.GetPromptResult(messages=messages)


async def _set_level(context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


def _ours(server: Server[Any], method: str) -> Callable[..., Awaitable[Any]]:
    entry = server.get_request_handler(method)
    assert entry is not None, f"the hidden contract must bring {method}"
    return entry.handler
