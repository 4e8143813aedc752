"""While several call, one's next request waits for its last, and another's does not."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from minutebook.features.http.requests.admission import REMEMBERED, Admission, _Principals
from minutebook.features.http.requests.body import LARGE, read_body
from minutebook.record.caller import Caller
from minutebook.record.records import Role
from minutebook.serve.limits import CROWDED_TURNS, KEPT, LARGE_BODIES, FairQueue, Limits

WAITING = 3


class Desk:
    """An application whose requests are answered when they are told to; a token's name is its bearer's."""

    def __init__(self) -> None:
        self.at_work: list[str] = []
        self.read: list[str] = []
        """The paths of the requests whose bodies have been asked for."""
        self.limits = Limits()
        self._leave: dict[str, asyncio.Event] = {}
        self.admission = Admission(self._serve, FairQueue(100, CROWDED_TURNS, WAITING))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        name = request.headers["authorization"]
        if name != "stranger":
            request.state.caller = Caller(name=name, role=Role.AGENT, token=name)
        if request.method == "POST":
            await read_body(request, self.limits)
        self.at_work.append(request.url.path)
        await self._leave.setdefault(request.url.path, asyncio.Event()).wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def leave(self, path: str) -> None:
        self._leave.setdefault(path, asyncio.Event()).set()

    async def ask(
        self,
        name: str,
        path: str,
        body: asyncio.Event | None = None,
        address: str = "10.0.0.1",
        length: int = 2,
    ) -> int:
        """Ask for a path; a body of so many bytes comes when it is told to."""
        said: list[int] = []

        async def receive() -> Message:
            self.read.append(path)
            if body is not None:
                await body.wait()
            return {"type": "http.request", "body": b"{}", "more_body": False}

        async def send(message: Message) -> None:
            said.append(message.get("status", 0))

        headers = [
            (b"authorization", name.encode()),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % length),
        ]
        await self.admission(
            {
                "type": "http",
                "method": "GET" if body is None else "POST",
                "path": path,
                "query_string": b"",
                "headers": headers,
                "client": (address, 1),
                "state": {},
            },
            receive,
            send,
        )
        return said[0]

    async def known(self, *names: str) -> None:
        """Have these be let in, and call once more, by their names."""
        for name in [*names, *names]:
            self.leave(f"/{name}")
            assert await self.ask(name, f"/{name}") == 200
        self.at_work.clear()


@pytest.fixture(autouse=True)
def turns_end_with_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minutebook.features.http.requests.body.TURN_SECONDS", 3600.0)


def acted(test: Callable[[Desk, asyncio.TaskGroup], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            await test(Desk(), group)

    asyncio.run(run())


async def rested() -> None:
    """Let every task go on as far as it can."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_few_large_bodies_of_one_are_read_at_once() -> None:
    async def test(desk: Desk, group: asyncio.TaskGroup) -> None:
        await desk.known("ana", "ben")
        come = [asyncio.Event() for _ in range(LARGE_BODIES + 1)]
        for n, each in enumerate(come):
            desk.leave(f"/a{n}")
            group.create_task(desk.ask("ana", f"/a{n}", each, length=LARGE))
        desk.leave("/small")
        desk.leave("/ben")
        for other, path, length in (("ana", "/small", 2), ("ben", "/ben", LARGE)):
            come.append(asyncio.Event())
            group.create_task(desk.ask(other, path, come[-1], length=length))
        await rested()
        first = [f"/a{n}" for n in range(LARGE_BODIES)]
        assert sorted(desk.read) == sorted([*first, "/small", "/ben"])
        come[0].set()
        await rested()
        assert f"/a{LARGE_BODIES}" in desk.read
        for each in come:
            each.set()

    acted(test)


