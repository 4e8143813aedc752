"""The toolset of Pydantic AI, as an agent uses it."""

from typing import Any

from minutebook.api import Minutebook
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
    assert found[0]["author"] == "bot"
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
