"""The OpenAPI document of the journal: valid, complete, and from the one promise."""

import json
from typing import Any

import jsonschema
import pytest
import yaml
from openapi_schema_validator import OAS30Validator
from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

from minutebook.features.http.protocols import openapi
from minutebook.features.http.protocols.openapi_3_0 import schema_3_0
from minutebook.record.errors import Fault, InvalidInput, NotFound, StoreClosed, StoreError
from minutebook.record.records import Role
from minutebook.serve.contracts.answers import Answer, failed
from tests.features.journal.contract.journaled import CONTRACT
from tests.serve.contracts.requirements import requirement
from tests.serve.contracts.wrong import valid
from tests.terminal import Run
from tests.world import World

DOCUMENT = openapi.document(CONTRACT)
TOOLS = {tool["name"]: tool for tool in CONTRACT.promise["tools"]}


@requirement("journal/openapi/usable", "journal/openapi/complete")
def test_the_document_is_valid_openapi() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"
    OpenAPIV31SpecValidator(DOCUMENT).validate()


@requirement("journal/openapi/3.0", "journal/openapi/usable")
def test_the_document_is_valid_openapi_of_the_older_version() -> None:
    told = openapi.document(CONTRACT, version="3.0")
    assert told["openapi"] == "3.0.3"
    OpenAPIV30SpecValidator(told).validate()
    assert told["paths"].keys() == DOCUMENT["paths"].keys()


def test_the_older_version_takes_and_refuses_the_same_bodies() -> None:
    told = openapi.document(CONTRACT, version="3.0")
    for path, methods in told["paths"].items():
        if "post" not in methods:
            continue
        name, content = path[1:], "application/json"
        schema = methods["post"]["requestBody"]["content"][content]["schema"]
        required = schema.get("required", [])
        validator = OAS30Validator(schema)
        nothing = {key: None for key in schema["properties"] if key not in required}
        validator.validate({**valid("journal", name), **nothing})
        for key in schema["properties"]:
            assert not validator.is_valid({**valid("journal", name), key: {"no": "such"}})
        for key in required:
            assert not validator.is_valid({**valid("journal", name), key: None})


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": "null"}, {"nullable": True, "enum": [None]}),
        (
            {"type": ["string", "integer", "null"]},
            {"anyOf": [{"type": each, "nullable": True} for each in ("string", "integer")]},
        ),
        ({"const": "a"}, {"enum": ["a"]}),
        ({"exclusiveMinimum": 0}, {"minimum": 0, "exclusiveMinimum": True}),
        ({"exclusiveMaximum": 9}, {"maximum": 9, "exclusiveMaximum": True}),
        ({"type": "string", "examples": ["a", "b"]}, {"type": "string", "example": "a"}),
        ({"additionalProperties": False}, {"additionalProperties": False}),
        (
            {"properties": {"type": {"const": 1}, "const": {"type": ["object", "null"]}}},
            {"properties": {"type": {"enum": [1]}, "const": {"type": "object", "nullable": True}}},
        ),
        (
            {"items": {"const": 1}, "anyOf": [{"const": 2}], "not": {"const": 3}},
            {"items": {"enum": [1]}, "anyOf": [{"enum": [2]}], "not": {"enum": [3]}},
        ),
    ],
)
def test_a_schema_says_the_same_in_the_older_dialect(
    newer: dict[str, Any], older: dict[str, Any]
) -> None:
    assert schema_3_0(newer) == older


def test_what_the_older_dialect_cannot_say_is_not_left_out_in_silence() -> None:
    with pytest.raises(ValueError, match="if, then"):
        schema_3_0({"type": "object", "properties": {"a": {"if": {}, "then": {}}}})


