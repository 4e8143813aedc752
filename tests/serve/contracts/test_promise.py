"""The promise as data, against the document it was taken from and the code that answers."""

import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest

from minutebook.record.errors import InvalidInput
from minutebook.serve.contracts.knowledge import knowledge, operations
from minutebook.serve.contracts.registry import CONTRACTS, open_contracts
from tests.serve.contracts.requirements import published, requirement

CONTRACT = knowledge()
PROMISE = CONTRACT.promise
TOOLS = {tool["name"]: tool for tool in PROMISE["tools"]}
LISTED = [tool.name for tool in CONTRACT.tools.values() if tool.is_listed]
GIVEN_BY_CALL = ("app", "caller")


@dataclass(frozen=True)
class Section:
    """What the document says of one tool."""

    name: str
    description: str
    schema: Mapping[str, Any]
    errors: list[str]


def section(text: str) -> Section:
    head, _, rest = text.partition("\n")
    description = rest.strip().split("\n\n", 1)[0]
    schema = re.search(r"\*\*Input Schema:\*\*\n```json\n(.*?)\n```", rest, re.DOTALL)
    assert schema is not None, head
    errors = re.search(r"\*\*Errors:\*\*\n((?:- .*\n?)+)", rest)
    quoted = re.findall(r'- "([^"]+)"', errors[1]) if errors else []
    return Section(head.split(". ", 1)[1], description, json.loads(schema[1]), quoted)


def document() -> str:
    return published("knowledge")


def sections() -> list[Section]:
    return [section(part) for part in re.split(r"\n### (?=\d+\. )", document())[1:]]


@requirement("knowledge/tools/listed")
@pytest.mark.needs("code")
def test_the_tools_of_the_document_are_listed_in_its_order() -> None:
    assert [each.name for each in sections()] == LISTED
    assert len(LISTED) == 21


@requirement("knowledge/tools/published", "common/published-verbatim")
@pytest.mark.needs("code")
def test_each_tool_is_published_as_the_document_has_it() -> None:
    for each in sections():
        assert TOOLS[each.name]["description"] == each.description
        published = TOOLS[each.name]["inputSchema"]
        # Written out, so that 1 and 1.0, and the order of the properties, differ.
        assert json.dumps(published) == json.dumps(each.schema), each.name


@requirement("knowledge/server/info")
@pytest.mark.needs("code")
def test_the_server_introduces_itself_as_the_document_has_it() -> None:
    block = re.search(r"## Server Info\n\n```json\n(.*?)\n```", document(), re.DOTALL)
    assert block is not None
    told = json.loads(block[1])
    for key in ("name", "version"):
        assert PROMISE["info"][key] == told[key]
    published, own = told["instructions"], PROMISE["info"]["instructions"]
    assert own.startswith(f"{published} ")
    added = own.removeprefix(published)
    assert len(added.split()) <= 120
    named = re.findall(r"`(\w+)`", added)
    known = {each["name"] for each in PROMISE["tools"]}
    fields = {field for each in PROMISE["tools"] for field in each["inputSchema"]["properties"]}
    assert {"recall", "store_memory", "invalidate"} <= set(named) <= known | fields
    assert PROMISE["mcp_api_version"] == told["protocolVersion"]


def test_each_error_of_the_document_is_one_of_the_promised_texts() -> None:
    common = re.findall(r'^\| "([^"]+)" \|', document(), re.MULTILINE)
    texts = PROMISE["errors"].values()
    for text in [*common, *(text for each in sections() for text in each.errors)]:
        assert any(known.startswith(text) for known in texts), text


def parameters(name: str) -> dict[str, inspect.Parameter]:
    told = dict(inspect.signature(operations()[name]).parameters)
    return {key: each for key, each in told.items() if key not in GIVEN_BY_CALL}


def test_every_tool_has_an_operation_and_every_operation_a_tool() -> None:
    assert sorted(CONTRACT.tools) == sorted(operations())


@pytest.mark.parametrize("name", LISTED)
def test_properties_and_parameters_are_the_same(name: str) -> None:
    tool = TOOLS[name]
    properties = {**tool["inputSchema"]["properties"], **tool.get("hiddenProperties", {})}
    assert set(parameters(name)) == set(properties)
    required = set(tool["inputSchema"].get("required", []))
    for key, parameter in parameters(name).items():
        is_filled = key in required or "default" in properties[key]
        if tool.get("enforce", {}).get(key, {}).get("form") == "any":
            is_filled = False
        assert (parameter.default is inspect.Parameter.empty) is is_filled, key


