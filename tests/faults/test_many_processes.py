"""Clients that start together on nothing, each by a process of its own, and write while they read.

The long form runs the same beside other memory servers: what each was told is kept, it must have once.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import apsw
import pytest

from benchmarks import peers
from minutebook.record.records import Decision, Entity, Memory, Proposal, Record, Relation, Turn
from minutebook.store.sqlite import schema
from tests.faults.campaign import LONG, report, rounds
from tests.faults.invariants import Acknowledged, check
from tests.line_client import LineClient
from tests.serve.daemon.test_process import House, house_in
from tests.world import bare, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are used")

started: Any = pytest.mark.cold_start if LONG else pytest.mark.thorough
"""In the long form all are started fresh, as the others are."""
CLIENTS = rounds(4, 7)
"""Beside them is one of an earlier version."""
RECORDS = rounds(9, 200)
READS_AFTER = 4
"""Each so many writes are followed by a read."""
NAMES = UUID("6f2a6f3e-3d0f-4b1c-9f57-0a4b8a3f0d11")


@dataclass
class Told:
    """What a client heard."""

    said: Acknowledged = field(default_factory=Acknowledged)
    refused: list[str] = field(default_factory=list)
    worst: float = 0.0
    """The most seconds from a write to its answer."""
    worst_read: float = 0.0
    start: float = 0.0
    """Seconds from the start of the process to its first answer."""
    has_ended: bool = False
    """Whether its server ended by itself."""


Call = tuple[str, dict[str, Any]]
Write = tuple[type[Record], str, Call]
"""The kind and the text of a record, and the call that writes it."""


def call(client: LineClient, tool: str, arguments: Mapping[str, object]) -> tuple[Any, str]:
    """Call a tool; return what it answered and, if it refused, why."""
    answer = client.answer_to("tools/call", {"name": tool, "arguments": arguments})
    if "error" in answer:
        return None, str(answer["error"]["message"])
    result = answer["result"]
    text = " ".join(each.get("text", "") for each in result["content"])
    if result.get("isError"):
        return None, text
    return result.get("structuredContent") or text, ""


def converse(
    client: LineClient, writes: Iterator[Write], reads: Sequence[Call], told: Told
) -> None:
    """Write all there is, and read in between."""
    for number, (of, text, (tool, arguments)) in enumerate(writes):
        began = time.monotonic()
        _, refused = call(client, tool, arguments)
        told.worst = max(told.worst, time.monotonic() - began)
        if refused:
            told.refused.append(refused)
        else:
            told.said.note(of, text)
        if number % READS_AFTER == 0:
            began = time.monotonic()
            _, refused = call(client, *reads[number // READS_AFTER % len(reads)])
            told.worst_read = max(told.worst_read, time.monotonic() - began)
            if refused:
                told.refused.append(refused)


# Minutebook: all kinds of records, by the five contracts


def writes_of(client: LineClient, number: int) -> Iterator[Write]:
    """Yield what one client writes: memories by three contracts, entities, relations, turns, decisions, proposals."""
    ends: list[str] = []
    kinds = cycle(
        (
            "memory",
            "turn",
            "entity",
            "shared",
            "entity",
            "relation",
            "decision",
            "memory",
            "proposal",
        )
    )
    for at, kind in enumerate(islice(kinds, RECORDS)):
        text = f"client {number} record {at}"
        match kind:
            case "memory":
                yield Memory, text, ("store_memory", {"content": text})
            case "shared":
                yield Memory, text, ("memory-write", shared(number, at, text))
            case "turn":
                said = {"prompt": text, "thought": "I look.", "response": "Done."}
                yield Turn, text, ("add_memory", {**said, "sessionId": f"s{number}"})
            case "entity":
                yield Entity, text, ("create_entity", {"name": text})
                found, _ = call(client, "create_entity", {"name": text})
                ends.append(bare(found["id"]))
            case "relation":
                ways = {"from_entity": ends[-2], "to_entity": ends[-1], "relation_type": text}
                yield Relation, text, ("create_relation", ways)
            case "decision" | "proposal":
                tool = "record_decision" if kind == "decision" else "propose_decision"
                why = "It was decided by many processes that started at once"
                drafted = {"title": text, "target": text, "rationale": why}
                yield (Decision if kind == "decision" else Proposal), text, (tool, drafted)


def shared(number: int, at: int, text: str) -> dict[str, Any]:
    """Return what the contract for organizations takes that a client speaks: catalog or governance."""
    if number % 2:
        ids = {"organization_id": str(NAMES), "repository_id": str(uuid5(NAMES, "repository"))}
        who = {"agent_id": f"client {number}", "intent": "write", "request_id": f"{number}.{at}"}
        return {"context": {**who, **ids}, "content": text, "type": "fact"}
    where = {"organization": "default", "scope_type": "organization", "memory_type": "fact"}
    return {**where, "current_content": text}


READS: Sequence[Call] = (
    ("recall", {"query": "client record", "limit": 5}),
    ("search_decisions", {"query": "client record"}),
    ("query_raw_memories", {"query": "client record"}),
    ("list_memories", {"limit": 5}),
)


def contracts(number: int) -> list[str]:
    """Name the contracts of a client: all five are spoken, four by each."""
    return ["knowledge", ("catalog", "governance")[number % 2], "journal", "ledger"]


@started
def test_clients_that_start_together_on_nothing_have_all_they_were_told_once(
    tmp_path: Path,
) -> None:
    began = time.monotonic()
    with house_in(tmp_path) as house:
        told = all_at_once(house)
        refusals = [why for each in told for why in each.refused]
        assert refusals == []
        wait_until_left(house)
        check(house.home, whole := together(told))
    assert len(whole) == CLIENTS * RECORDS
    told_as(
        f"Minutebook, {CLIENTS} clients and one of an earlier version",
        told,
        Counter(lost=0, twice=0, unreadable=0),
        time.monotonic() - began,
    )


def all_at_once(house: House) -> list[Told]:
    """Have clients of the daemon, and every other one in a process of its own, begin at once; one older beside."""
    began = time.monotonic()
    pipes = [
        house.spawn(*contracts(at), *(("--no-daemon",) if at % 2 else ())) for at in range(CLIENTS)
    ]
    told = [Told() for _ in pipes]

    def speak(number: int) -> None:
        pipe, own = pipes[number], told[number]
        pipe.handshake("2025-06-18")
        own.start = time.monotonic() - began
        converse(pipe, writes_of(pipe, number), READS, own)

    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        done = [pool.submit(speak, number) for number in range(CLIENTS)]
        done.append(pool.submit(refuse_older, house))
        for each in done:
            each.result()
    for pipe in pipes:
        pipe.process.kill()
        pipe.process.wait()
    return told


def refuse_older(house: House) -> None:
    """Begin a server of an earlier version once the store is made, and hold each of its answers to a plain refusal."""
    wait_until(lambda: is_made(house.home / "minutebook.db"))
    command = [sys.executable, "-m", "tests.faults.older", "knowledge", "--home", str(house.home)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=house.environment,
    ) as process:
        try:
            client = LineClient(process)
            client.handshake("2025-06-18")
            for at in range(5):
                for tool, given in (("store_memory", {"content": f"older {at}"}), READS[0]):
                    _, refused = call(client, tool, given)
                    assert (
                        f"has format {schema.FORMAT}, this version of Minutebook reads" in refused
                    )
                    assert "upgrade Minutebook" in refused
        finally:
            process.kill()


def is_made(path: Path) -> bool:
    """Tell whether a database has the present format."""
    if not path.exists():
        return False
    try:
        with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as connection:
            return bool(connection.pragma("user_version") == schema.FORMAT)
    except apsw.Error:
        return False


def wait_until_left(house: House) -> None:
    """End the daemon, and wait until nobody uses the data directory."""
    for each in house.daemons():
        os.kill(each["pid"], 15)
    wait_until(lambda: not house.daemons())


def together(told: Sequence[Told]) -> Acknowledged:
    """Put together what all were told."""
    whole = Acknowledged()
    for each in told:
        whole.include(each.said)
    return whole


def told_as(name: str, told: Sequence[Told], found: Counter[str], seconds: float) -> None:
    """Keep the row of a server."""
    report(
        "processes",
        name,
        acknowledged=len(together(told)),
        ended=sum(each.has_ended for each in told),
        refused=sum(len(each.refused) for each in told),
        lost=found["lost"],
        twice=found["twice"],
        unreadable=found["unreadable"],
        write=max(each.worst for each in told),
        read=max(each.worst_read for each in told),
        start=max(each.start for each in told),
        seconds=seconds,
    )


# Others, with the records that they know


@dataclass(frozen=True, slots=True)
class Peer:
    """Another memory server: how it is started on a file, and which entities that then holds."""

    name: str
    command: Callable[[], Sequence[str | Path]]
    variable: Callable[[Path], tuple[str, str]]
    held: Callable[[Path], tuple[Counter[str], int]]
    """Return how often each entity is in the file, and how many lines of it nobody can read."""
    reads: Sequence[Call]


def lines_of(path: Path) -> tuple[Counter[str], int]:
    """Read a file of JSON lines."""
    names: Counter[str] = Counter()
    wrong = 0
    for line in (
        path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ()
    ):
        try:
            names[json.loads(line)["name"]] += 1
        except (ValueError, KeyError, TypeError):
            wrong += 1
    return names, wrong


def rows_of(path: Path) -> tuple[Counter[str], int]:
    """Read a database with a table of entities."""
    with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as connection:
        return Counter(str(name) for (name,) in connection.execute("SELECT name FROM entities")), 0


PEERS = (
    Peer(
        peers.MEMORY_SERVER,
        lambda: peers.memory_server(install=True),
        lambda path: ("MEMORY_FILE_PATH", str(path)),
        lines_of,
        (
            ("search_nodes", {"query": "client 0 record 1"}),
            ("open_nodes", {"names": ["client 0 record 0"]}),
        ),
    ),
    Peer(
        peers.LIBSQL_SERVER,
        lambda: peers.libsql_server(install=True),
        lambda path: ("LIBSQL_URL", f"file:{path}"),
        rows_of,
        (("search_nodes", {"query": "client 0 record 1"}), ("read_graph", {})),
    ),
)


@started
@pytest.mark.slow
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: str(peer.name))
def test_what_others_keep_of_the_same_is_told(peer: Peer, tmp_path: Path) -> None:
    path, told = tmp_path / "memory", [Told() for _ in range(CLIENTS)]
    variable, value = peer.variable(path)
    command, began = peer.command(), time.monotonic()
    together_at = threading.Barrier(CLIENTS)

    def speak(number: int) -> None:
        together_at.wait()
        started = time.monotonic()
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, variable: value},
        ) as process:
            client = LineClient(process)
            try:
                client.handshake("2025-06-18")
                told[number].start = time.monotonic() - started
                converse(client, entities(number), peer.reads, told[number])
            except (EOFError, BrokenPipeError):
                told[number].has_ended = True
            finally:
                process.kill()

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(speak, range(CLIENTS)))
    seconds = time.monotonic() - began
    there, wrong = peer.held(path)
    names = together(told).texts.get(Entity, set())
    found = Counter(
        lost=len(names - there.keys()),
        twice=sum(count > 1 for count in there.values()),
        unreadable=wrong,
    )
    told_as(f"{peer.name}, {CLIENTS} clients", told, found, seconds)


def entities(number: int) -> Iterator[Write]:
    """Yield what one client of another server writes."""
    for at in range(RECORDS):
        name = f"client {number} record {at}"
        entity = {"name": name, "entityType": "note", "observations": [f"{name} is kept"]}
        yield Entity, name, ("create_entities", {"entities": [{**entity, "relations": []}]})