@requirement("journal/openapi/generated", "journal/published/openapi-source")
def test_each_tool_is_one_operation_with_its_own_schemas() -> None:
    told = {
        each["operationId"]: (path, method, each)
        for path, methods in DOCUMENT["paths"].items()
        for method, each in methods.items()
    }
    assert list(told) == list(TOOLS)
    for name, (path, method, operation) in told.items():
        assert path == f"/{name}"
        assert method == ("get" if name == "healthcheck" else "post")
        answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
        assert answer == TOOLS[name]["outputSchema"]
        assert operation["summary"] == TOOLS[name]["title"]
        assert operation["description"] == TOOLS[name]["description"]
        assert ("requestBody" in operation) is (method == "post")
        if method == "post":
            body = operation["requestBody"]
            schema = body["content"]["application/json"]["schema"]
            assert list(schema["properties"]) == list(TOOLS[name]["inputSchema"]["properties"])
            assert body["required"] is bool(schema.get("required"))


@pytest.mark.parametrize("name", [each for each in TOOLS if each != "healthcheck"])
def test_a_body_that_is_valid_for_the_tool_is_valid_for_the_operation(name: str) -> None:
    body = DOCUMENT["paths"][f"/{name}"]["post"]["requestBody"]["content"]["application/json"]
    jsonschema.validate(valid("journal", name), body["schema"])
    required = TOOLS[name]["inputSchema"].get("required", [])
    nothing = {key: None for key in TOOLS[name]["inputSchema"]["properties"] if key not in required}
    jsonschema.validate({**valid("journal", name), **nothing}, body["schema"])
    for key in required:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**valid("journal", name), key: None}, body["schema"])


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidInput("limit", "must be at least 1"), 400),
        (NotFound("session", "s"), 404),
        (StoreClosed("closed"), 503),
        (StoreError("the disk is full"), 503),
        (Fault("add_memory", "r1"), 500),
    ],
)
def test_an_error_has_the_status_that_the_contract_gives_it(error: Exception, status: int) -> None:
    answer = failed(CONTRACT.word(error, {}))  # type: ignore[arg-type]
    assert openapi.status_of(CONTRACT, answer) == status
    assert str(status) in DOCUMENT["paths"]["/add_memory"]["post"]["responses"]
    body = openapi.body_of(answer)
    jsonschema.validate(body, DOCUMENT["components"]["schemas"]["Error"])
    assert body is not None
    assert body["message"] == answer.text


def test_an_answer_has_the_status_200_and_its_object_as_body() -> None:
    answer = Answer('{"a": 1}', {"a": 1})
    assert openapi.status_of(CONTRACT, answer) == 200
    assert openapi.body_of(answer) == {"a": 1}


def test_an_operations_tool_is_what_the_contract_calls(world: World) -> None:
    asking = world.by(session="session_1", role=Role.VIEWER).caller
    for operation in openapi.operations(CONTRACT):
        name = operation.tool.name
        answer = CONTRACT.call(world.app, asking, name, valid("journal", name))
        status = openapi.status_of(CONTRACT, answer)
        responses = DOCUMENT["paths"][operation.path][operation.method.lower()]["responses"]
        assert str(status) in responses


def test_the_command_prints_the_document(run: Run) -> None:
    printed = run("export-schema", "journal", "--openapi")
    assert printed.exit_code == 0
    assert json.loads(printed.stdout) == DOCUMENT
    assert json.loads(run("export-schema", "journal").stdout) == CONTRACT.schema()


@requirement("journal/openapi/yaml")
def test_the_command_prints_the_document_in_each_format_and_version(run: Run) -> None:
    for version in openapi.VERSIONS:
        told = openapi.document(CONTRACT, version=version)
        for format, read in (("json", json.loads), ("yaml", yaml.safe_load)):
            options = ("--openapi", "--format", format, "--version", version)
            printed = run("export-schema", "journal", *options)
            assert printed.exit_code == 0
            assert read(printed.stdout) == told
            assert "&id" not in printed.stdout
    assert yaml.safe_load(run("export-schema", "journal", "--format", "yaml").stdout) == json.loads(
        json.dumps(CONTRACT.schema())
    )
    assert "--openapi" in run("export-schema", "journal", "--version", "3.0").stderr


def test_a_contract_without_operations_has_no_document(run: Run) -> None:
    refused = run("export-schema", "knowledge", "--openapi")
    assert refused.exit_code == 1
    assert "plain HTTP" in refused.stderr


def test_the_server_of_the_document_is_where_it_is_served() -> None:
    assert openapi.document(CONTRACT, "/journal")["servers"] == [{"url": "/journal"}]
