"""The promise of `catalog` as data, against the document and the code that answers."""

import inspect
import json
import re
from typing import Any

import jsonschema
import pytest

from minutebook.features.catalog.contract import adapter, catalog, resources
from minutebook.record.errors import InvalidInput
from minutebook.record.records import MemoryType, ScopeLevel, Status
from minutebook.serve.contracts.announced import safe_name
from minutebook.serve.contracts.arguments import Arguments
from minutebook.serve.contracts.registry import CONTRACTS, open_contracts
from tests.serve.contracts.requirements import published, requirement

CONTRACT = catalog()
TOOLS = {tool["name"]: tool for tool in CONTRACT.promise["tools"]}
WRITE = TOOLS["memory-write"]["inputSchema"]


@pytest.fixture(scope="module")
def document() -> str:
    return published("catalog")


def sections(document: str) -> dict[str, str]:
    parts = re.split(r"^### 2\.\d `([\w-]+)`\n", document.split("## 3. ")[0], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def requests(document: str) -> dict[str, dict[str, Any]]:
    """The request schema of each tool, as the document words it."""
    told = {}
    for name, text in sections(document).items():
        block = re.search(r"#### Request Schema\n```json\n(.*?)\n```", text, re.DOTALL)
        assert block is not None
        schema = json.loads(block[1])
        assert schema["name"] == name
        told[name] = schema["arguments"]
    return told


@requirement("catalog/server/info")
def test_the_server_introduces_itself_as_the_document_has_it(document: str) -> None:
    rows = dict(re.findall(r"^\| \*\*(\w+)\*\* +\| `?(.*?)`? +\|$", document, re.MULTILINE))
    info = CONTRACT.promise["info"]
    assert (info["name"], info["version"]) == (rows["Name"], rows["Version"])
    assert info["instructions"].startswith(rows["Description"])


@requirement("catalog/tools/listed")
def test_the_tools_of_the_document_are_listed_and_the_two_that_only_its_prompts_name(
    document: str,
) -> None:
    assert set(TOOLS) == {*sections(document), "memory-batch-write", "memory-vector-search"}
    named = re.findall(r"^\d\. (memory-[\w-]+)$", document, re.MULTILINE)
    assert sorted(named) == sorted(TOOLS)


@requirement("common/published-verbatim")
def test_each_tool_of_the_document_has_its_purpose_as_description(document: str) -> None:
    for name, text in sections(document).items():
        purpose = re.search(r"\*\*Purpose\*\*: (.*)", text)
        assert purpose is not None
        # Two purposes say less than a model needs to choose the tool.
        if name not in {"memory-search", "memory-link"}:
            assert TOOLS[name]["description"] == purpose[1]


@requirement("catalog/tools/schemas")
def test_each_request_schema_of_the_document_is_published(document: str) -> None:
    for name, told in requests(document).items():
        published = TOOLS[name]["inputSchema"]
        assert list(told) == list(published["properties"])
        if name == "memory-search":
            filters = published["properties"]["filters"]
            assert list(told["filters"]) == list(filters["properties"])
            check_described(told.pop("filters"), filters)
        check_described(told, published)


def check_described(told: dict[str, str], published: dict[str, Any]) -> None:
    """Compare words such as `integer (1-10, optional, default: 1)` with a JSON Schema."""
    assert sorted(published.get("required", [])) == sorted(
        name for name, words in told.items() if "required" in words
    )
    for name, words in told.items():
        schema = published["properties"][name]
        kind = words.split(" ")[0]
        assert schema["type"] == ("string" if kind == "uuid" else kind)
        assert (schema.get("format") == "uuid") is ("uuid" in words.lower())
        assert ("enum" in schema) is ("enum" in words)
        if "1-10" in words:
            assert (schema["minimum"], schema["maximum"]) == (1, 10)
        default = re.search(r"default: '?(\w+)", words)
        if default is not None:
            # An update must not be filled with what is the default of a new memory.
            said = f"(default for a new memory: {default[1]})"
            assert schema.get("default") == default[1] or said in schema["description"]


@requirement("catalog/enums/scope", "catalog/enums/status", "catalog/enums/type")
def test_the_enums_are_those_of_the_document_wherever_they_occur(document: str) -> None:
    rows = re.findall(r"^\| \*\*(Scope|Status|Type)\*\* +\| (.*?) +\|$", document, re.MULTILINE)
    told = {name: re.findall(r"`(\w+)`", values) for name, values in rows}
    words = {"scope_type": "Scope", "status": "Status", "memory_type": "Type"}
    seen = 0
    for tool in TOOLS.values():
        for name, schema in properties(tool["inputSchema"]):
            if name in words:
                assert schema["enum"] == told[words[name]]
                seen += 1
    assert seen == 3 * len(("write", "update", "batch", "search", "vector-search"))


@pytest.mark.parametrize(
    ("name", "enum"),
    [("scope_type", ScopeLevel), ("status", Status), ("memory_type", MemoryType)],
)
def test_every_promised_value_is_one_that_the_domain_knows(name: str, enum: Any) -> None:
    for value in WRITE["properties"][name]["enum"]:
        assert enum(value) == value


def properties(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every property of a schema, those inside others too."""
    told = []
    for name, each in schema.get("properties", {}).items():
        told += [(name, each), *properties(each.get("items", each))]
    return told


@pytest.mark.parametrize("name", TOOLS)
def test_each_schema_is_valid_json_schema_and_tells_what_each_argument_means(name: str) -> None:
    schema = TOOLS[name]["inputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert all(each["description"] for _, each in properties(schema))
    assert set(schema.get("required", [])) <= set(schema["properties"])
    assert TOOLS[name]["annotations"].keys() == {
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    }


def test_an_item_of_a_batch_is_what_memory_write_takes() -> None:
    batch = TOOLS["memory-batch-write"]
    item = batch["inputSchema"]["properties"]["items"]["items"]
    strip = re.compile(r"; may be left out where another item has it: the first that does$")
    bare = {
        key: {**told, "description": strip.sub("", told["description"])}
        for key, told in item["properties"].items()
    }
    assert bare == WRITE["properties"]
    assert set(item["required"]) == set(WRITE["required"]) - set(adapter._SHARED)
    assert batch["enforce"]["items"]["properties"] == TOOLS["memory-write"]["enforce"]


def test_every_tool_has_an_operation_and_every_operation_a_tool() -> None:
    assert sorted(CONTRACT.tools) == sorted(adapter.OPERATIONS)


@pytest.mark.parametrize("name", TOOLS)
def test_properties_and_parameters_are_the_same(name: str) -> None:
    told = dict(inspect.signature(adapter.OPERATIONS[name]).parameters)
    published = TOOLS[name]["inputSchema"]
    required = set(published.get("required", []))
    for key, parameter in told.items():
        if key in ("app", "caller") or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        enforced = TOOLS[name].get("enforce", {}).get(key, {})
        default = (published["properties"][key] | enforced).get("default")
        is_filled = key in required or default is not None
        assert (parameter.default is inspect.Parameter.empty) is is_filled, key
    if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in told.values()):
        assert set(told) - {"app", "caller"} == set(published["properties"])


@requirement("catalog/prompts/texts", "catalog/prompts/no-arguments")
def test_the_prompts_are_those_of_the_document_to_the_letter(document: str) -> None:
    told = dict(re.findall(r"^### 4\.\d `([\w-]+)`\n```text\n(.*?)```", document, re.S | re.M))
    assert list(CONTRACT.prompts) == list(told)
    for name, text in told.items():
        assert CONTRACT.prompt(name) == text
        assert "arguments" not in CONTRACT.prompts[name]


def test_every_resource_has_a_page_or_a_reader_and_every_reader_a_resource() -> None:
    promised = [*CONTRACT.resources, *CONTRACT.templates]
    readers = resources.HANDLERS.readers
    for each in promised:
        assert ("page" in each.promise) is not (each.name in readers)
    assert set(readers) <= {each.name for each in promised}
    for place in resources.HANDLERS.completions:
        name, variable = place.split("/")
        template = next(each for each in CONTRACT.templates if each.name == name)
        assert f"{{{variable}}}" in template.promise["uriTemplate"]


def test_the_pages_for_agents_name_only_what_is_there() -> None:
    offered = {*CONTRACT.names, "memory-rules", "memory-index"}
    known = {str(each.promise.get("uri")) for each in CONTRACT.resources}
    for each in CONTRACT.resources:
        if "page" not in each.promise:
            continue
        text = CONTRACT.read(None, None, each.promise["uri"]).text  # type: ignore[arg-type]
        assert len(text) < 3000, "an agent reads it whole"
        for uri in re.findall(r"(?:docs|schema)://[\w-]+", text):
            assert uri in known
        for name in re.findall(r"\bmemory-[a-z]+(?:-[a-z]+)*", text):
            assert name in offered, name
        for limit in re.findall(r"\d+,\d{3}", text):
            limits = json.dumps(CONTRACT.promise["tools"])
            assert f'"maxBytes": {limit.replace(",", "")}' in limits


@requirement("common/safe-spelling")
@pytest.mark.parametrize("name", ["catalog", "governance"])
def test_no_two_names_of_a_contract_are_the_same_in_safe_spelling(name: str) -> None:
    contract = CONTRACTS[name]()
    assert len({safe_name(each) for each in contract.names}) == len(contract.names)
    for each in contract.names:
        assert re.fullmatch(r"\w+", safe_name(each))
        assert contract.offers(each)
        assert contract.offers(safe_name(each))


@requirement("common/clash")
def test_catalog_and_governance_are_refused_on_one_connection_with_two_ways_out() -> None:
    with pytest.raises(InvalidInput) as refusal:
        open_contracts(["catalog", "governance"])
    assert "memory-search, memory-write" in refusal.value.remedy
    assert "connection of its own" in refusal.value.remedy
    assert "HTTP" in refusal.value.remedy


def test_catalog_goes_with_knowledge() -> None:
    assert [each.name for each in open_contracts(["catalog", "knowledge"])] == [
        "catalog",
        "knowledge",
    ]


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_exported_schema_of_each_contract_holds_its_tools_and_nothing_of_ours(
    name: str,
) -> None:
    contract = CONTRACTS[name]()
    exported = contract.schema()
    listed = [tool.name for tool in contract.tools.values() if tool.is_listed]
    assert list(exported["tools"]) == listed
    for word in ('"enforce"', '"hiddenProperties"', '"page"', '"atDoor"', '"maxBytes"'):
        assert word not in json.dumps(exported)
    # The ledger's document has parts that were settled with its version.
    parts = contract.promise.get("document", ("resources", "prompts"))
    assert ("resources" in exported) is (bool(contract.resources) and "resources" in parts)
    assert [each["text"] for each in exported.get("prompts", [])] == [
        contract.prompt_text(each) for each in contract.prompts
    ]


INNER = Arguments(
    {
        "properties": {
            "filter": {
                "type": "object",
                "properties": {"state": {"type": "string", "enum": ["on", "off"]}},
                "required": ["state"],
            },
            "list": {
                "type": "array",
                "items": {"type": "object", "properties": {"n": {"type": "integer"}}},
            },
            "numbers": {"type": "array", "items": {"type": "number"}},
            "note": {"type": "string"},
            "key": {"type": "string"},
        }
    },
    {
        "note": {"clears": True},
        "filter": {"properties": {"state": {}}, "hiddenProperties": {"also": {"type": "string"}}},
        "key": {"form": "uuid"},
    },
    {},
)


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"filter": {}}, "filter.state"),
        ({"filter": {"state": None}}, "filter.state"),
        ({"filter": {"state": "up"}}, "filter.state"),
        ({"filter": {"state": "on", "stat": 1}}, "filter.stat"),
        ({"filter": {"state": "on", "also": 1}}, "filter.also"),
        ({"filter": []}, "filter"),
        ({"list": {}}, "list"),
        ({"list": [{"n": 1}, {"n": "one"}]}, "list[1].n"),
        ({"list": [{"n": 1}, 2]}, "list[1]"),
        ({"list": [None]}, "list[0]"),
        ({"numbers": [1.0, "2"]}, "numbers[1]"),
        ({"numbers": [float("nan")]}, "numbers"),
        ({"key": "no-uuid"}, "key"),
    ],
)
def test_an_argument_inside_another_is_named_with_its_way(
    given: dict[str, Any], argument: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        INNER.check(given)
    assert refusal.value.argument == argument


def test_null_is_kept_only_where_it_clears() -> None:
    assert INNER.check({"note": None, "key": None}) == {"note": None}
    assert INNER.check({"filter": {"state": "on", "also": None}}) == {"filter": {"state": "on"}}
    assert INNER.check({"filter": {"state": "on", "also": "x"}})["filter"]["also"] == "x"


@pytest.mark.parametrize("written", ["550E8400-E29B-41D4-A716-446655440000", "0" * 20])
def test_a_uuid_or_an_id_is_taken_in_its_usual_spelling(written: str) -> None:
    assert INNER.check({"key": written}) == {"key": written.lower()}


def test_the_tools_that_answer_an_object_say_which() -> None:
    # The others answer a list or a sentence, and a schema of an answer describes an object.
    described = {name for name, tool in TOOLS.items() if "outputSchema" in tool}
    assert described == {"memory-write", "memory-update"}
    for name in described:
        # World.call holds every answer to it.
        jsonschema.Draft202012Validator.check_schema(TOOLS[name]["outputSchema"])
