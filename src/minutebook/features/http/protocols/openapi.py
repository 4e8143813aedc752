"""A contract's tools as operations over plain HTTP: an OpenAPI document, and its promise.

Each tool is one operation at `/<tool>`, its arguments a JSON object in the body of a POST. A tool that
only reads and takes no arguments answers a GET. Errors are `{error, message}`, with the status that the
contract gives to each error name.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from minutebook.features.http.protocols.openapi_3_0 import as_3_0
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import must_be_one_of
from minutebook.serve.contracts.answers import Answer, Failure, serialized
from minutebook.serve.contracts.contract import Contract, Tool

VERSION = "3.1.0"

VERSIONS = ("3.1", "3.0")
"""The versions of OpenAPI in which the document can be written; the first is the default."""

FORMATS = ("json", "yaml")
"""The formats in which it can be written; the first is the default."""

OK = 200
INTERNAL_ERROR = 500

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DocumentedOperation:
    """A tool as it is called over plain HTTP."""

    method: Literal["GET", "POST"]
    path: str
    tool: Tool


def is_offered(contract: Contract) -> bool:
    """Tell whether a contract promises its tools over plain HTTP as well."""
    return bool(contract.promise.get("plainHttp"))


def operations(contract: Contract) -> list[DocumentedOperation]:
    """Return the operations of a contract, one for each tool that clients are shown.

    Raises InvalidInput if its tools are not offered over plain HTTP.
    """
    if not is_offered(contract):
        raise InvalidInput("CONTRACT", "must be one whose tools are operations over plain HTTP too")
    return [_operation(tool) for tool in contract.tools.values() if tool.is_listed]


def document(contract: Contract, server: str = "/", version: str = VERSIONS[0]) -> Document:
    """Return the document of a contract's operations, served below the URL `server`.

    Raises InvalidInput if the contract promises none, or if `version` is none of VERSIONS.
    """
    if version not in VERSIONS:
        raise InvalidInput("version", must_be_one_of(VERSIONS, version))
    document_3_1 = _document_3_1(contract, server)
    return document_3_1 if version == VERSIONS[0] else as_3_0(document_3_1)


def _document_3_1(contract: Contract, server: str) -> Document:
    info = contract.promise["info"]
    return {
        "openapi": VERSION,
        "info": {
            "title": info["title"],
            "version": info["version"],
            "description": info["instructions"],
        },
        "servers": [{"url": server}],
        "paths": {each.path: _path(contract, each) for each in operations(contract)},
        "components": {
            "schemas": {"Error": _ERROR},
            "responses": {**dict(_error_responses(contract)), "Other": _response(_OTHER)},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        # With a token or, where the server asks for none, without.
        "security": [{"token": []}, {}],
    }


def exported(contract: Contract, format: str = FORMATS[0], version: str = VERSIONS[0]) -> str:
    """Return the document as a text in one of FORMATS.

    Raises InvalidInput if `version` is none of VERSIONS.
    """
    return serialized(document(contract, version=version), format)


def status_of(contract: Contract, answer: Answer) -> int:
    """Return the HTTP status of an answer: 200, or that of its error's name."""
    if answer.error is None:
        return OK
    promised = contract.promise["errors"].get(answer.error.name, {})
    return int(promised.get("status", INTERNAL_ERROR))


def body_of(answer: Answer) -> Mapping[str, Any] | None:
    """Return the object that an answer sends over plain HTTP, None if it is another value."""
    return answer.content if answer.error is None else error_body(answer.error)


def error_body(failure: Failure) -> Mapping[str, Any]:
    """Return the object that an error sends over plain HTTP."""
    return {"error": failure.name, "message": failure.text}


_ERROR: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "The error's name"},
        "message": {"type": "string", "description": "What happened, to what, and what to do"},
    },
    "required": ["error", "message"],
}

_OTHER = "The server refused the request before the contract was asked; the message says why."


def _operation(tool: Tool) -> DocumentedOperation:
    takes, reads = tool.promise["inputSchema"]["properties"], tool.promise["annotations"]
    is_plain = not takes and reads["readOnlyHint"]
    return DocumentedOperation("GET" if is_plain else "POST", f"/{tool.name}", tool)


def _path(contract: Contract, operation: DocumentedOperation) -> Document:
    promise = operation.tool.promise
    summary, _, more = str(promise["description"]).partition("\n\n")
    described: Document = {
        "operationId": operation.tool.name,
        "summary": promise.get("title", operation.tool.name),
        "description": f"{summary}\n\n{more}" if more else summary,
    }
    if operation.method == "POST":
        schema = _body(promise["inputSchema"])
        described["requestBody"] = {
            "required": bool(schema.get("required")),
            "content": {"application/json": {"schema": schema}},
        }
    described["responses"] = {
        str(OK): {
            "description": "What the tool answers.",
            "content": {"application/json": {"schema": promise["outputSchema"]}},
        },
        **{
            str(status): {"$ref": f"#/components/responses/{status}"}
            for status in _statuses(contract)
        },
        # Refusals before the contract is called: no token, too large, too many.
        "default": {"$ref": "#/components/responses/Other"},
    }
    return {operation.method.lower(): described}


def _body(schema: Mapping[str, Any]) -> Document:
    """Return the schema of a tool's arguments as they are accepted: an optional one may be null."""
    required = schema.get("required", [])
    return {
        **schema,
        "properties": {
            name: parameter if name in required else _or_null(parameter)
            for name, parameter in schema["properties"].items()
        },
    }


def _or_null(parameter: Mapping[str, Any]) -> Document:
    wider = {**parameter, "type": [parameter["type"], "null"]}
    if "enum" in parameter:
        wider["enum"] = [*parameter["enum"], None]
    return wider


def _statuses(contract: Contract) -> dict[int, list[str]]:
    """Return the names of the errors of each HTTP status."""
    found: dict[int, list[str]] = defaultdict(list)
    for name, error in contract.promise["errors"].items():
        found[error["status"]].append(name)
    return dict(sorted(found.items()))


def _error_responses(contract: Contract) -> Iterator[tuple[str, Document]]:
    errors = contract.promise["errors"]
    for status, names in _statuses(contract).items():
        meanings = " ".join(f"{name}: {errors[name]['meaning']}" for name in names)
        yield str(status), _response(meanings)


def _response(meaning: str) -> Document:
    schema = {"$ref": "#/components/schemas/Error"}
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}
