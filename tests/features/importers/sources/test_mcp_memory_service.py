"""Memories of mcp-memory-service come from its database and from its export, once."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from minutebook.features.importers.sources.registry import SOURCES, found_in
from minutebook.record.records import MemoryType
from minutebook.record.writing.source_drafts import Found, MemoryDraft, UnreadPart
from tests.features.importers.test_cli import done
from tests.terminal import Run

TABLE = """CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL, content TEXT NOT NULL,
    tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL,
    created_at_iso TEXT, updated_at_iso TEXT, deleted_at REAL DEFAULT NULL)"""
ROW = ("d1", "We deploy on Tuesdays", "ops,deploy", "decision", '{"source": "chat"}', 1e9, 1e9)


def made(path: Path, *statements: tuple[str, tuple[object, ...]]) -> Path:
    with closing(apsw.Connection(str(path))) as connection:
        for statement, values in statements:
            connection.execute(statement, values)
    return path


def with_rows(path: Path, *rows: tuple[object, ...]) -> Path:
    insert = (
        "INSERT INTO memories (content_hash, content, tags, memory_type, metadata, created_at, "
        "updated_at, deleted_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    )
    return made(path, (TABLE, ()), *((insert, row) for row in rows))


def found(path: Path) -> list[Found]:
    kind = SOURCES["mcp-memory-service"]
    return list(found_in(kind.files(path), kind))


def test_a_memory_has_its_type_its_tags_its_instant_and_its_metadata(tmp_path: Path) -> None:
    told = found(with_rows(tmp_path / "a.db", (*ROW, None), ("d2", "Gone", *ROW[2:], 1e9)))
    (memory, gone) = told
    assert isinstance(memory, MemoryDraft)
    assert (memory.content, memory.type) == ("We deploy on Tuesdays", MemoryType.DECISION_LOG)
    assert memory.at == datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)
    assert memory.metadata == {
        "source": "chat",
        "content_hash": "d1",
        "memory_type": "decision",
        "updated_at": "2001-09-09T01:46:40+00:00",
        "tags": ["ops", "deploy"],
    }
    assert isinstance(gone, UnreadPart)


def test_the_database_and_its_export_are_one_source(run: Run, tmp_path: Path) -> None:
    with_rows(tmp_path / "a.db", (*ROW, None))
    item = {
        "content": ROW[1],
        "content_hash": "d1",
        "tags": ["ops", "deploy"],
        "memory_type": "decision",
        "metadata": {"source": "chat"},
        "created_at": 1e9,
        "updated_at": 1e9,
        "store": "default",
    }
    (tmp_path / "b.json").write_text(json.dumps({"export_metadata": {}, "memories": [item]}))
    assert "memory 1" in done(run, "import", "mcp-memory-service", "a.db")
    assert "Imported nothing" in done(run, "import", "mcp-memory-service", "b.json")


def as_text(path: Path) -> None:
    path.write_text("no database at all, and long enough to be one" * 100)


def as_another(path: Path) -> None:
    made(path, ("CREATE TABLE other (a)", ()))


def as_view(path: Path) -> None:
    made(
        path,
        ("CREATE TABLE a (content_hash, content)", ()),
        (
            "CREATE VIEW memories AS SELECT load_extension('/tmp/x') AS content_hash, 1 AS content",
            (),
        ),
    )


def as_damaged(path: Path) -> None:
    with_rows(path, *((f"{n}", "x" * 3000, *ROW[2:], None) for n in range(50)))
    whole = bytearray(path.read_bytes())
    whole[8192:] = b"\xff" * (len(whole) - 8192)
    path.write_bytes(whole)


def as_bytes(path: Path) -> None:
    with_rows(path, (b"\xff", b"\xff\xfe", 7, 7, "[", "x", b"", None))


@pytest.mark.parametrize("write", [as_text, as_another, as_view, as_damaged, as_bytes])
def test_what_is_no_database_of_this_program_is_left_out(
    tmp_path: Path, write: Callable[[Path], None]
) -> None:
    write(tmp_path / "a.db")
    assert any(isinstance(each, UnreadPart) for each in found(tmp_path / "a.db"))


MAKE = """
import asyncio, sys, pysqlite3
sys.modules["sqlite3"] = pysqlite3
from pathlib import Path
from mcp_memory_service.models.memory import Memory
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage
from mcp_memory_service.sync.exporter import MemoryExporter
from mcp_memory_service.utils.hashing import generate_content_hash

async def main():
    storage = SqliteVecMemoryStorage(sys.argv[1])
    await storage.initialize()
    for text, tags, type in (("We deploy", ["ops"], "decision"), ("Tea", [], "observation")):
        hash = generate_content_hash(text)
        await storage.store(Memory(text, hash, tags=tags, memory_type=type, metadata={"a": 1}))
    await MemoryExporter(storage).export_to_json(Path(sys.argv[2]))

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_database_made_by_the_real_program_is_imported(run: Run, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "real"], cwd=tmp_path, check=True)
    python = tmp_path / "real" / "bin" / "python"
    packages = ("mcp-memory-service==12.2.0", "pysqlite3-binary")
    subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    subprocess.run([python, "-c", MAKE, "a.db", "b.json"], cwd=tmp_path, check=True)
    assert "memory 2" in done(run, "import", "mcp-memory-service", "a.db")
    assert "Imported nothing" in done(run, "import", "mcp-memory-service", "b.json")
    assert "We deploy" in done(run, "list")
