"""The session of the OpenAI Agents SDK: by itself, and as its runner uses it."""

import asyncio
from typing import Any

import pytest

from minutebook.api import Minutebook
from tests.adapters.conftest import library

library("agents")

from agents import (
    Agent,
    ModelResponse,
    Runner,
    Usage,
    set_tracing_disabled,
)
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from minutebook.adapters.openai_agents import MinutebookSession


def item(text: str) -> Any:
    return {"role": "user", "content": text}


def test_items_come_back_in_order_until_they_are_taken_back(memory: Minutebook) -> None:
    async def run() -> None:
        session = MinutebookSession("one", memory)
        assert isinstance(session, Session)
        assert await session.get_items() == []
        assert await session.pop_item() is None
        items = [item(str(number)) for number in range(5)]
        items.append({"type": "function_call", "arguments": '{"a": [1, null, "ü"]}'})
        await session.add_items(items[:3])
        await session.add_items([])
        await session.add_items(items[3:])
        assert await session.get_items() == items
        assert await session.get_items(2) == items[-2:]
        assert await session.get_items(0) == []
        assert await session.get_items(99) == items
        again = MinutebookSession("one", memory)
        assert await again.pop_item() == items[-1]
        await session.add_items([item("last")])
        assert await session.get_items() == [*items[:-1], item("last")]
        other = MinutebookSession("two", memory)
        assert await other.get_items() == []
        await other.add_items([item("other")])
        await session.clear_session()
        assert await session.get_items() == []
        assert await other.get_items() == [item("other")]

    asyncio.run(run())


def test_the_limit_of_the_settings_holds_where_none_is_given(memory: Minutebook) -> None:
    async def run() -> None:
        session = MinutebookSession("one", memory, session_settings=SessionSettings(limit=1))
        await session.add_items([item("a"), item("b")])
        assert await session.get_items() == [item("b")]
        assert await session.get_items(2) == [item("a"), item("b")]

    asyncio.run(run())


class Echo(Model):
    """A model that says how many items it was given."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:
        text = ResponseOutputText(type="output_text", text=f"{len(input)} items", annotations=[])
        said = ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def test_the_runner_goes_on_with_what_was_said_before(memory: Minutebook) -> None:
    set_tracing_disabled(True)

    async def run() -> None:
        agent = Agent(name="echo", model=Echo())
        session = MinutebookSession("one", memory)
        first = await Runner.run(agent, "Hello", session=session)
        second = await Runner.run(agent, "Again", session=MinutebookSession("one", memory))
        assert (first.final_output, second.final_output) == ("1 items", "3 items")
        assert len(await session.get_items()) == 4

    asyncio.run(run())


@pytest.mark.parametrize("count", [0, 3])
def test_each_item_is_an_episodic_memory(memory: Minutebook, count: int) -> None:
    asyncio.run(MinutebookSession("one", memory).add_items([item(str(n)) for n in range(count)]))
    assert memory.list_memories(type="episodic").total == count
