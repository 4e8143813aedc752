"""Turns and summaries as lines of the journal's published data model: both ways, all or nothing."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.archives.archive_lines import Mode
from minutebook.features.archives.archives import Archives
from minutebook.memory.intake import Outcome
from minutebook.record.errors import InvalidArchive
from minutebook.record.records import Entry, Kind, Record, Summary, Turn
from minutebook.record.writing.turns import summary_id
from tests.examples import parametrize_in_part
from tests.features.archives.test_archives import (
    AGENT,
    exported,
    imported,
    journal,
    summary,
    turn,
)
from tests.world import Opener, World, everything

TURN = {
    "id": "mem_2025-10-08T12:00:00.000Z",
    "sessionId": "session_1696800000000",
    "timestamp": "2025-10-08T12:00:00.000Z",
    "prompt": "User's verbatim question",
    "thought": "Agent's internal reasoning",
    "response": "Agent's final answer",
    "type": "agent-interaction",
}
SUMMARY = {
    "id": "summary_session_1696800000000",
    "sessionId": "session_1696800000000",
    "timestamp": "2025-10-08T12:00:00.000Z",
    "title": "Implement MCP Server Configuration",
    "summary": "Detailed session summary...",
    "category": "feature",
    "memoryCount": 1,
    "quality": 85,
    "productivity": 90,
    "impact": 75,
    "complexity": 60,
    "technologies": ["neo.mjs", "nodejs", "chromadb"],
}
"""As the journal's document shows them."""


def lines(*objects: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in objects)


def given(world: World, content: bytes) -> str:
    """Put a file where it may be imported from."""
    path = exported(world).with_name("given.jsonl")
    path.write_bytes(content)
    return str(path)


def take(world: World, content: bytes, mode: Mode = Mode.MERGE) -> Any:
    return world.app.get(Archives).import_(AGENT, given(world, content), mode)


def put(world: World, *records: Record) -> None:
    with world.store.transaction(*{record.organization for record in records}):
        for record in records:
            world.store.put(record)


def test_the_documents_own_examples_are_taken_in(world: World) -> None:
    held = replace(AGENT, organization="acme", user="bo")
    told = world.app.get(Archives).import_(held, given(world, lines(TURN, SUMMARY)), Mode.MERGE)
    assert told.imported == {Kind.TURN: 1, Kind.SUMMARY: 1}
    first, second = journal(world, "acme")
    assert isinstance(first, Turn)
    assert isinstance(second, Summary)
    assert (first.id, first.session, first.prompt, first.thought, first.response) == (
        TURN["id"],
        TURN["sessionId"],
        TURN["prompt"],
        TURN["thought"],
        TURN["response"],
    )
    assert first.at.isoformat() == "2025-10-08T12:00:00+00:00"
    assert {(each.author, each.user) for each in (first, second)} == {("ana", "bo")}
    assert second.id == summary_id("session_1696800000000", None, "bo")
    assert (second.title, second.category, second.turn_count, second.complexity) == (
        SUMMARY["title"],
        "feature",
        1,
        60,
    )
    assert second.technologies == ("neo.mjs", "nodejs", "chromadb")
    assert second.made_by == "imported"


def test_what_is_taken_in_is_written_again_with_the_same_fields(
    world: World, tmp_path: Path
) -> None:
    take(world, lines(TURN, SUMMARY))
    done = world.app.get(Archives).export_journal_to(AGENT, tmp_path / "again.jsonl")
    assert done.counts == {Kind.TURN: 1, Kind.SUMMARY: 1}
    found = [json.loads(line) for line in done.path.read_text(encoding="utf-8").splitlines()]
    instant = {"timestamp": "2025-10-08T12:00:00.000000Z"}
    assert found == [TURN | instant, SUMMARY | instant]
    assert [list(each) for each in found] == [list(TURN), list(SUMMARY)]


def test_sessions_come_back_equal_by_their_published_fields(opener: Opener, tmp_path: Path) -> None:
    one, other = opener(name="one"), opener(name="other")
    records = [turn(number) for number in range(7)] + [turn(9, prompt="\ud800 half", thought="")]
    told = [
        summary(session, made_by="imported", reasons={}, last_turn="")
        for session in ("s0", "s1", "東京 'quoted'\u2028")
    ]
    put(one, *records, *told)
    done = one.app.get(Archives).export_journal_to(AGENT, tmp_path / "sessions.jsonl")
    assert imported(other, done.path).imported == {Kind.TURN: 8, Kind.SUMMARY: 3}
    assert journal(other) == journal(one)
    assert imported(other, done.path).counts[Outcome.HERE] == {Kind.TURN: 8, Kind.SUMMARY: 3}
    again = other.app.get(Archives).export_journal_to(AGENT, tmp_path / "again.jsonl")
    assert again.path.read_bytes() == done.path.read_bytes()


def test_a_replacement_puts_the_files_kinds_in_the_place_of_all(world: World) -> None:
    put(world, turn(1), turn(2), summary("s1"))
    told = take(world, lines(TURN), Mode.REPLACE)
    assert (told.imported, told.displaced) == ({Kind.TURN: 1}, {Kind.TURN: 2})
    assert [each.id for each in journal(world)] == [TURN["id"], summary("s1").id]


def test_a_summary_that_was_taken_in_stands_until_its_session_grows(world: World) -> None:
    take(world, lines(TURN, SUMMARY))
    assert world.app.summaries.summarize_all(AGENT).done == []
    world.app.sessions.add(AGENT, str(TURN["sessionId"]), "and then?", "hm", "done")
    assert [each.turn_count for each in world.app.summaries.summarize_all(AGENT).done] == [2]


@parametrize_in_part(
    ("second", "reason"),
    [
        ({name: TURN[name] for name in TURN if name != "response"}, "response"),
        (TURN | {"id": "b", "prompt": None}, "prompt"),
        (TURN | {"id": ""}, "id"),
        (TURN | {"id": "b", "type": "chat"}, "agent-interaction"),
        (TURN | {"id": "b", "timestamp": "noon"}, "timestamp"),
        (TURN | {"id": "b", "sessionId": ""}, "sessionId"),
        (TURN | {"id": "b", "mood": "good"}, "mood"),
        (TURN, "earlier line"),
        (SUMMARY | {"category": "chore"}, "category"),
        (SUMMARY | {"quality": 101}, "quality"),
        (SUMMARY | {"memoryCount": -1}, "turn_count"),
        (SUMMARY | {"memoryCount": "many"}, "memoryCount"),
        (SUMMARY | {"technologies": 5}, "technologies"),
        (SUMMARY | {"prompt": "?"}, "prompt"),
        ({"id": "b", "prompt": "?"}, "sessionId"),
        ({"kind": "turn", **TURN}, "header"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_changed(
    world: World, second: dict[str, Any], reason: str
) -> None:
    put(world, turn(1), summary("s1"))
    before = journal(world)
    with pytest.raises(InvalidArchive) as refused:
        take(world, lines(TURN, second), Mode.REPLACE)
    assert refused.value.line == 2
    assert reason in refused.value.reason
    assert journal(world) == before


def test_an_export_is_entered_with_the_files_digest(world: World, tmp_path: Path) -> None:
    put(world, turn(1))
    done = world.app.get(Archives).export_journal_to(AGENT, tmp_path / "one.jsonl")
    (entry,) = (
        each
        for each in world.store.find(Entry, everything("default"))
        if isinstance(each, Entry) and each.act == "export"
    )
    assert entry.subject == hashlib.sha256(Path(done.path).read_bytes()).hexdigest()
