"""The promise as data, against the contract's document and the code that answers."""

import hashlib
import inspect
import json
import re
from importlib import resources

import jsonschema
import pytest

from minutebook.features.ledger.contract import adapter
from minutebook.record.records import DecisionStatus, Kind, ProposalStatus
from tests.features.ledger.contract.ledgered import CONTRACT
from tests.serve.contracts.requirements import published, requirement
from tests.terminal import Run

TOOLS = {tool["name"]: tool for tool in CONTRACT.promise["tools"]}
SHIPPED = resources.files("minutebook").joinpath("schema/mcp_api_v1.json").read_bytes()


def document() -> str:
    return published("ledger")


@requirement("common/published-verbatim")
def test_each_tool_of_the_document_is_listed_in_its_order_with_its_purpose() -> None:
    sections = re.findall(r"^### `(\w+)`\n\*\*Purpose\*\*: (.+)$", document(), re.MULTILINE)
    assert [name for name, _ in sections] == list(TOOLS)[:4]
    for name, purpose in sections:
        assert TOOLS[name]["description"].startswith(f"{purpose}\n\n")
    assert list(TOOLS)[4:] == ["propose_decision"]


@requirement("ledger/published/version")
def test_the_version_is_that_of_the_document() -> None:
    version = re.search(r"Definition \(v(.+)\)", document())
    assert version is not None
    assert CONTRACT.promise["mcp_api_version"] == version[1] == "1.0.0"
    assert CONTRACT.promise["info"]["version"] == "1.0.0"


@requirement("ledger/published/document")
def test_the_exported_document_has_the_promised_form_and_no_more() -> None:
    told = json.loads(SHIPPED)
    assert list(told) == ["mcp_api_version", "info", "tools", "errors"]
    assert list(told["tools"]) == list(TOOLS)
    for name, tool in told["tools"].items():
        assert list(tool) == ["description", "input_schema", "output_schema"]
        assert tool["input_schema"] == TOOLS[name]["inputSchema"]
        assert tool["output_schema"] == TOOLS[name]["outputSchema"]


PINNED = {"1.0.0": "c0bf4869ca8bfef29bd9b5cc2acec4b07b4e42732d8804679e6210a20d31c988"}
"""The SHA-256 of the document of each version that was published: none is ever changed."""


@requirement("ledger/published/version", "ledger/published/breaking")
def test_the_document_of_a_version_that_was_published_never_changes() -> None:
    version = json.loads(SHIPPED)["mcp_api_version"]
    assert version == json.loads(SHIPPED)["info"]["version"]
    assert hashlib.sha256(SHIPPED).hexdigest() == PINNED.get(version), (
        f"the document of version {version} is published as it was: take the change back, or give the "
        "contract a new version (a new major one where something breaks) and pin its digest here"
    )


@requirement("ledger/published/shipped", "ledger/published/exported")
def test_the_shipped_schema_is_byte_for_byte_what_the_command_prints(run: Run) -> None:
    assert run("export-schema", "ledger").stdout_bytes == SHIPPED
    assert CONTRACT.exported().encode() == SHIPPED


@requirement("ledger/published/limits")
def test_the_limits_are_the_promised_ones() -> None:
    def limit(tool: str, argument: str, word: str) -> object:
        return TOOLS[tool]["inputSchema"]["properties"][argument].get(word)

    for tool, rationale in (
        ("record_decision", 10),
        ("supersede_decision", 15),
        ("propose_decision", 10),
    ):
        assert limit(tool, "title", "minLength") == limit(tool, "target", "minLength") == 1
        assert limit(tool, "rationale", "minLength") == rationale
        assert limit(tool, "consequences", "items") == {"type": "string"}
        assert limit(tool, "consequences", "default") == []
    assert limit("search_decisions", "query", "minLength") == 1
    assert limit("supersede_decision", "old_decision_ids", "minItems") == 1
    for word, value in (("minimum", 1), ("maximum", 20), ("default", 5)):
        assert limit("search_decisions", "limit", word) == value
    assert limit("search_decisions", "mode", "enum") == ["strict", "balanced", "audit"]
    assert limit("search_decisions", "mode", "default") == "balanced"


def test_every_error_code_of_the_document_is_told_in_its_words() -> None:
    named = re.findall(r"^- `(-?\d+)`: (.+)$", document(), re.MULTILINE)
    assert dict(named) == CONTRACT.promise["errors"]


@requirement("ledger/published/contract-first")
@pytest.mark.parametrize("name", TOOLS)
def test_properties_and_parameters_are_the_same(name: str) -> None:
    assert list(TOOLS) == list(adapter.OPERATIONS)
    properties = {
        **TOOLS[name]["inputSchema"]["properties"],
        **TOOLS[name].get("hiddenProperties", {}),
    }
    parameters = dict(inspect.signature(adapter.OPERATIONS[name]).parameters)
    assert list(parameters)[:2] == ["app", "caller"]
    assert set(list(parameters)[2:]) == set(properties)
    for key, told in properties.items():
        assert (key in TOOLS[name]["inputSchema"]["required"]) is ("default" not in told)
        assert parameters[key].default is inspect.Parameter.empty


@pytest.mark.parametrize("name", TOOLS)
def test_each_schema_is_valid_json_schema(name: str) -> None:
    for schema in ("inputSchema", "outputSchema"):
        jsonschema.Draft202012Validator.check_schema(TOOLS[name][schema])
        assert set(TOOLS[name][schema]["required"]) <= set(TOOLS[name][schema]["properties"])


def test_every_status_and_kind_that_can_be_found_is_in_the_output_schema() -> None:
    found = TOOLS["search_decisions"]["outputSchema"]["properties"]["results"]["items"]
    assert set(found["properties"]["status"]["enum"]) == {*DecisionStatus, *ProposalStatus}
    assert set(found["properties"]["kind"]["enum"]) == {Kind.DECISION, Kind.PROPOSAL}
