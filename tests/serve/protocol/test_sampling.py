"""The client's own model, asked by summarize_sessions in each revision: what it may do, and not."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from minutebook.features.journal.contract import journal
from minutebook.record.records import Summary
from minutebook.serve.dispatch import Dispatcher
from minutebook.serve.limits import PAUSED_CALLS
from minutebook.serve.protocol import sampling
from minutebook.serve.protocol.server import build_server
from tests.features.journal.test_stdio import REVISIONS, model
from tests.world import World, everything

Asked = list[types.CreateMessageRequestParams]
Steps = Callable[[Client], Awaitable[None]]


@pytest.fixture
def sessions(world: World) -> World:
    """A world with three sessions."""
    write(world, 3)
    return world


def write(world: World, count: int) -> None:
    for number in range(count):
        world.clock.turn()
        world.app.sessions.add(world.caller, f"s{number}", f"mend boiler {number}", "", "Done.")


def talk(world: World, steps: Steps, mode: Any, **options: Any) -> None:
    """Take the steps of a client that is connected in this process."""
    server = build_server([journal()], Dispatcher(lambda: world.app, lambda context: world.caller))

    async def run() -> None:
        async with Client(server, mode=mode, **options) as client:
            await steps(client)

    anyio.run(run)


def summaries(world: World) -> dict[str, Summary]:
    found = world.store.find(Summary, everything("default"))
    return {each.session: each for each in found if isinstance(each, Summary)}


async def summarize(client: Client, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool("summarize_sessions", arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)


@pytest.mark.parametrize("mode", REVISIONS)
def test_each_session_is_asked_about_and_the_answer_kept(sessions: World, mode: Any) -> None:
    asked: Asked = []

    async def steps(client: Client) -> None:
        assert (await summarize(client))["processed"] == 3

    talk(sessions, steps, mode, sampling_callback=model(asked))
    assert [each.title for each in summaries(sessions).values()] == ["Mend the boiler"] * 3
    assert len(asked) == 3


@pytest.mark.parametrize("mode", REVISIONS)
def test_an_answer_of_no_use_is_asked_for_once_more_then_done_without(
    sessions: World, mode: Any
) -> None:
    asked: Asked = []

    async def steps(client: Client) -> None:
        assert (await summarize(client, sessionId="s1"))["processed"] == 1

    talk(sessions, steps, mode, sampling_callback=model(asked, "I would rather not."))
    assert len(asked) == 2
    assert "built-in" in summaries(sessions)["s1"].made_by


def test_a_client_whose_user_declines_has_the_built_in_summary(sessions: World) -> None:
    async def decline(context: Any, params: Any) -> types.ErrorData:
        return types.ErrorData(code=-1, message="the user said no")

    async def steps(client: Client) -> None:
        assert (await summarize(client, sessionId="s1"))["processed"] == 1

    talk(sessions, steps, "legacy", sampling_callback=decline)
    assert "built-in" in summaries(sessions)["s1"].made_by


@pytest.mark.parametrize("mode", REVISIONS)
def test_an_answer_that_is_no_text_is_none(sessions: World, mode: Any) -> None:
    async def picture(context: Any, params: Any) -> types.CreateMessageResult:
        content = types.ImageContent(type="image", data="aGk=", mime_type="image/png")
        return types.CreateMessageResult(role="assistant", content=content, model="test-model")

    async def steps(client: Client) -> None:
        assert (await summarize(client, sessionId="s1"))["processed"] == 1

    talk(sessions, steps, mode, sampling_callback=picture)
    assert "built-in" in summaries(sessions)["s1"].made_by


def test_a_client_is_asked_ten_times_a_call_and_for_the_rest_in_the_next(world: World) -> None:
    asked: Asked = []
    write(world, 12)

    async def steps(client: Client) -> None:
        first = await summarize(client)
        assert first["processed"] == len(asked) == sampling.MOST_ROUNDS == 10
        assert len(first["failed"]) == 2
        assert all("call again" in each["reason"] for each in first["failed"])
        second = await summarize(client)
        assert (second["processed"], second["failed"]) == (2, [])

    talk(world, steps, "2026-07-28", sampling_callback=model(asked))
    assert {each.title for each in summaries(world).values()} == {"Mend the boiler"}
    assert len(asked) == 12


@pytest.mark.parametrize("mode", REVISIONS)
def test_a_client_without_a_model_is_not_asked(sessions: World, mode: Any) -> None:
    async def steps(client: Client) -> None:
        assert (await summarize(client))["processed"] == 3

    talk(sessions, steps, mode)
    assert all("built-in" in each.made_by for each in summaries(sessions).values())


async def _asked(client: Client, **arguments: Any) -> types.InputRequiredResult:
    """Call as a client does that answers by itself; what it is asked."""
    first = await client.session.call_tool(
        "summarize_sessions", arguments, allow_input_required=True
    )
    assert isinstance(first, types.InputRequiredResult)
    return first


def test_what_was_asked_is_answered_once(sessions: World) -> None:
    async def steps(client: Client) -> None:
        first = await _asked(client)
        assert first.input_requests is not None
        (key,) = first.input_requests
        answer = await model([])(None, None)
        again = partial(
            client.session.call_tool,
            "summarize_sessions",
            {},
            input_responses={key: answer},
            request_state=first.request_state,
            allow_input_required=True,
        )
        assert isinstance(await again(), types.InputRequiredResult)
        assert [each.title for each in summaries(sessions).values()] == ["Mend the boiler"]
        with pytest.raises(MCPError, match="requestState"):
            await again()

    talk(sessions, steps, "2026-07-28", sampling_callback=model([]))


def test_only_who_was_asked_goes_on_and_by_the_same_call(sessions: World) -> None:
    callers = [sessions.caller]
    shared = build_server(
        [journal()], Dispatcher(lambda: sessions.app, lambda context: callers[-1])
    )

    async def run() -> None:
        mode: Any = "2026-07-28"
        async with Client(shared, mode=mode, sampling_callback=model([])) as client:
            first = await _asked(client)
            assert first.input_requests is not None
            answers = dict.fromkeys(first.input_requests, await model([])(None, None))
            go_on = partial(
                client.session.call_tool,
                "summarize_sessions",
                input_responses=answers,
                request_state=first.request_state,
                allow_input_required=True,
            )
            with pytest.raises(MCPError, match="requestState"):
                await go_on({"sessionId": "s1"})
            callers.append(replace(sessions.caller, name="mallory"))
            with pytest.raises(MCPError, match="requestState"):
                await go_on({})
            callers.append(sessions.caller)
            assert isinstance(await go_on({}), types.InputRequiredResult)

    anyio.run(run)
    assert list(summaries(sessions)) == ["s0"]


def test_a_client_that_answers_too_late_is_not_waited_for(
    sessions: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "ASK_WITHIN", 0.01)

    async def steps(client: Client) -> None:
        await _asked(client)
        with anyio.fail_after(60):
            while len(summaries(sessions)) < 3:
                await anyio.sleep(0.01)

    talk(sessions, steps, "2026-07-28", sampling_callback=model([]))
    assert all("built-in" in each.made_by for each in summaries(sessions).values())


def test_a_client_that_leaves_between_two_calls_holds_nothing_up(sessions: World) -> None:
    async def steps(client: Client) -> None:
        await _asked(client)

    talk(sessions, steps, "2026-07-28", sampling_callback=model([]))
    assert summaries(sessions) == {}
    assert sessions.app.summaries.summarize_all(sessions.caller).failed == []
    assert len(summaries(sessions)) == 3


def test_so_many_calls_of_one_caller_wait_for_their_model_and_no_more(sessions: World) -> None:
    write(sessions, PAUSED_CALLS + 1)

    async def steps(client: Client) -> None:
        for number in range(PAUSED_CALLS):
            await _asked(client, sessionId=f"s{number}")
        with pytest.raises(MCPError, match="wait for your model"):
            await _asked(client, sessionId=f"s{PAUSED_CALLS}")

    talk(sessions, steps, "2026-07-28", sampling_callback=model([]))


def test_a_state_that_nobody_waits_for_is_refused(sessions: World) -> None:
    async def steps(client: Client) -> None:
        with pytest.raises(MCPError, match="requestState"):
            await client.call_tool("summarize_sessions", {}, request_state="made up")

    talk(sessions, steps, "2026-07-28", sampling_callback=model([]))


def test_a_call_that_is_cancelled_while_it_asks_ends_and_keeps_nothing(sessions: World) -> None:
    async def steps(client: Client) -> None:
        with anyio.move_on_after(0.5) as waited:
            await summarize(client, sessionId="s1")
        assert waited.cancelled_caught
        assert not (await client.call_tool("healthcheck", {})).is_error
        assert not (await client.call_tool("get_all_summaries", {})).is_error

    async def never(context: Any, params: Any) -> types.ErrorData:
        await anyio.sleep_forever()
        raise AssertionError

    talk(sessions, steps, "legacy", sampling_callback=never)
    assert summaries(sessions) == {}
    sessions.app.summaries.summarize(sessions.caller, "s1")
    assert list(summaries(sessions)) == ["s1"]
