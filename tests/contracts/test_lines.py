"""Answers in lines: a hit a line for a model, dated, without schemas; the published form elsewhere."""

import re

import pytest

from minutebook.contracts.announced import announced
from minutebook.contracts.answers import Answer
from minutebook.contracts.lines import as_lines
from minutebook.contracts.registry import CONTRACTS, opened
from tests.world import World


def told(world: World, name: str, **arguments: object) -> Answer:
    (contract,) = opened(["knowledge"], answers="lines")
    return contract.call(world.app, world.caller, name, arguments)


@pytest.mark.parametrize("name", CONTRACTS)
def test_no_tool_has_an_output_schema(name: str) -> None:
    (contract,) = opened([name], answers="lines")
    known = announced([name], "contract", answers="lines")
    assert known is not None
    assert not any("outputSchema" in each.promise for each in contract.tools.values())
    (plain,) = opened([name])
    assert plain.listed == contract.listed


@pytest.mark.parametrize("tool", ["recall", "search", "search_text"])
def test_a_hit_is_a_line_with_date_author_and_id(world: World, tool: str) -> None:
    id = world.remember("Tea is at five\nin the kitchen.")
    answer = told(world, tool, query="when is tea")
    assert answer.content is None
    assert re.fullmatch(
        rf"- Tea is at five in the kitchen\. \(\d{{4}}-\d\d-\d\d, agent; {id}\)", answer.text
    )


def test_what_has_no_hits_stays_an_object(world: World) -> None:
    id = world.remember("Tea is at five")
    answer = told(world, "get_memory", id=id)
    assert answer.content is None
    assert answer.text.startswith('{"id": {"tb": "memories"')


def test_what_revises_a_hit_is_said_in_its_line() -> None:
    hit = {"id": "a", "content": "Jenkins", "at": "2026-01-02T03:04:05Z", "by": "ana"}
    revised = hit | {"revised_by": {"id": "b", "at": "2026-02-03T00:00:00Z"}}
    assert as_lines({"results": [hit, revised]}) == (
        "- Jenkins (2026-01-02, ana; a)\n"
        "- Jenkins (2026-01-02, ana; a; perhaps revised by b on 2026-02-03)"
    )


def test_code_keeps_its_lines() -> None:
    hit = {
        "id": "a",
        "content": "def f():\n    pass",
        "file_path": "x.py",
        "start_line": 3,
        "end_line": 4,
    }
    assert as_lines({"results": [hit]}) == "x.py:3-4\ndef f():\n    pass"