def test_one_request_of_each_is_worked_on() -> None:
    async def test(desk: Desk, group: asyncio.TaskGroup) -> None:
        await desk.known("ana", "ben")
        tasks = [group.create_task(desk.ask("ana", f"/a{n}")) for n in range(3)]
        await rested()
        assert desk.at_work == ["/a0"]
        other = group.create_task(desk.ask("ben", "/b"))
        await rested()
        assert desk.at_work == ["/a0", "/b"]
        desk.leave("/a0")
        await rested()
        assert desk.at_work == ["/a0", "/b", "/a1"]
        for path in ("/a1", "/a2", "/b"):
            desk.leave(path)
        assert [await each for each in [*tasks, other]] == [200] * 4

    acted(test)


def test_who_calls_alone_waits_for_nothing() -> None:
    async def test(desk: Desk, group: asyncio.TaskGroup) -> None:
        tasks = [group.create_task(desk.ask("stranger", f"/{n}")) for n in range(3)]
        await rested()
        assert len(desk.at_work) == 3
        for path in desk.at_work:
            desk.leave(path)
        assert [await each for each in tasks] == [200] * 3

    acted(test)


def test_strangers_of_one_address_wait_for_one_another_and_beyond_a_number_are_refused() -> None:
    async def test(desk: Desk, group: asyncio.TaskGroup) -> None:
        await desk.known("ana")
        tasks = [group.create_task(desk.ask("stranger", f"/s{n}")) for n in range(2 + WAITING)]
        await rested()
        assert desk.at_work == ["/s0"]
        assert await tasks[-1] == 429
        elsewhere = group.create_task(desk.ask("stranger", "/e", address="10.0.0.2"))
        known = group.create_task(desk.ask("ana", "/k"))
        await rested()
        assert desk.at_work == ["/s0", "/e", "/k"]
        for path in ("/e", "/k", *(f"/s{n}" for n in range(1 + WAITING))):
            desk.leave(path)
        assert [await each for each in [*tasks[:-1], elsewhere, known]] == [200] * (3 + WAITING)

    acted(test)


def test_a_body_that_does_not_come_keeps_no_request_waiting() -> None:
    async def test(desk: Desk, group: asyncio.TaskGroup) -> None:
        await desk.known("ana", "ben")
        body = asyncio.Event()
        trickled = group.create_task(desk.ask("ana", "/body", body))
        await rested()
        next_one = group.create_task(desk.ask("ana", "/next"))
        await rested()
        assert desk.at_work == ["/next"]
        # When it has come, it waits for its turn again.
        body.set()
        await rested()
        assert desk.at_work == ["/next"]
        desk.leave("/next")
        desk.leave("/body")
        assert [await next_one, await trickled] == [200, 200]

    acted(test)


def test_a_long_request_keeps_the_next_waiting_for_a_time_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("minutebook.features.http.requests.body.TURN_SECONDS", 0.001)

    async def test(desk: Desk, group: asyncio.TaskGroup) -> None:
        await desk.known("ana", "ben")
        tasks = [group.create_task(desk.ask("ana", f"/a{n}")) for n in range(2)]
        async with asyncio.timeout(60):
            while len(desk.at_work) < 2:
                await asyncio.sleep(0.001)
        for path in desk.at_work:
            desk.leave(path)
        assert [await each for each in tasks] == [200, 200]

    acted(test)


def test_what_one_shows_makes_nobody_else_forgotten() -> None:
    principals = _Principals()
    principals.remember(b"ben's", "ben")
    for number in range(10 * REMEMBERED):
        principals.remember(b"%d" % number, "ana")
    assert principals.find(b"ben's") == "ben"
    assert [principals.find(b"%d" % n) for n in (0, 10 * REMEMBERED - 1)] == [None, "ana"]


def test_no_more_principals_are_remembered_than_are_kept() -> None:
    principals = _Principals()
    for number in range(KEPT + 1):
        principals.remember(b"%d" % number, f"{number}")
    assert principals.find(b"0") is None
    assert (len(principals._principals), len(principals._credentials)) == (KEPT, KEPT)
