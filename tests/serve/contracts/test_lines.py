"""Answers in lines: a hit a line for a model, dated, without schemas; the published form elsewhere."""

import json
import re
from itertools import zip_longest

import pytest
from jsonschema import Draft202012Validator

from minutebook.features.install.served import agent_tools
from minutebook.record.caller import Note
from minutebook.serve.contracts.announced import announced, tool_entry
from minutebook.serve.contracts.answers import Answer
from minutebook.serve.contracts.lines import as_lines
from minutebook.serve.contracts.registry import CONTRACTS, open_contracts
from tests.world import World


def told(world: World, name: str, **arguments: object) -> Answer:
    (contract,) = open_contracts(["knowledge"], answers="lines")
    return contract.call(world.app, world.caller, name, arguments)


@pytest.mark.parametrize("name", CONTRACTS)
def test_no_tool_has_an_output_schema(name: str) -> None:
    (contract,) = open_contracts([name], answers="lines")
    known = announced([name], "contract", answers="lines")
    assert known is not None
    assert not any("outputSchema" in each.promise for each in contract.tools.values())
    (plain,) = open_contracts([name])
    assert plain.listed == contract.listed


@pytest.mark.parametrize("tool", ["recall", "search", "search_text"])
def test_a_hit_is_a_line_with_date_author_and_id(world: World, tool: str) -> None:
    id = world.remember("Tea is at five\nin the kitchen.")
    answer = told(world, tool, query="when is tea")
    assert answer.in_lines
    # Words alone do not tell how likely a hit answers.
    verdict = "" if tool == "search_text" else "likely; "
    assert re.fullmatch(
        rf"- Tea is at five in the kitchen\. \({verdict}\d{{4}}-\d\d-\d\d, agent; {id}\)",
        answer.text,
    )


def test_what_has_no_hits_stays_an_object(world: World) -> None:
    id = world.remember("Tea is at five")
    answer = told(world, "get_memory", id=id)
    assert answer.in_lines
    assert answer.text.startswith('{"id": {"tb": "memories"')


def test_what_revises_a_hit_is_said_in_its_line() -> None:
    hit = {"id": "a", "content": "Jenkins", "at": "2026-01-02T03:04:05Z", "by": "ana"}
    revised = hit | {"revised_by": {"id": "b", "at": "2026-02-03T00:00:00Z"}}
    assert as_lines({"results": [hit, revised]}, {}) == (
        "- Jenkins (2026-01-02, ana; a)\n"
        "- Jenkins (2026-01-02, ana; a; perhaps revised by b on 2026-02-03)"
    )


@pytest.mark.parametrize(
    ("relevance", "word"), [(0.9, "likely"), (0.3, "possible"), (0.05, "unlikely")]
)
def test_each_line_says_how_well_it_answers(relevance: float, word: str) -> None:
    hit = {"id": "a", "content": "Jenkins", "relevance": relevance}
    assert as_lines({"results": [hit]}, {}) == f"- Jenkins ({word}; a)"
    code = hit | {"file_path": "x.py", "start_line": 3, "end_line": 4}
    assert as_lines({"results": [code]}, {}) == f"x.py:3-4 ({word})\nJenkins"


def test_below_doubt_stand_three_hits_and_no_reasons() -> None:
    hits = [{"id": str(number), "content": "Jenkins", "relevance": 0.05} for number in range(5)]
    doubt = {"relevance": Note({}, "Perhaps nothing.", leads=True)}
    lines = as_lines({"results": hits, "reasons": hits}, doubt).splitlines()
    assert lines == ["Perhaps nothing.", *(f"- Jenkins (unlikely; {id})" for id in "012")]


def test_code_keeps_its_lines() -> None:
    hit = {
        "id": "a",
        "content": "def f():\n    pass",
        "file_path": "x.py",
        "start_line": 3,
        "end_line": 4,
    }
    assert as_lines({"results": [hit]}, {}) == "x.py:3-4\ndef f():\n    pass"


@pytest.mark.needs("code", "ledger")
def test_the_tools_of_an_agent_weigh_little_and_say_when_they_are_for() -> None:
    names = agent_tools()
    tools = [each for of in names.values() for each in of]
    known = announced(names, "contract", answers="lines", tools=tools)
    assert known is not None
    listed = known.tools("2025-11-25")["tools"]
    assert len(listed) == len(tools) == 8
    assert len(json.dumps(listed, separators=(",", ":"))) <= 6_000
    plain = {tool["name"]: tool for each in names for tool in CONTRACTS[each]().promise["tools"]}
    for tool in listed:
        assert tool["description"] == plain[tool["name"]]["forAgents"]["description"]


def test_what_an_agent_is_not_shown_of_a_tool_is_taken_all_the_same(world: World) -> None:
    id = world.remember("Tea is at five.")
    weights = {"vector_weight": 0, "bm25_weight": 1, "ppr_weight": 0}
    assert id in told(world, "recall", query="tea", **weights).text
    (contract,) = open_contracts(["knowledge"], answers="lines")
    assert "bm25_weight" not in contract.tools["recall"].promise["inputSchema"]["properties"]


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_listed_schema_of_an_output_holds_for_what_the_whole_one_does(name: str) -> None:
    for tool in CONTRACTS[name]().promise["tools"]:
        if "outputSchema" not in tool:
            continue
        outline = tool_entry(tool, has_output_schema=True)["outputSchema"]
        Draft202012Validator.check_schema(outline)
        parts = zip_longest(
            outline.get("anyOf", [outline]),
            tool["outputSchema"].get("anyOf", [tool["outputSchema"]]),
        )
        assert all(short["required"] == whole["required"] for short, whole in parts)
        assert "outputSchema" not in tool_entry(tool, has_output_schema=False)


def test_the_tools_of_the_knowledge_contract_weigh_at_most_14_kilobytes() -> None:
    known = announced(["knowledge"], "contract")
    assert known is not None
    assert len(json.dumps(known.tools("2025-11-25"), separators=(",", ":"))) <= 14_000
