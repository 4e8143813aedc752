"""The promise as data, against the contract's document and the code that answers."""

import inspect
import re

import jsonschema
import pytest

from minutebook.features.archives.archive_lines import Mode
from minutebook.features.journal.contract import adapter
from minutebook.record.records import Category
from tests.features.journal.contract.journaled import CONTRACT, ERRORS
from tests.serve.contracts.requirements import published, requirement

TOOLS = {tool["name"]: tool for tool in CONTRACT.promise["tools"]}
QUERIES = {"get_session_memories", "query_raw_memories", "get_all_summaries", "query_summaries"}


def document() -> str:
    return published("journal")


@requirement("journal/published/tools", "common/published-verbatim")
def test_each_tool_of_the_document_is_listed_in_its_order_with_its_description() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|$", document(), re.MULTILINE)
    assert [name for name, _ in rows] == list(TOOLS)
    assert len(rows) == 12
    for name, description in rows:
        assert TOOLS[name]["description"].partition("\n\n")[0] == description


@requirement("journal/published/parameters", "journal/published/schemas")
def test_each_parameter_has_its_type_default_description_and_need() -> None:
    sections = re.split(r"^#### `(\w+)`\n", document(), flags=re.MULTILINE)[1:]
    told = dict(zip(sections[::2], sections[1::2], strict=True))
    assert set(told) == set(TOOLS)
    for name, text in told.items():
        schema = TOOLS[name]["inputSchema"]
        lines = re.findall(r"^- `(\w+)` \((\w+), (\w+)\): (.+)$", text, re.MULTILINE)
        assert [line[0] for line in lines] == list(schema["properties"])
        for parameter, type_, need, description in lines:
            published = schema["properties"][parameter]
            assert published["type"] == type_
            assert published["description"] == description
            assert (parameter in schema.get("required", [])) is (need == "required")
            if default := re.search(r"\(default: (\d+)\)", description):
                assert published["default"] == int(default[1])


@requirement("journal/published/turn-shape", "journal/published/summary-shape")
def test_turns_and_summaries_have_the_documents_properties() -> None:
    blocks = re.findall(r"```json\n(\{\n  \"id\".*?)```", document(), re.DOTALL)
    turn, summary = (re.findall(r'^  "(\w+)":', block, re.MULTILINE) for block in blocks)

    def shown(tool: str, within: str) -> list[str]:
        listed = TOOLS[tool]["outputSchema"]["properties"][within]["items"]
        return list(listed["required"])

    assert shown("get_session_memories", "memories") == turn
    assert shown("query_raw_memories", "results") == turn
    for tool, within in (("get_all_summaries", "summaries"), ("query_summaries", "results")):
        assert shown(tool, within) == [*summary, "madeBy", "reasons"]


@requirement("journal/results/schemas")
@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_has_schemas_a_title_and_an_operation_with_its_parameters(name: str) -> None:
    tool = TOOLS[name]
    for schema in ("inputSchema", "outputSchema"):
        jsonschema.Draft202012Validator.check_schema(tool[schema])
    assert tool["title"] == tool["annotations"]["title"]
    assert list(TOOLS) == list(adapter.OPERATIONS)
    properties = tool["inputSchema"]["properties"]
    parameters = dict(inspect.signature(adapter.OPERATIONS[name]).parameters)
    assert list(parameters)[:2] == ["app", "caller"]
    assert set(list(parameters)[2:]) == set(properties)
    for key, told in properties.items():
        is_filled = key in tool["inputSchema"].get("required", []) or "default" in told
        assert (parameters[key].default is inspect.Parameter.empty) is is_filled


@requirement("journal/calls/annotations")
@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_tells_what_it_does_to_the_world(name: str) -> None:
    hints = TOOLS[name]["annotations"]
    assert hints["readOnlyHint"] is (name in QUERIES | {"healthcheck"})
    assert hints["destructiveHint"] is (name in {"delete_all_summaries", "import_database"})
    assert hints["openWorldHint"] is False
    assert not (hints["readOnlyHint"] and not hints["idempotentHint"])


@requirement("journal/results/category")
def test_categories_and_modes_are_those_of_the_domain() -> None:
    for tool in ("get_all_summaries", "query_summaries"):
        assert TOOLS[tool]["inputSchema"]["properties"]["category"]["enum"] == list(Category)
    assert TOOLS["import_database"]["inputSchema"]["properties"]["mode"]["enum"] == list(Mode)


def test_only_what_summarises_may_ask_the_clients_model() -> None:
    assert [name for name in TOOLS if CONTRACT.samples(name)] == ["summarize_sessions"]


def test_every_error_has_a_status_of_http_and_a_meaning() -> None:
    for told in ERRORS.values():
        assert 400 <= told["status"] < 600
        assert told["meaning"].endswith(".")
