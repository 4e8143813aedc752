"""The toolset of Pydantic AI, as an agent uses it."""

from typing import Any

import pytest

from minutebook.api import Minutebook, MinutebookError
from tests.adapters.conftest import library

library("pydantic_ai")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from minutebook.adapters.pydantic_ai import INSTRUCTIONS, memory_toolset


def run(memory: Minutebook, *calls: tuple[str, dict[str, Any]], **options: Any) -> tuple[Any, Any]:
    """Have a model make some calls, one after another; what they returned, and what it was told."""
    left, infos = list(calls), []

    def answer(messages: list[Any], info: AgentInfo) -> ModelResponse:
        infos.append(info)
        if left:
            name, given = left.pop(0)
            return ModelResponse(parts=[ToolCallPart(name, given)])
        return ModelResponse(parts=[TextPart("Done.")])

    agent = Agent(FunctionModel(answer), toolsets=[memory_toolset(memory, **options)])
    result = agent.run_sync("Go on")
    returned = [
        part.content
        for message in result.all_messages()
        for part in message.parts
        if part.part_kind == "tool-return"
    ]
    return returned, infos[0]


def test_an_agent_remembers_recalls_and_supersedes(memory: Minutebook) -> None:
    (id,), _ = run(memory, ("remember", {"text": "The database is PostgreSQL 16"}))
    reason = {"text": "The database is PostgreSQL 18", "reason": "It was upgraded"}
    (later, found), _ = run(
        memory, ("supersede", {"id": id, **reason}), ("recall", {"question": "Which database?"})
    )
    assert [(each["id"], each["text"]) for each in found] == [(later, reason["text"])]
    assert found[0]["by"].startswith("bot through ")
    assert found[0]["source"] == "memory"
    assert memory.get(id).superseded_by == later


def test_the_toolset_says_when_to_use_it_and_may_only_read(memory: Minutebook) -> None:
    _, info = run(memory, read_only=True)
    assert [tool.name for tool in info.function_tools] == ["recall"]
    assert info.function_tools[0].parameters_json_schema["required"] == ["question"]
    assert info.function_tools[0].description
    assert info.instructions is not None
    assert INSTRUCTIONS in info.instructions
    _, info = run(memory)
    assert {tool.name for tool in info.function_tools} == {"recall", "remember", "supersede"}


def test_a_wrong_id_is_told_the_model_which_tries_again(memory: Minutebook) -> None:
    (id,), _ = run(memory, ("remember", {"text": "The database is PostgreSQL 16"}))
    new = {"text": "The database is PostgreSQL 18", "reason": "It was upgraded"}
    asked: list[Any] = []

    def answer(messages: list[Any], info: AgentInfo) -> ModelResponse:
        asked.append(messages[-1].parts[0])
        if len(asked) == 1:
            return ModelResponse(parts=[ToolCallPart("supersede", {"id": "0" * 20, **new})])
        if len(asked) == 2:
            return ModelResponse(parts=[ToolCallPart("supersede", {"id": id, **new})])
        return ModelResponse(parts=[TextPart("Done.")])

    result = Agent(FunctionModel(answer), toolsets=[memory_toolset(memory)]).run_sync("Go on")
    assert result.output == "Done."
    assert asked[1].outcome == "retried"
    assert "0" * 20 in str(asked[1].content)
    assert memory.get(id).superseded_by == asked[2].content


def test_a_store_that_fails_ends_the_run(memory: Minutebook) -> None:
    memory.close()
    with pytest.raises(MinutebookError):
        run(memory, ("remember", {"text": "The database is PostgreSQL 16"}))
