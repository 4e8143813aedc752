"""Hostile input over stdio and HTTP: an answer to each, no trace of the machine, nothing changed by what was refused."""

import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, RemoteDisconnected
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

from minutebook.record.records import Kind, Record
from tests.faults import hostile_calls
from tests.faults.campaign import chance, report, rounds
from tests.faults.isolation.house import Kept
from tests.faults.isolation.oracle import Key
from tests.features.http.speaking import SINGLE, Server, served
from tests.line_client import LineClient
from tests.serve.stdio.speaking import serving
from tests.world import wait_until

SIDES = (("knowledge", "catalog", "ledger", "journal"), ("governance",))
"""Contracts that one connection can speak together."""

MOST_GROWTH = 400.0
"""MiB that a server may grow by between a tenth of the calls and the last, whatever the store has come to."""


OF_CODE = frozenset({Kind.PROJECT, Kind.FILE, Kind.CHUNK})


class Findings:
    """What was sent, and what was wrong with what came back."""

    def __init__(self, home: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._home = str(home)
        self._kept: Kept | None = None

    def open(self) -> None:
        """Begin to look at the store, once there is one."""
        path = Path(self._home) / "minutebook.db"
        if self._kept is None and path.exists():
            self._kept = Kept(path)
            wait_until(self._is_begun)

    def _is_begun(self) -> bool:
        """Tell whether the server has made its tables; look at what they hold."""
        assert self._kept is not None
        try:
            self._kept.records()
        except (apsw.SQLError, apsw.BusyError):
            # It has none yet, or puts the new file into write-ahead mode, for which it needs it alone.
            return False
        return True

    def look(self, sent: bytes, answer: str, *, is_refused: bool) -> None:
        """Look at an answer, and at the store if it is a refusal."""
        self.counts["calls"] += 1
        self.counts["refused"] += is_refused
        shown = sent[:300].decode("utf-8", "replace")
        if "Internal error" in answer:
            self.counts["faults"] += 1
            self.wrong.append(f"failed unexpectedly: {shown} -> {answer[:300]}")
        # Who comes without a token owns the machine, and is told where archives are.
        told = answer.replace(f"{self._home}/backups", "")
        if "Traceback" in answer or self._home in told or "site-packages" in answer:
            self.wrong.append(f"tells of the machine: {shown} -> {answer[:300]}")
        if self._kept is not None:
            before = self._kept.last
            after = self._kept.records()
            if is_refused and before is not after and _changed(before, after):
                self.counts["changed"] += 1
                self.wrong.append(f"refused, and the store changed: {shown} -> {answer[:300]}")

    def close(self) -> None:
        """Stop looking at the store."""
        if self._kept is not None:
            self._kept.close()


def _changed(before: Mapping[Key, Record], after: Mapping[Key, Record]) -> bool:
    """Tell whether records differ, but for those of code: a project is read in the background, after its call."""
    keys = {key for key in before.keys() | after.keys() if key[1] not in OF_CODE}
    return any(before.get(key) != after.get(key) for key in keys)


@contextmanager
def finding(home: Path) -> Iterator[Findings]:
    """Gather what is wrong until the block ends. Raises AssertionError with the first of it."""
    findings = Findings(home)
    try:
        yield findings
    finally:
        findings.close()
    assert not findings.wrong, "\n".join([str(findings.counts), *findings.wrong[:10]])


def resident(pid: int) -> float:
    """MiB of memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("it has ended")


def settings(home: Path) -> dict[str, str]:
    """What servers are told: no model, and no folder to index but an empty one."""
    folder = home.parent / "code"
    folder.mkdir(exist_ok=True)
    return {"MINUTEBOOK_EMBEDDER": "none", "MINUTEBOOK_INDEX_ROOTS": str(folder)}


def is_refusal(answer: dict[str, Any]) -> bool:
    return "error" in answer or bool(answer.get("result", {}).get("isError"))


def measured(name: str, findings: Findings, warm: float, end: float) -> None:
    """Keep the figures of a door, and see that memory stays within bounds."""
    keys = ("calls", "refused", "changed", "faults")
    report("fuzz", name, **{key: findings.counts[key] for key in keys}, warm=warm, end=end)
    assert end < warm + MOST_GROWTH


def drained(client: LineClient) -> None:
    """Read what a server logs, so that it never waits for a reader."""
    assert client.process.stderr is not None
    threading.Thread(target=client.process.stderr.read, daemon=True).start()


def answered(client: LineClient, id: int) -> tuple[dict[str, Any], str]:
    """Read until the answer to a request; every line before must be of the protocol, too.

    What cannot be read has no id to be answered by.
    """
    while True:
        answer = client.read()
        assert answer["jsonrpc"] == "2.0"
        if answer.get("id", 0) in (id, None) and "method" not in answer:
            return answer, json.dumps(answer, separators=(",", ":"))


@pytest.mark.parametrize("contracts", SIDES, ids="+".join)
def test_hostile_calls_over_stdio(tmp_path: Path, contracts: tuple[str, ...]) -> None:
    home, count = tmp_path / "home", rounds(25, 12_500)
    source = chance(f"stdio {contracts}")
    with serving(home, *contracts, **settings(home)) as client, finding(home) as findings:
        drained(client)
        client.handshake()
        warm = 0.0
        for number in range(1, count + 1):
            _, tool, given = hostile_calls.call(source, contracts, str(tmp_path / "code"))
            params = {"name": tool, "arguments": given}
            sent = hostile_calls.wire(
                {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            )
            client.send(sent)
            answer, text = answered(client, number)
            findings.open()
            findings.look(sent, text, is_refused=is_refusal(answer))
            if tool == "stop_database":
                client.send(hostile_calls.wire(_start(-1)))
                answered(client, -1)
            if number == max(1, count // 10):
                warm = resident(client.process.pid)
        measured(
            f"calls over stdio, {contracts[0]} …", findings, warm, resident(client.process.pid)
        )


def posted(connection: HTTPConnection, path: str, sent: bytes) -> tuple[int, str]:
    """Post a message; the status and the body of the answer.

    A server that did not read the whole of the last message closes the connection, which is then opened anew.
    """
    for _ in range(2):
        try:
            connection.request("POST", path, sent, SINGLE)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (ConnectionError, RemoteDisconnected):
            connection.close()
    return 413, "{}"


def _start(id: int) -> dict[str, Any]:
    params = {"name": "start_database", "arguments": {}}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def test_hostile_calls_over_http(tmp_path: Path) -> None:
    home, count, source = tmp_path / "home", rounds(40, 25_000), chance("http")
    everything = tuple(sorted({contract for side in SIDES for contract in side}))
    with served(home, **settings(home)) as server, finding(home) as findings:
        findings.open()
        connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
        warm = 0.0
        for number in range(1, count + 1):
            contract, tool, given = hostile_calls.call(source, everything, str(tmp_path / "code"))
            params = {"name": tool, "arguments": given}
            sent = hostile_calls.wire(
                {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            )
            status, text = posted(connection, f"/mcp/{contract}", sent)
            assert status in (200, 400, 413), (status, text[:300])
            is_refused = status != 200 or is_refusal(json.loads(text))
            findings.look(sent, text, is_refused=is_refused)
            if tool == "stop_database":
                posted(connection, "/mcp/journal", hostile_calls.wire(_start(1)))
            if number == max(1, count // 10):
                warm = resident(server.process.pid)
        connection.close()
        measured("calls over HTTP", findings, warm, resident(server.process.pid))
        assert "Traceback" not in "".join(server.said)


def test_messages_against_the_protocol_over_stdio(tmp_path: Path) -> None:
    home, count, source = tmp_path / "home", rounds(12, 3_000), chance("lines")
    with serving(home, **settings(home)) as client, finding(home) as findings:
        drained(client)
        # Whatever comes before the handshake is answered, and the handshake all the same.
        _converse(client, findings, source, 1_000_000, is_open=False)
        client.handshake()
        warm = 0.0
        for number in range(1, count + 1):
            _converse(client, findings, source, 1_000_000 + number, is_open=True)
            if number == max(1, count // 10):
                warm = resident(client.process.pid)
        measured("messages over stdio", findings, warm, resident(client.process.pid))


def _converse(
    client: LineClient, findings: Findings, source: Random, id: int, *, is_open: bool
) -> None:
    """Send some lines, then a ping; see that all that comes until its answer is of the protocol."""
    sent = list(hostile_calls.messages(source))
    for line in sent:
        client.send(line)
    client.send({"jsonrpc": "2.0", "id": id, "method": "ping"})
    heard = []
    while True:
        answer = client.read()
        heard.append(json.dumps(answer, separators=(",", ":")))
        assert answer["jsonrpc"] == "2.0"
        if answer.get("id") == id:
            break
    assert not is_open or "result" in answer, answer
    findings.look(b"\n".join(sent), "\n".join(heard), is_refused=False)
    findings.counts["calls"] += len(sent) - 1


def test_messages_against_the_protocol_over_http(tmp_path: Path) -> None:
    home, count, source = tmp_path / "home", rounds(20, 4_000), chance("requests")
    with served(home, **settings(home)) as server, finding(home) as findings:
        warm = 0.0
        for number in range(1, count + 1):
            sent = hostile_calls.request(source)
            answer = _exchanged(server, sent)
            status = answer[9:12]
            assert not status.startswith("5"), (sent[:500], answer[:500])
            findings.look(sent, answer, is_refused=not status.startswith("2"))
            if number == max(1, count // 10):
                warm = resident(server.process.pid)
        wait_until(lambda: server.get("/healthz").status_code == 200)
        measured("messages over HTTP", findings, warm, resident(server.process.pid))
        assert "Traceback" not in "".join(server.said)


def _exchanged(server: Server, sent: bytes) -> str:
    """Send bytes over a connection of their own, and no more; all that comes back."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        heard = b""
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                heard += part
        except OSError:
            # Refused before all of it was read.
            pass
    return heard.decode("utf-8", "replace")
