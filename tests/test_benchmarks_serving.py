"""The benchmark of serving measures what it says: its client by hand, and its short form for real."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from benchmarks import http_client, measure, serving_load, tool
from benchmarks.http_client import Served, Wire

RESULT = {"content": [{"type": "text", "text": "done"}]}
ANSWER = json.dumps({"jsonrpc": "2.0", "id": 1, "result": RESULT}).encode()


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))


def answered(response: bytes, times: int = 1) -> list[object]:
    """Ask a server that answers everything alike, some times over one connection."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(times):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(response)
        writer.close()

    async def ask() -> list[object]:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            connection = await Wire.open(Served(os.getpid(), port, "/mcp"))
            told = [await connection.ask(b"POST / HTTP/1.1\r\n\r\n") for _ in range(times)]
            connection.close()
            return list(told)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(ANSWER[:9], ANSWER[9:]),
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        + chunked(b": ping\r\n\r\n", b"event: message\r\ndata: " + ANSWER + b"\r\n\r\n"),
    ],
    ids=["whole", "chunked", "stream"],
)
def test_an_answer_is_read_in_whichever_form_and_the_connection_is_kept(response: bytes) -> None:
    assert answered(response, times=2) == [RESULT, RESULT]


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        ("429 Too Many Requests", {"reason": "come again"}, "429"),
        ("200 OK", {"error": {"code": -32602, "message": "unknown tool"}}, "unknown tool"),
        ("200 OK", {"result": {"isError": True, "content": ["no such memory"]}}, "no such"),
    ],
)
def test_a_call_that_fails_ends_the_measurement(status: str, body: object, told: str) -> None:
    text = json.dumps(body).encode()
    response = b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b"
    with pytest.raises(RuntimeError, match=told):
        answered(response % (status.encode(), len(text), text))


def test_requests_a_second_their_tail_and_their_cpu_are_summed_as_by_hand() -> None:
    heard = serving_load.Heard(took=[float(n) for n in range(1, 102)], seconds=2.0, cpu=0.505)
    assert heard.row() == (50.5, 51.0, 100.0, 5.0)


@pytest.mark.thorough
def test_of_ten_acts_one_writes_and_what_it_wrote_is_deleted() -> None:
    work, chosen = tool.drawn(5), Random(1)
    asked: list[bytes] = []

    class Deaf:
        async def ask(self, request: bytes) -> dict[str, object]:
            asked.append(request)
            return {"structuredContent": {"id": "m1"}}

    def do(step: Callable[..., Awaitable[None]]) -> None:
        asyncio.run(step(Served(1, 1, "/mcp"), Deaf()))  # type: ignore[arg-type]

    for _ in range(200):
        for step in serving_load.steps(chosen, work):
            do(step)
    named = [line.partition(b"Mcp-Name: ")[2].partition(b"\r")[0] for line in asked]
    assert set(named) == {
        *(b"recall", b"search_text", b"list_memories"),
        *(b"store_memory", b"update_memory", b"delete_memory"),
    }
    writes = named.count(b"store_memory")
    assert 5 < writes < 50
    assert writes == named.count(b"update_memory") == named.count(b"delete_memory")


@pytest.mark.skipif(sys.platform != "linux", reason="no such count of memory")
def test_no_connection_of_the_mixed_load_is_closed_while_others_are_warmed_up() -> None:
    body = json.dumps({"result": {"structuredContent": {"id": "m1"}}}).encode()
    response = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    answered = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Close the connection if the first request does not come before others are answered."""
        nonlocal answered
        before = answered
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if answered > before:
                raise TimeoutError
            while True:
                length = int(head.partition(b"Content-Length: ")[2].partition(b"\r")[0])
                await reader.readexactly(length)
                await asyncio.sleep(0.01)
                writer.write(response)
                answered += 1
                head = await reader.readuntil(b"\r\n\r\n")
        except (TimeoutError, asyncio.IncompleteReadError):
            writer.close()

    async def load() -> list[serving_load.Part]:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            served = Served(os.getpid(), server.sockets[0].getsockname()[1], "/mcp")
            return await serving_load.mixed(served, tool.drawn(5), 0.5, 1)

    (part,) = asyncio.run(load())
    assert part.took


# What forked processes share counts for each in part, which changes with their number.
@pytest.mark.cold_start
@pytest.mark.skipif(sys.platform != "linux", reason="no such count of memory")
def test_the_memory_of_a_process_counts_what_it_holds() -> None:
    program = "import os, sys; held = os.urandom(int(sys.argv[1])); print(flush=True); input()"
    told = []
    for size in ("1", "50000000"):
        with subprocess.Popen(
            [sys.executable, "-c", program, size], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            told.append(measure.pss(process.pid))
            process.kill()
    assert 40 < told[1] - told[0] < 60


def test_the_least_server_answers_over_http() -> None:
    async def ask(server: Served) -> object:
        connection = await Wire.open(server)
        try:
            return await connection.ask(server.call("nothing", {}))
        finally:
            connection.close()

    with http_client.served(serving_load.bare()) as server:
        told = asyncio.run(ask(server))
    assert isinstance(told, dict)
    assert told["content"] == [{"type": "text", "text": "done"}]


def test_a_server_that_does_not_listen_is_told_with_its_last_words() -> None:
    command = [sys.executable, "-c", "raise SystemExit('out of ink')"]
    with pytest.raises(RuntimeError, match="out of ink"), http_client.served(command):
        pass


@pytest.mark.slow
def test_the_short_form_runs_and_its_figures_make_sense() -> None:
    alone, together, long = serving_load.tables(quick=True, minutes=0.05)
    assert all(isinstance(row[2], float) and row[2] > 0 for row in alone.rows)
    assert {row[0] for row in together.rows} == set(serving_load.CONNECTIONS_QUICK)
    assert all(isinstance(row[1], int) and row[1] > 0 for row in long.rows)
