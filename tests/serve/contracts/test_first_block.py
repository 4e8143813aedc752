"""The first block of every answer is the contract's, whole and alone, whatever else there is to say."""

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from minutebook.model import Embedding
from minutebook.record.caller import with_call
from minutebook.serve.contracts.answers import Answer, readable_parts
from minutebook.serve.contracts.contract import Contract, Tool
from tests.serve.contracts.requirements import requirement
from tests.serve.contracts.wrong import OPENED, valid
from tests.world import Opener, World, loading

NOTES = (
    "Staging runs PostgreSQL 16; production is still on 15.",
    "The nightly backup is copied to a bucket in another region.",
    "A release needs two approvals and a green pipeline.",
    "The mobile app talks to version 3 of the interface.",
)
STRANGER = "Wer hat die Zauberflöte komponiert?"
TOOLS = [
    (contract.name, tool.name)
    for contract in OPENED.values()
    for tool in contract.tools.values()
    if tool.is_listed
]
LISTS = {"memory-search", "memory-vector-search"}
"""The tools of `catalog` that answer with a list, of which the contract publishes no schema."""


def filled(world: World) -> World:
    for text in NOTES:
        world.remember(text)
        said = {"session": "old", "prompt": text, "thought": "", "response": "ok"}
        if "add_memory" in {name for _, name in TOOLS}:
            call(world, "journal", "add_memory", said)
    return world


def call(world: World, contract: str, tool: str, arguments: Mapping[str, Any]) -> Answer:
    caller = with_call(world.caller, notes={})
    answer = OPENED[contract].call(world.app, caller, tool, arguments)
    if tool == "stop_database" and answer.error is None:
        world.app.database.start(world.caller)
    return answer


def check_first_block(contract: str, tool: Tool, answer: Answer) -> None:
    """See that the first text is what the contract shows: its object by the published schema, a list, or a sentence."""
    if answer.error is not None:
        assert readable_parts(answer) == [answer.error.text]
        return
    first = readable_parts(answer)[0]
    if answer.content is not None:
        assert json.loads(first) == answer.content
        if (schema := tool.promise.get("outputSchema")) is not None:
            jsonschema.validate(json.loads(first), schema)
    elif tool.name in LISTS and contract == "catalog":
        assert isinstance(json.loads(first), list)
    for note in answer.notes.values():
        assert not note.text or str(note.text) not in first


def asked(contract: str, tool: str) -> dict[str, Any]:
    """Return valid arguments, with a question that nothing answers where there is one."""
    arguments = valid(contract, tool)
    properties = OPENED[contract].tools[tool].promise["inputSchema"]["properties"]
    return arguments | ({"query": STRANGER} if "query" in properties else {})


def tools() -> Iterator[tuple[str, Tool]]:
    for contract, name in TOOLS:
        yield contract, OPENED[contract].tools[name]


@requirement("common/results/first-block")
@pytest.mark.parametrize("state", ["empty", "doubtful", "loading"])
def test_the_first_block_is_the_contracts_answer(
    opener: Opener, built_in: Embedding, state: str
) -> None:
    release = threading.Event()
    # The path of a valid call may be a folder with anything in it.
    roots = {"index_roots": (Path("/nowhere"),)}
    if state == "loading":
        filled(opener(name="kept"))
        world = opener(loading(release), wait=0.0, name="kept", **roots)
    else:
        world = opener(built_in, wait=60.0, **roots)
        if state == "doubtful":
            filled(world)
    noted = set()
    for contract, tool in tools():
        if tool.name == "reset_all_memory":
            continue
        answer = call(world, contract, tool.name, asked(contract, tool.name))
        check_first_block(contract, tool, answer)
        noted |= {tool.name for note in answer.notes.values() if note.text}
    release.set()
    searched = {"search_text", "recall", "memory-search", "search_decisions", "query_raw_memories"}
    assert noted >= searched & {name for _, name in TOOLS}


def test_a_note_under_any_name_stays_out_of_the_first_block(world: World) -> None:
    world.remember("tea")
    contract: Contract = world.contract
    for tool in ("recall", "search_text", "list_memories"):
        arguments = {"query": "zebra"} if tool != "list_memories" else {}
        answer = contract.call(world.app, with_call(world.caller, notes={}), tool, arguments)
        assert json.loads(readable_parts(answer)[0]) == answer.content
