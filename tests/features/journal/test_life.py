"""The whole life of a journal over a real connection, with the model in the box.

Stored turn by turn, read, summarised, asked, exported, replaced, brought in elsewhere, and equal.
"""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client

from tests.features.journal.test_stdio import ask
from tests.serve.stdio.speaking import parameters
from tests.sessions_made import LOCOMO, Conversation, Said, locomo, made_up


def a_locomo_conversation() -> Conversation:
    if not LOCOMO.is_file():
        pytest.skip(f"LoCoMo is not at {LOCOMO}; its licence keeps it out of this repository")
    return locomo(0)


def served(home: Path) -> Client:
    """A connection to a server with the model in the box."""
    return Client(parameters(home, "journal"))


async def read_all(client: Client, sessions: list[str]) -> list[dict[str, Any]]:
    """Read every session to its end, in pages."""
    turns: list[dict[str, Any]] = []
    for session in sessions:
        total, offset = 1, 0
        while offset < total:
            page = await ask(
                client, "get_session_memories", sessionId=session, limit=4, offset=offset
            )
            total, offset = page["total"], offset + page["count"]
            turns += page["memories"]
    return turns


async def summaries(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await ask(client, "get_all_summaries", limit=1000))["summaries"]
    return found


async def recall(client: Client, given: Conversation, ids: list[str], asked: int) -> float:
    """Ask once all is embedded; the share of questions with an answer among the ten nearest."""
    found = 0
    for question, _ in given.questions[:asked]:
        await embedded(client, question)
    for question, places in given.questions[:asked]:
        answer = await ask(client, "query_raw_memories", query=question, nResults=10)
        found += bool({ids[place] for place in places} & {each["id"] for each in answer["results"]})
    return found / min(asked, len(given.questions))


async def embedded(client: Client, query: str) -> None:
    """Wait until whatever is asked for has its vector."""
    with anyio.fail_after(120):
        while True:
            found = await ask(client, "query_raw_memories", query=query, nResults=100)
            if found["results"] and all("distance" in each for each in found["results"]):
                return
            await anyio.sleep(0.1)


def records_of(path: Path) -> list[bytes]:
    """The lines of an archive between its header and its seal."""
    return path.read_bytes().splitlines()[1:-1]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("conversation", "turns", "asked", "least"),
    [
        pytest.param(partial(made_up, parts=1), 30, 5, 1.0, id="short", marks=pytest.mark.thorough),
        pytest.param(made_up, 200, 25, 0.9, id="made", marks=pytest.mark.slow),
        pytest.param(a_locomo_conversation, 200, 25, 0.6, id="locomo", marks=pytest.mark.slow),
    ],
)
def test_a_journal_lives(
    tmp_path: Path, conversation: Any, turns: int, asked: int, least: float
) -> None:
    given = conversation()
    assert len(given.turns) >= turns
    anyio.run(live, tmp_path, given, asked, least)


async def live(folder: Path, given: Conversation, asked: int, least: float) -> None:
    sessions = list(dict.fromkeys(each.session for each in given.turns))
    async with served(folder / "one") as client:
        ids = [(await add(client, said))["id"] for said in given.turns]
        assert len(set(ids)) == len(ids)
        turns = await read_all(client, sessions)
        assert [each["id"] for each in turns] == ids
        assert [(each["prompt"], each["response"]) for each in turns] == [
            (each.prompt, each.response) for each in given.turns
        ]
        assert await recall(client, given, ids, asked) >= least
        done = await ask(client, "summarize_sessions")
        assert {each["sessionId"] for each in done["sessions"]} == set(sessions)
        told = await summaries(client)
        assert sum(each["memoryCount"] for each in told) == len(turns)
        exported = await ask(client, "export_database")
        assert exported["counts"] == {"memories": len(turns), "summaries": len(sessions)}
        (file,) = exported["files"]

        # Changed, then put back as it was.
        await ask(client, "delete_all_summaries")
        await add(client, Said(sessions[0], "one more", "", "said"))
        await add(client, Said("another", "one more", "", "said"))
        await ask(client, "import_database", file=file, mode="replace")
        assert await read_all(client, [*sessions, "another"]) == turns
        assert await summaries(client) == told
        again = await ask(client, "import_database", file=file)
        assert (again["imported"], again["skipped"]) == (0, len(turns) + len(told))

    # The same in a store that knew nothing.
    other = folder / "two" / "backups"
    other.mkdir(parents=True)
    shutil.copy(file, other / "given.jsonl")
    async with served(folder / "two") as client:
        done = await ask(client, "import_database", file="given.jsonl")
        assert (done["imported"], done["skipped"]) == (len(turns) + len(told), 0)
        assert await read_all(client, sessions) == turns
        assert await summaries(client) == told
        assert await recall(client, given, ids, asked) >= least
        (copy,) = (await ask(client, "export_database"))["files"]
    assert records_of(Path(copy)) == records_of(Path(file))
    assert json.loads(Path(copy).read_bytes().splitlines()[0])["counts"]["turn"] == len(turns)


async def add(client: Client, said: Said) -> dict[str, Any]:
    texts = {"prompt": said.prompt, "thought": said.thought, "response": said.response}
    return await ask(client, "add_memory", **texts, sessionId=said.session)
