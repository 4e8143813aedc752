"""claude-mem's and mem0's memories, read from small files of their own forms."""

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from minutebook.features.importers.sources.registry import SOURCES, found_in
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import (
    EntityDraft,
    Found,
    MemoryDraft,
    RelationDraft,
    TurnDraft,
    UnreadPart,
)
from tests.features.importers.test_cli import done
from tests.terminal import Run

CLAUDE_MEM = """
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT,
    type TEXT, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT,
    files_read TEXT, files_modified TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT,
    request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT,
    created_at_epoch INTEGER);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER,
    prompt_text TEXT, created_at_epoch INTEGER);
CREATE TABLE directives (id INTEGER PRIMARY KEY, scope TEXT, content TEXT, status TEXT,
    created_at_epoch INTEGER);
INSERT INTO observations VALUES (1, 'm', 'proj', NULL, 'decision', 'Use WAL', 'Why',
    '["fast", "safe"]', 'We chose it.', '["trade-off"]', '["a.py"]', '[]', 1767323045000);
INSERT INTO observations VALUES (2, 'm', 'proj', NULL, 'change', NULL, NULL, '[', NULL, NULL, NULL,
    NULL, 9223372036854775807);
INSERT INTO session_summaries VALUES (1, 'm', 'proj', 'Mend it', NULL, 'It leaks', 'Mended', NULL,
    NULL, 1767323045000);
INSERT INTO user_prompts VALUES (1, 'cs', 1, 'Mend it', 1767323045000);
INSERT INTO user_prompts VALUES (2, 'cs', 2, 'And now?', 1767323045000);
INSERT INTO directives VALUES (1, 'global', 'Be brief', 'active', 1767323045000);
"""

MEM0 = {
    "results": [
        {
            "id": "m1",
            "memory": "Dev works at TechCorp",
            "hash": "h",
            "metadata": {"type": "professional"},
            "score": 0.3,
            "created_at": "2025-06-01T10:00:00-07:00",
            "updated_at": None,
            "user_id": "dev",
        },
        {"id": "m2"},
    ],
    "relations": [{"source": "dev", "relationship": "works_at", "target": "techcorp"}, {}],
}


def made(path: Path, script: str) -> Path:
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(script)
    return path


def found(name: str, path: Path) -> list[Found]:
    kind = SOURCES[name]
    return list(found_in(kind.files(path), kind))


def memories(told: list[Found]) -> list[MemoryDraft]:
    return [each for each in told if isinstance(each, MemoryDraft)]


def reasons(told: list[Found]) -> list[str]:
    return [each.reason for each in told if isinstance(each, UnreadPart)]


def test_what_claude_mem_observed_summed_up_and_was_told(tmp_path: Path) -> None:
    made(tmp_path / "claude-mem.db", CLAUDE_MEM)
    told = found("claude-mem", tmp_path)
    observation, summary, directive = memories(told)
    assert (observation.title, observation.type) == ("Use WAL", MemoryType.DECISION_LOG)
    assert observation.content == "Why\n\nWe chose it.\n\n- fast\n- safe"
    assert observation.metadata["concepts"] == ["trade-off"]
    assert observation.metadata["project"] == "proj"
    assert observation.at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert summary.content == "Request: Mend it\n\nLearned: It leaks\n\nCompleted: Mended"
    assert (directive.content, directive.type) == ("Be brief", MemoryType.CONVENTION)
    turns = [each for each in told if isinstance(each, TurnDraft)]
    assert [(each.session, each.prompt) for each in turns] == [
        ("claude-mem cs", "Mend it"),
        ("claude-mem cs", "And now?"),
    ]
    assert turns[0].at < turns[1].at
    assert reasons(told) == ["the observation is empty"]


@pytest.mark.parametrize("document", [MEM0, MEM0["results"]])
def test_memories_of_mem0_keep_what_it_says_of_them(tmp_path: Path, document: Any) -> None:
    (tmp_path / "all.json").write_text(json.dumps(document))
    told = found("mem0", tmp_path)
    (memory,) = memories(told)
    assert memory.metadata == {"type": "professional", "hash": "h", "user_id": "dev", "id": "m1"}
    assert memory.at == datetime(2025, 6, 1, 17, tzinfo=UTC)
    if isinstance(document, dict):
        assert len([each for each in told if isinstance(each, EntityDraft)]) == 2
        assert len([each for each in told if isinstance(each, RelationDraft)]) == 1


