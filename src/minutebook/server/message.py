"""One JSON-RPC message, read from bytes that anyone may have sent."""

from dataclasses import dataclass
from typing import Any

import pydantic_core
from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from pydantic import ValidationError


@dataclass(eq=False)
class BadMessage(Exception):
    """Bytes that are no message: a JSON-RPC code and what is wrong, without what was sent."""

    code: int
    reason: str


def decoded(text: bytes) -> Any:
    """Read JSON; BadMessage for text that is none: not UTF-8, too deep, half a surrogate, NaN."""
    try:
        return pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise BadMessage(PARSE_ERROR, f"Parse error: {error}") from None


def parsed(text: bytes) -> dict[str, Any]:
    """Read one JSON-RPC message; BadMessage for anything else."""
    message = decoded(text)
    if isinstance(message, list):
        raise BadMessage(INVALID_REQUEST, "Batches are not taken; send each message by itself")
    try:
        jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        raise BadMessage(
            INVALID_REQUEST, "Not a JSON-RPC 2.0 request, notification or response"
        ) from None
    fields: dict[str, Any] = message
    return fields
