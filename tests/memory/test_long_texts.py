"""Long texts are found by words at once and by meaning soon, and take bounded memory."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from minutebook.memory.embeddings import BATCH_CHARACTERS
from minutebook.memory.knowledge.writing import EMBEDDED_AT_ONCE
from minutebook.record.caller import Call, Caller
from minutebook.record.records import Memory, MemoryType, Role
from minutebook.record.writing.drafts import Draft
from tests.line_client import LineClient
from tests.world import Opener, WordEmbedder, World, failed, ready, wait_until

LIMIT = 102_400
"""Bytes of the longest text that a tool takes."""


def asking() -> Caller:
    """A caller whose call collects notes of its own."""
    return Caller(name="ada", role=Role.HUMAN, call=Call())


def has_vectors(world: World, id: str) -> bool:
    return world.store.vectors(Memory, "default", id) is not None


def of_length(size: int, word: str) -> str:
    return f"{word} " * (size // (len(word) + 1))


def test_a_long_text_is_found_by_words_at_once_and_by_meaning_soon(world: World) -> None:
    caller = asking()
    text = f"{of_length(EMBEDDED_AT_ONCE, 'boiler')} gasket"
    id = world.app.memories.store(caller, Draft(content=text, type=MemoryType.FACT)).id
    note = caller.call.notes["meaning"]
    assert note.facts == {"state": "ready", "pending": 1}
    assert "by meaning when" in note.text
    assert not has_vectors(world, id)
    assert world.ids("search_text", query="gasket") == [id]
    answer = world.contract.call(world.app, asking(), "recall", {"query": "gasket"})
    assert answer.notes["meaning"].facts == {"state": "ready", "pending": 1}
    assert world.app.embeddings.backfill(threading.Event()) == 1
    assert has_vectors(world, id)
    later = world.contract.call(world.app, asking(), "recall", {"query": "gasket"})
    assert "meaning" not in later.notes


def test_a_text_as_long_as_a_call_embeds_has_its_vectors_when_the_call_returns(
    world: World,
) -> None:
    caller = asking()
    draft = Draft(content="é" * (EMBEDDED_AT_ONCE // 2), type=MemoryType.FACT)
    assert has_vectors(world, world.app.memories.store(caller, draft).id)
    assert "meaning" not in caller.call.notes


def test_a_text_that_becomes_long_is_found_by_its_new_words(world: World) -> None:
    id = world.remember("short")
    caller = asking()
    world.app.memories.update(caller, id, {"content": of_length(LIMIT, "valve")})
    assert caller.call.notes["meaning"].facts["pending"] == 1
    assert world.app.embeddings.is_notified
    assert world.ids("search_text", query="valve") == [id]
    assert world.app.embeddings.backfill(threading.Event()) == 1


def test_a_batch_embeds_as_much_as_one_text(world: World) -> None:
    caller = asking()
    drafts = [
        Draft(content=f"{number} {of_length(EMBEDDED_AT_ONCE // 3, 'pump')}", type=MemoryType.FACT)
        for number in range(6)
    ]
    written = world.app.memories.write_all([(caller, each) for each in drafts])
    assert [has_vectors(world, each.id) for each in written] == [True, True, False, False, False, False]  # fmt: skip
    assert caller.call.notes["meaning"].facts["pending"] == 4
    assert world.app.embeddings.is_notified


def test_nobody_is_told_to_wait_for_a_model_that_failed(opener: Opener) -> None:
    caller, world = asking(), opener(failed(), wait=10)
    draft = Draft(content=of_length(LIMIT, "valve"), type=MemoryType.FACT)
    assert world.app.embedding.settle(10) == "error"
    world.app.memories.store(caller, draft)
    assert "meaning" not in caller.call.notes
    assert not world.app.embeddings.is_notified


def test_the_background_embeds_it_by_itself(opener: Opener) -> None:
    world = opener(ready(), name="same")
    world.app.start()
    id = world.remember(of_length(LIMIT, "valve"))
    wait_until(lambda: has_vectors(world, id))


def test_short_texts_do_not_wait_for_a_long_one_behind_them(opener: Opener) -> None:
    before = opener(failed(), name="same", wait=10)
    texts = ["a cup of tea", "a cat", of_length(BATCH_CHARACTERS + 9, "valve"), "a dog"]
    for text in texts:
        before.remember(text)
    embedder = WordEmbedder()
    embeddings = opener(ready(embedder), name="same").app.embeddings
    assert [embeddings.backfill_batch() for _ in range(4)] == [1, 1, 2, 0]
    assert embedder.embedded == texts[::-1]


DOCS = Path(__file__).parents[2] / "docs"
PROSE = [*sorted((DOCS / "decisions").glob("*.md")), *sorted((DOCS / "guides").glob("*.md"))]


def prose(start: int, size: int = LIMIT - 100) -> str:
    """Return plain words, 100 KB of them or so many bytes, from somewhere in the decisions and guides."""
    text = "".join(each.read_text(encoding="utf-8") for each in PROSE)
    part = text.encode()[start : start + size]
    assert len(part) == size
    return part.decode("utf-8", "ignore")


MOST_GROWTH = 300
"""MiB that a server may take more at its peak than before the first long text; 160 to 200 were measured.

To run the model over a text takes some 100 of them; the rest are token states that a search reads and what Python keeps."""


@pytest.mark.thorough
@pytest.mark.cold_start
@pytest.mark.skipif(sys.platform != "linux", reason="a process's peak is read from /proc")
@pytest.mark.timeout(600)
def test_a_server_stays_small_with_texts_at_the_limit_alike_and_unlike(tmp_path: Path) -> None:
    env = {
        **os.environ,
        "MINUTEBOOK_HOME": str(tmp_path / "home"),
    }
    command = [sys.executable, "-m", "minutebook", "serve", "--no-daemon"]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, env=env) as process:
        client = LineClient(process)
        client.handshake()
        client.call("store_memory", content="The cache expires after ten minutes.")
        before = _memory(process.pid, "VmRSS")
        first, unlike = prose(0), prose(200_000, LIMIT // 4)
        alike = first.replace(" is ", " was ").replace("memory", "record")[: LIMIT // 2] + first[LIMIT // 2 : LIMIT - 900]  # fmt: skip
        ids = [_id(client.call("store_memory", content=text)) for text in (first, alike, unlike)]
        began = time.monotonic()
        while _note(client.call("recall", query="when does the cache expire?"), "meaning"):
            assert time.monotonic() < began + 500
            time.sleep(2)
        # A change of a long text compares it with what it is like; so does a short one.
        client.call("store_memory", content="The cache expires after 20 minutes.")
        peak = _memory(process.pid, "VmHWM")
        assert peak < before + MOST_GROWTH
        assert process.stdin is not None
        process.stdin.close()
        process.wait(30)
    words = ["list", "--alike", "--limit", "1000", "--json"]
    shown = subprocess.run([*command[:3], *words], env=env, capture_output=True, check=True)
    groups = [{each["id"] for each in group} for group in json.loads(shown.stdout)]
    assert set(ids[:2]) in groups
    assert not any(ids[2] in group for group in groups)


def _id(answer: dict[str, Any]) -> str:
    told = json.loads(answer["result"]["content"][0]["text"])
    id: str = told["id"]
    return id


def _note(answer: dict[str, Any], name: str) -> Any:
    return answer["result"].get("_meta", {}).get(f"minutebook/{name}")


def _memory(pid: int, field: str) -> int:
    """Return the MiB of a process's memory by the name that the system has for it."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) // 1024
