"""Answer a client while its server starts: `initialize`, `server/discover`, `ping`, `tools/list`.

Only requests in the usual form are answered here, exactly as the server would; the server gets the
handshake later, and answers everything else. Standard library only.
"""

import json

from minutebook.serve.contracts.announced import MODERN_VERSION, Announced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions of the protocol that begin with a handshake; any other version is answered with the last."""

_PROTOCOLS = "io.modelcontextprotocol/"
"""The prefix of names in `_meta` that the protocol defines."""

_VERSION, _CAPABILITIES, _CLIENT = (
    f"{_PROTOCOLS}{name}" for name in ("protocolVersion", "clientCapabilities", "clientInfo")
)
"""The names in the `_meta` of a request without a handshake."""

# Larger numbers are not exact in every reader of JSON.
_ID_BOUND = 1 << 53

_CLIENT_INFO = {"name", "version", "title", "description", "websiteUrl"}
_FREE = {"experimental", "extensions"}
"""Capabilities that the client defines itself: objects of any objects."""

_NESTED = {"sampling", "elicitation", "tasks"}
"""Capabilities that are objects of objects. Those that the protocol does not know may be anything."""


class EarlyAnswers:
    """The answers to one client, until a server answers it."""

    def __init__(self, announced: Announced) -> None:
        self._announced = announced
        self._version = ""
        self._client = ""

    def answer(self, line: bytes) -> bytes | None:
        """Return the line that answers a request, or None if only the server can answer it."""
        message = message_in(line)
        return self.answer_to(message) if message and "id" in message else None

    def answer_to(self, message: "dict[str, Any]") -> bytes | None:
        """Return the line that answers a parsed request, or None if only the server can answer it."""
        method, params = message["method"], message.get("params", {})
        if method == "initialize" and not self._version:
            result = self._initialized(params)
            self._version = result["protocolVersion"] if result is not None else ""
        elif method == "ping" and self._version and _has_only_progress_token(params):
            result = {}
        elif method == "tools/list" and self._version and _has_only_progress_token(params):
            result = self._announced.tools(self._version, self._client)
        elif method == "server/discover" and not self._version and _is_modern(params):
            result = self._announced.discover()
        elif method == "tools/list" and not self._version and _is_modern(params):
            client = params["_meta"].get(_CLIENT, {}).get("name", "")
            result = self._announced.modern_result(self._announced.tools(MODERN_VERSION, client))
        else:
            return None
        if result is None:
            return None
        return line_of(id=message["id"], result=result)

    def _initialized(self, params: "dict[str, Any]") -> "dict[str, Any] | None":
        if set(params) != {"protocolVersion", "capabilities", "clientInfo"}:
            return None
        version, info = params["protocolVersion"], params["clientInfo"]
        if not isinstance(version, str) or not _is_client_info(info):
            return None
        if not _are_capabilities(params["capabilities"]):
            return None
        self._client = info["name"]
        return self._announced.initialize(version if version in VERSIONS else VERSIONS[-1])


def line_of(**message: object) -> bytes:
    """Return a message as a line; a lone surrogate, which UTF-8 cannot hold, becomes U+FFFD."""
    text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        from minutebook.record.control_characters import encodable

        return str(encodable(text)).encode() + b"\n"


def message_in(line: bytes) -> "dict[str, Any] | None":
    """Return the request or notification in a line, None if it is neither or if readers of JSON may differ on it."""
    try:
        message = json.loads(line.decode())
        # Lone surrogates and NaN are for the server to refuse.
        json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not set(message) <= {"jsonrpc", "id", "method", "params"}:
        return None
    id = message.get("id", "")
    is_id = isinstance(id, str) or (type(id) is int and abs(id) < _ID_BOUND)
    is_request = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    return message if is_id and is_request and isinstance(message.get("params", {}), dict) else None


def _has_only_progress_token(params: "dict[str, Any]") -> bool:
    """Tell whether the parameters of a request are empty but for a progress token."""
    if set(params) - {"_meta"}:
        return False
    meta = params.get("_meta", {})
    return isinstance(meta, dict) and all(
        name == "progressToken" and (isinstance(token, str) or type(token) is int)
        for name, token in meta.items()
    )


def is_plain_call(message: "dict[str, Any]") -> bool:
    """Tell whether a call of a tool has only fields that mean the same in each handshake revision."""
    params = message.get("params", {})
    meta = params.get("_meta", {})
    return (
        set(params) <= {"name", "arguments", "_meta"}
        and isinstance(params.get("name"), str)
        and isinstance(params.get("arguments", {}), dict)
        and isinstance(meta, dict)
        and (isinstance(token := meta.get("progressToken", 0), str) or type(token) is int)
        and not any(name.startswith(_PROTOCOLS) for name in meta)
    )


def _is_modern(params: "dict[str, Any]") -> bool:
    """Tell whether the parameters of a request hold only the fields of MODERN_VERSION's `_meta`."""
    meta = params.get("_meta")
    if set(params) != {"_meta"} or not isinstance(meta, dict):
        return False
    required = {_VERSION, _CAPABILITIES}
    return (
        required <= set(meta) <= required | {_CLIENT}
        and meta[_VERSION] == MODERN_VERSION
        and _are_capabilities(meta[_CAPABILITIES])
        and (_CLIENT not in meta or _is_client_info(meta[_CLIENT]))
    )


def _is_client_info(info: object) -> bool:
    return (
        isinstance(info, dict)
        and {"name", "version"} <= set(info) <= _CLIENT_INFO
        and all(isinstance(value, str) for value in info.values())
    )


def _are_capabilities(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    for name, each in value.items():
        if name in _FREE:
            if not isinstance(each, dict) or not all(isinstance(v, dict) for v in each.values()):
                return False
        elif name == "roots":
            if each not in ({}, {"listChanged": True}, {"listChanged": False}):
                return False
        elif name in _NESTED and not _is_nested(each):
            return False
    return True


def _is_nested(value: object) -> bool:
    """Tell whether a value is an object that holds only objects, at each depth."""
    return isinstance(value, dict) and all(_is_nested(part) for part in value.values())
