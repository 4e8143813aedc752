"""The promise of `governance` as data, against its document and the code that answers."""

import inspect
import json
import re

import jsonschema
import pytest

from minutebook.features.governance.contract import adapter, gate
from minutebook.record.records import MemoryType
from tests.features.governance.contract.governed import CONTRACT, INTENTS
from tests.serve.contracts.requirements import published, requirement

TOOLS = {tool["name"]: tool for tool in CONTRACT.promise["tools"]}


def document() -> str:
    return published("governance")


def sections() -> dict[str, str]:
    parts = re.split(r"\n### [A-E]\. `([^`]+)`\n", document().split("\n## 3.")[0])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@requirement("governance/published/tools", "common/published-verbatim")
def test_the_tools_of_the_document_are_listed_in_its_order_with_their_purpose() -> None:
    told = sections()
    assert list(told) == [tool.name for tool in CONTRACT.tools.values() if tool.is_listed]
    for name, text in told.items():
        purpose = re.search(r"\*\*Purpose\*\*: (.*)", text)
        assert purpose is not None
        assert TOOLS[name]["description"].partition("\n\n")[0] == purpose[1]


def test_what_the_document_requires_is_required_beside_the_context() -> None:
    for name, text in sections().items():
        said = re.search(r"\*\*Required Fields\*\*: (.*)\.", text)
        # The document says of memory.lock only what it does; it needs the memory, as its like do.
        required = re.findall(r"`(\w+)`", said[1]) if said else ["memory_id"]
        assert TOOLS[name]["inputSchema"]["required"] == ["context", *required]


@requirement(
    "governance/context/agent_id",
    "governance/context/organization_id",
    "governance/context/repository_id",
    "governance/context/intent",
    "governance/context/request_id",
)
def test_the_context_of_each_tool_is_the_documents() -> None:
    part = document().split("## 1.")[1].split("## 2.")[0]
    named = re.findall(r"- \*\*`(\w+)`\*\*", part)
    intents = re.findall(r"`(\w+)`", part.split("**`intent`**")[1].split("\n")[0])
    for tool in TOOLS.values():
        told = tool["inputSchema"]["properties"]["context"]
        assert list(told["properties"]) == told["required"] == named
        assert told["properties"]["intent"]["enum"] == intents


def test_every_tool_publishes_the_same_context_but_for_the_intents_it_takes() -> None:
    contexts = []
    for name, tool in TOOLS.items():
        told = json.loads(json.dumps(tool["inputSchema"]["properties"]["context"]))
        said = told["properties"]["intent"].pop("description")
        assert said.endswith(" or ".join(tool["intents"])), name
        contexts.append((told, tool["enforce"]["context"], tool["atGate"]))
    assert all(each == contexts[0] for each in contexts)


@requirement("governance/context/intents")
def test_the_intents_are_the_resolved_ones() -> None:
    assert {name: tool["intents"] for name, tool in TOOLS.items()} == {
        "memory-write": ["write"],
        "memory-search": ["read"],
        "memory.read": ["read"],
        "memory.lock": ["admin"],
        "memory.deprecate": ["write", "admin"],
    }
    assert all(INTENTS[name] in tool["intents"] for name, tool in TOOLS.items())


@requirement("governance/errors/numbers")
def test_the_errors_are_the_documents_with_their_numbers() -> None:
    named = re.findall(r"^\| `([A-Z_]+)`", document(), re.MULTILINE)
    numbers = {name: told["number"] for name, told in CONTRACT.promise["errors"].items()}
    assert numbers == {
        "INVALID_CONTEXT": -32602,
        "INVALID_ARGUMENT": -32602,
        "MEMORY_LOCKED": -32001,
        "SCOPE_VIOLATION": -32002,
        "WRITE_NOT_ALLOWED": -32003,
        "MEMORY_NOT_FOUND": -32004,
        "SERVER_ERROR": -32000,
    }
    assert set(named) == set(numbers) - {"INVALID_ARGUMENT", "SERVER_ERROR"}


def test_every_tool_has_an_operation_and_a_word_for_the_trail() -> None:
    assert list(TOOLS) == list(adapter.OPERATIONS) == list(gate.ACTS)


@pytest.mark.parametrize("name", TOOLS)
def test_properties_and_parameters_are_the_same(name: str) -> None:
    tool = TOOLS[name]
    properties = {**tool["inputSchema"]["properties"], **tool.get("hiddenProperties", {})}
    del properties["context"]
    parameters = dict(inspect.signature(adapter.OPERATIONS[name]).parameters)
    assert list(parameters)[:2] == ["app", "caller"]
    assert set(list(parameters)[2:]) == set(properties)
    for key, told in properties.items():
        is_filled = key in tool["inputSchema"]["required"] or "default" in told
        assert (parameters[key].default is inspect.Parameter.empty) is is_filled, key


@pytest.mark.parametrize("name", TOOLS)
def test_each_schema_is_valid_json_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(TOOLS[name]["inputSchema"])


def test_each_type_that_a_memory_can_have_can_be_searched_for() -> None:
    shown = TOOLS["memory-search"]["inputSchema"]["properties"]["type_filter"]["enum"]
    written = TOOLS["memory-write"]["inputSchema"]["properties"]["type"]["enum"]
    assert set(shown) == set(MemoryType)
    assert set(written) < set(shown)


def test_nothing_that_is_ours_alone_is_exported() -> None:
    exported = json.dumps(CONTRACT.schema())
    assert list(CONTRACT.schema()["tools"]) == list(TOOLS)
    for word in ("enforce", "atGate", "intents", "hiddenProperties"):
        assert f'"{word}"' not in exported


@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_says_what_it_answers_and_how_it_refuses(name: str) -> None:
    # World.call and World.failure hold every answer and refusal to it.
    schema = TOOLS[name]["outputSchema"]
    assert schema["type"] == "object"
    answer, refusal = schema["anyOf"]
    assert set(answer["required"]) <= set(answer["properties"])
    assert refusal["required"] == ["error"]
    assert not jsonschema.Draft202012Validator(schema).is_valid({})