def test_the_defaults_of_the_signals_are_the_published_ones() -> None:
    from minutebook.memory.search.recall import WEIGHTS
    from minutebook.text.fusion import Signal

    published = {
        key.removesuffix("_weight"): told["default"]
        for key, told in TOOLS["recall"]["inputSchema"]["properties"].items()
        if key.endswith("_weight")
    }
    assert published == {
        "vector": WEIGHTS[Signal.VECTOR],
        "bm25": WEIGHTS[Signal.LEXICAL],
        "ppr": WEIGHTS[Signal.GRAPH],
    }


@pytest.mark.parametrize("name", LISTED)
def test_each_schema_is_valid_json_schema_without_nullable(name: str) -> None:
    schema = json.loads(json.dumps(TOOLS[name]["inputSchema"]))
    for told in schema["properties"].values():
        told.pop("nullable", None)
        jsonschema.Draft202012Validator.check_schema(told)
        if "default" in told:
            jsonschema.validate(told["default"], told)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema.get("required", [])) <= set(schema["properties"])


@pytest.mark.parametrize("name", LISTED)
def test_what_is_enforced_concerns_a_property_in_words_that_are_read(name: str) -> None:
    tool = TOOLS[name]
    properties = {**tool["inputSchema"]["properties"], **tool.get("hiddenProperties", {})}
    known = {"minLength", "minimum", "maximum", "enum", "maxBytes", "maxLength", "clamp", "form"}
    for key, rules in tool.get("enforce", {}).items():
        assert key in properties
        assert set(rules) <= known
        assert rules.get("form", "id") in {"id", "instant", "any"}


def test_a_maximum_that_only_the_prose_gives_is_enforced() -> None:
    for name, tool in TOOLS.items():
        for key, told in tool["inputSchema"]["properties"].items():
            said = re.search(r"max: (\d+)", told["description"])
            if said and "maximum" not in told:
                assert tool["enforce"][key]["clamp"] == int(said[1]), (name, key)


@pytest.mark.parametrize("name", LISTED)
def test_each_tool_tells_what_it_does_to_the_world(name: str) -> None:
    hints = TOOLS[name]["annotations"]
    assert set(hints) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    reads = {"get", "list", "search", "recall"}
    assert hints["readOnlyHint"] is (name.partition("_")[0] in reads)
    destroys = {"delete_memory", "delete_project", "reset_all_memory"}
    assert hints["destructiveHint"] is (name in destroys)
    assert not (hints["readOnlyHint"] and not hints["idempotentHint"])


def test_the_exported_schema_holds_every_listed_tool_and_nothing_of_ours() -> None:
    exported = CONTRACT.schema()
    assert list(exported["tools"]) == LISTED
    for name, told in exported["tools"].items():
        assert told["input_schema"] == TOOLS[name]["inputSchema"]
    assert "enforce" not in json.dumps(exported)
    assert "hiddenProperties" not in json.dumps(exported)
    assert exported["errors"] == PROMISE["errors"]


@requirement("common/clash")
def test_contracts_that_share_a_tools_name_are_refused_with_the_clash_and_two_ways_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "minutebook.serve.contracts.registry.CONTRACTS", {**CONTRACTS, "other": knowledge}
    )
    with pytest.raises(InvalidInput) as refusal:
        open_contracts(["knowledge", "other"])
    assert "store_memory" in refusal.value.remedy
    assert "connection of its own" in refusal.value.remedy
    assert "HTTP" in refusal.value.remedy


def test_a_contract_named_twice_is_opened_once_and_an_unknown_one_refused() -> None:
    assert [contract.name for contract in open_contracts(["knowledge", "knowledge"])] == [
        "knowledge"
    ]
    with pytest.raises(InvalidInput, match="nosuch"):
        open_contracts(["nosuch"])


def test_each_tool_has_a_title_and_says_what_it_answers() -> None:
    titles = [tool["title"] for tool in PROMISE["tools"]]
    assert len(set(titles)) == len(titles)
    for tool in PROMISE["tools"]:
        # World.call holds every answer to it.
        assert tool["outputSchema"]["type"] == "object", tool["name"]
