"""The log has one line for each call: what was called, how it went, how long it took, by whom."""

import logging
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from minutebook.features.journal.contract import journal
from minutebook.serve.contracts.answers import Failure
from minutebook.serve.contracts.stacks import Stack
from minutebook.serve.dispatch import CallJob, Dispatcher
from minutebook.serve.logs import _Plain
from minutebook.serve.protocol.server import build_server
from tests.serve.contracts.requirements import requirement
from tests.world import World

CONTENT = "what-nobody-may-read-in-a-log"
CALLS = "minutebook.serve.dispatch"


def talk(world: World, *calls: tuple[str, dict[str, Any]]) -> None:
    """Call tools of the journal as the program `probe 1.0`, whatever comes of them."""

    async def run() -> None:
        server = build_server(
            [journal()], Dispatcher(lambda: world.app, lambda context: world.caller)
        )
        info = types.Implementation(name="probe\x1b[31m", version="1.0")
        async with Client(server, mode="legacy", client_info=info) as client:
            for tool, arguments in calls:
                try:
                    await client.call_tool(tool, arguments)
                except MCPError:
                    assert tool == CONTENT

    anyio.run(run)


def calls_in(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [each for each in caplog.records if isinstance(each.args, dict) and "tool" in each.args]


TURN = {"prompt": CONTENT, "thought": CONTENT, "response": CONTENT, "sessionId": "s"}


@requirement("journal/considered/calls-logged")
def test_each_call_is_a_line_with_its_outcome_time_and_client(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    talk(
        world,
        ("add_memory", TURN),
        ("query_raw_memories", {"query": CONTENT}),
        ("summarize_sessions", {"sessionId": CONTENT}),
        ("add_memory", {"prompt": CONTENT}),
        (CONTENT, {}),
    )
    lines = calls_in(caplog)
    told: list[Any] = [each.args for each in lines]
    assert [(each["contract"], each["tool"], each["outcome"]) for each in told] == [
        ("journal", "add_memory", "ok"),
        ("journal", "query_raw_memories", "ok"),
        ("journal", "summarize_sessions", "NotFound"),
        ("journal", "add_memory", "InvalidInput"),
    ]
    for each in told:
        assert each["client"] == "probe _31m 1.0"
        assert 0 < each["milliseconds"] < 60_000
    assert {each.levelno for each in lines} == {logging.INFO}
    assert CONTENT not in caplog.text


@requirement("journal/considered/stack-traces")
def test_an_error_has_its_stack_trace_at_debug_and_says_nothing_of_what_was_sent(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    for level, are_shown in ((logging.DEBUG, True), (logging.INFO, False)):
        caplog.clear()
        with caplog.at_level(level, "minutebook"):
            talk(world, ("summarize_sessions", {"sessionId": CONTENT}))
        shown = "\n".join(map(_Plain().format, caplog.records))
        assert ("\nTraceback" in shown and "summaries.py" in shown) is are_shown
        assert CONTENT not in shown


@requirement("journal/considered/stack-traces")
def test_an_unexpected_error_has_its_stack_trace_at_any_level(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    def deed(app: object, caller: object) -> None:
        raise ZeroDivisionError(CONTENT)

    async def run() -> None:
        worker = Dispatcher(lambda: world.app, lambda context: world.caller)
        done = await worker.run(CallJob(journal(), "act", {"prompt": CONTENT}, world.caller, deed))
        assert isinstance(done, Failure)

    with caplog.at_level(logging.ERROR, "minutebook"):
        anyio.run(run)
    shown = "\n".join(map(_Plain().format, caplog.records))
    assert "act failed unexpectedly" in shown
    assert "test_call_log.py" in shown
    assert "ZeroDivisionError" in shown
    assert CONTENT not in shown


def test_a_stack_shows_the_causes_first() -> None:
    def fail() -> None:
        try:
            int(CONTENT)
        except ValueError as error:
            raise KeyError(CONTENT) from error

    with pytest.raises(KeyError) as raised:
        fail()
    stack = str(Stack(raised.value))
    assert stack.index("ValueError") < stack.index("KeyError")
    assert CONTENT not in stack


@requirement("journal/considered/metrics")
def test_summarising_is_logged_and_counted_by_how_it_went(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    talk(world, ("add_memory", TURN), ("summarize_sessions", {"sessionId": "s"}))
    assert world.app.summaries.tally.made == {"built-in extractive summarizer": 1}
    assert "a session of 1 turn was summarised by built-in extractive summarizer" in caplog.text
    assert CONTENT not in caplog.text
