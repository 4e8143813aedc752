"""One JSON-RPC message, read from bytes that anyone may have sent."""

import json
import re
from dataclasses import dataclass
from typing import Any

import pydantic_core
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

NO_MESSAGE = "This is no JSON-RPC 2.0 request, notification or response."


@dataclass(eq=False)
class BadMessage(Exception):
    """Bytes that are not a message: the JSON-RPC code and the reason; `id` is the request's, None if it has no valid one."""

    code: int
    reason: str
    id: str | int | None = None


_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)
"""An escape in a string of JSON, or two that are a pair of surrogates; group 1 matches a lone surrogate."""


def decoded(text: bytes) -> Any:
    """Return the value of a JSON text, with U+FFFD for lone surrogates.

    Raises BadMessage if the text is not JSON in UTF-8, is nested too deeply, or holds NaN.
    """
    try:
        return pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        mended = _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], text)
        if mended != text:
            return decoded(mended)
        raise BadMessage(PARSE_ERROR, f"This cannot be read: {error}.", _id_within(text)) from None


def parsed(text: bytes) -> JSONRPCMessage:
    """Read one JSON-RPC message. Raises BadMessage for anything else."""
    document = decoded(text)
    if isinstance(document, list):
        raise BadMessage(INVALID_REQUEST, "Batches are not taken; send each message by itself.")
    try:
        message = jsonrpc_message_adapter.validate_python(document, by_name=False)
    except ValidationError:
        raise BadMessage(INVALID_REQUEST, NO_MESSAGE, _id_of(document)) from None
    # The SDK reads a request with an invalid id as a notification.
    if isinstance(message, JSONRPCNotification) and "id" in document:
        raise BadMessage(INVALID_REQUEST, NO_MESSAGE)
    return message


def _id_within(text: bytes) -> str | int | None:
    """Return the id in a text that only the lenient parser of the standard library can read, else None."""
    try:
        return _id_of(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _id_of(document: object) -> str | int | None:
    id = document.get("id") if isinstance(document, dict) else None
    if (isinstance(id, str) and id.isascii()) or type(id) is int:
        return id
    return None