JULY = datetime(2026, 7, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "until"),
    [
        ({}, None),
        ({"state": "active", "expiration_date": None}, None),
        ({"expiration_date": "2026-07-01"}, JULY),
        ({"expiration_date": "July 1, 2026"}, JULY),
        ({"expires_at": "1782864000"}, JULY),
        ({"state": "archived", "updated_at": "2026-07-01T00:00:00Z"}, JULY),
        ({"state": "archived", "archived_at": 1782864000}, JULY),
    ],
)
def test_a_memory_of_mem0_ends_when_it_ended_there(
    tmp_path: Path, said: dict[str, Any], until: datetime | None
) -> None:
    item = {"id": "m", "memory": "Prefers window seats", "created_at": "1730000000", **said}
    (tmp_path / "all.json").write_text(json.dumps([item]))
    (memory,) = memories(found("mem0", tmp_path))
    assert (memory.until, memory.at) == (until, datetime.fromtimestamp(1730000000, UTC))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"state": "deleted"}, "deleted there"),
        ({"state": "Paused"}, "paused there"),
        ({"deleted_at": "2026-07-01"}, "deleted there"),
        ({"is_deleted": True}, "deleted there"),
        ({"expiration_date": "soon"}, "`expiration_date` cannot be read"),
        ({"expiration_date": "05/01/2026"}, "`expiration_date` cannot be read"),
        ({"expires_at": True}, "`expires_at` cannot be read"),
        ({"state": "archived"}, "archived there"),
    ],
)
def test_a_memory_of_mem0_that_is_gone_or_may_be_over_is_named(
    tmp_path: Path, said: dict[str, Any], reason: str
) -> None:
    (tmp_path / "all.json").write_text(json.dumps([{"id": "m", "memory": "Tea", **said}]))
    told = found("mem0", tmp_path)
    assert not memories(told)
    (left,) = reasons(told)
    assert reason in left


@pytest.mark.parametrize(
    ("pages", "is_missing"),
    [
        ([{"count": 3, "next": "?page=2"}], True),
        ([{"next": "?page=2"}], True),
        ([{"total": 2}], False),
        ([{"count": 4, "next": "?page=2"}, {"count": 4, "next": None}], False),
        ([{"count": 5, "next": "?page=2"}, {"count": 5, "next": "?page=3"}], True),
    ],
)
def test_a_page_of_mem0_that_is_missing_is_named(
    tmp_path: Path, pages: list[dict[str, Any]], is_missing: bool
) -> None:
    for number, page in enumerate(pages):
        results = [{"id": f"{number} {each}", "memory": "Tea"} for each in range(2)]
        (tmp_path / f"{number}.json").write_text(json.dumps({**page, "results": results}))
    told = found("mem0", tmp_path)
    assert len(memories(told)) == 2 * len(pages)
    assert any("further pages" in each for each in reasons(told)) is is_missing


def test_a_memory_of_another_user_is_left_out(run: Run, tmp_path: Path) -> None:
    results = [
        {"id": user, "memory": f"Tea of {user}", "user_id": user, "expiration_date": "2020-01-01"}
        for user in ("ada", "bob")
    ]
    (tmp_path / "all.json").write_text(json.dumps(results))
    told = done(run, "import", "mem0", "all.json", "--user", "ada")
    assert "1 × it belongs to another user" in told
    listed = done(run, "list", "--user", "ada")
    assert ("Tea of ada" in listed, "Tea of bob" in listed) == (True, False)


def test_a_directive_of_claude_mem_that_is_over_is_named(tmp_path: Path) -> None:
    made(tmp_path / "claude-mem.db", CLAUDE_MEM.replace("'active'", "'archived'"))
    told = found("claude-mem", tmp_path)
    assert "Be brief" not in [each.content for each in memories(told)]
    assert "the directive is archived there" in reasons(told)


@pytest.mark.parametrize(
    ("name", "file"),
    [("claude-mem", "claude-mem.db"), ("mem0", "all.json")],
)
@pytest.mark.parametrize(
    "content", [b"", b"SQLite format 3\0" + b"\xff" * 5000, b"{}", b"[[[", b"7"]
)
def test_what_is_another_file_is_left_out(
    tmp_path: Path, name: str, file: str, content: bytes
) -> None:
    (tmp_path / file).write_bytes(content)
    assert reasons(found(name, tmp_path))


def test_tables_may_hold_values_of_any_type(tmp_path: Path) -> None:
    path = made(tmp_path / "claude-mem.db", CLAUDE_MEM)
    with closing(apsw.Connection(str(path))) as connection:
        for (table,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type='table'"
        ).fetchall():
            for row in connection.execute(
                f"SELECT name FROM pragma_table_info('{table}')"
            ).fetchall():
                if row[0] != "id":
                    connection.execute(f"UPDATE {table} SET {row[0]} = x'ff00fe' WHERE rowid = 1")
    assert found("claude-mem", tmp_path)
