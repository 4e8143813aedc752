"""Files that are newer, foreign, damaged or locked: a plain reason, and nothing made worse."""

import json
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import given

from minutebook.record.errors import InvalidInput, StoreBusy, StoreClosed, StoreDamaged, StoreError
from minutebook.record.filters import Filter
from minutebook.record.records import Link, Memory
from minutebook.store.disk.filelock import FileLock, queue_of
from minutebook.store.sql.tables import ALL_TABLES
from minutebook.store.sqlite import SqliteStore
from minutebook.store.sqlite.errors import fault_of
from minutebook.store.sqlite.missing_database import lock_of
from minutebook.store.values import VectorSpace
from minutebook.text.words import parse_query, terms
from tests.store.given import anything
from tests.store.samples import SPACES, edge, entity, memory
from tests.store.small_index import small_index
from tests.store.worker import direction
from tests.world import wait_until

ACME = Filter(organization="acme")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a folder with spaces" / "store.db"


@pytest.fixture(autouse=True)
def _folder(path: Path) -> None:
    path.parent.mkdir()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_where_no_more_files_may_be_open_the_message_says_so(path: Path) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    other = fault_of(apsw.CantOpenError("unable to open database file"), path)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        fault = fault_of(apsw.CantOpenError("unable to open database file"), path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert "ulimit -n" in str(fault)
    assert "permission" in str(other)


def test_a_database_that_a_killed_restore_left_without_its_log_has_it_again(path: Path) -> None:
    SqliteStore(path).close()
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "delete")
    connection.close()
    store = SqliteStore(path)
    # Nobody who reads keeps a writer waiting.
    with store.database.moment():
        store.put(memory("m"))
    store.close()


def test_the_database_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_what_is_no_database_is_refused_and_left_as_it_is(path: Path) -> None:
    path.write_bytes(b"a shopping list, not a database" * 100)
    with pytest.raises(StoreError, match="not a database") as refused:
        SqliteStore(path)
    assert str(path) in refused.value.reason
    assert path.read_bytes() == b"a shopping list, not a database" * 100


def test_a_folder_that_is_missing_or_a_folder_in_place_of_the_file_is_said(path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        SqliteStore(path.parent / "missing" / "store.db")
    with pytest.raises(StoreError, match="directory"):
        SqliteStore(path.parent)


def test_damaged_pages_are_said_by_reads_and_by_check(path: Path) -> None:
    store = SqliteStore(path)
    with store.transaction("acme"):
        for number in range(300):
            store.put(memory(f"{number:04}", "bread " * 50))
    store.close()
    content = path.read_bytes()
    pages = [content[place : place + 4096] for place in range(0, len(content), 4096)]
    path.write_bytes(b"".join(b"\xff" * 4096 if b"bread bread" in p else p for p in pages))
    store = SqliteStore(path)
    with pytest.raises(StoreError, match="damaged"):
        store.find(Memory, ACME)
    assert any("damaged" in said for said in store.upkeep.check())
    store.close()


def test_a_writer_waits_no_longer_than_it_may(path: Path) -> None:
    store = SqliteStore(path, writer_wait=0.05)
    other = FileLock(path.with_name("store.db-lock"))
    assert other.try_acquire()
    with pytest.raises(StoreBusy, match="another process"):
        store.put(memory("a"))
    other.close()
    store.put(memory("a"))
    store.close()


def test_a_thread_waits_no_longer_than_it_may(path: Path) -> None:
    store = SqliteStore(path, writer_wait=0.05)
    raised: list[Exception] = []

    def write() -> None:
        try:
            store.put(memory("b"))
        except StoreBusy as error:
            raised.append(error)

    with store.transaction("acme"):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        store.put(memory("a"))
    assert [type(error) for error in raised] == [StoreBusy]
    assert store.count(Memory, ACME) == 1
    store.close()


def test_reads_go_on_while_another_process_writes(path: Path) -> None:
    store, other = SqliteStore(path), SqliteStore(path)
    store.put(memory("a"))
    with other.transaction("acme"):
        other.put(memory("b"))
        assert [r.id for r in store.find(Memory, ACME)] == ["a"]
    assert [r.id for r in store.find(Memory, ACME)] == ["a", "b"]
    other.close()
    store.close()


def test_a_transaction_that_the_engine_undid_cannot_go_on(path: Path) -> None:
    store = SqliteStore(path)
    with pytest.raises(StoreError, match="undone"), store.transaction("acme"):  # noqa: PT012
        store.put(memory("a"))
        store.database._writer.raw.execute("ROLLBACK")
        store.put(memory("b"))
    assert store.count(Memory, ACME) == 0
    store.put(memory("c"))
    store.close()


def test_close_waits_for_readers_in_other_threads(path: Path) -> None:
    store = SqliteStore(path)
    with store.transaction("acme"):
        for number in range(200):
            store.put(memory(f"{number:04}"))
    started = threading.Event()
    said: list[str] = []

    def read() -> None:
        try:
            while True:
                assert store.count(Memory, ACME) == 200
                started.set()
        except StoreClosed:
            said.append("closed")

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    started.wait()
    store.close()
    for thread in threads:
        thread.join()
    assert said == ["closed"] * 3


def test_close_gives_up_a_write_that_waits_for_another_process(path: Path) -> None:
    store = SqliteStore(path, writer_wait=3600)
    other = FileLock(lock_of(path))
    assert other.try_acquire()
    said: list[str] = []

    def write() -> None:
        try:
            store.put(memory("a"))
        except StoreClosed:
            said.append("closed")

    writer = threading.Thread(target=write)
    writer.start()
    wait_until(queue_of(lock_of(path)).exists)
    store.close()
    writer.join()
    assert said == ["closed"]
    other.close()


def test_the_files_are_for_their_owner_alone(path: Path) -> None:
    store = SqliteStore(path)
    store.put(memory("a"))
    for file in path.parent.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file
    store.close()


def test_an_id_that_the_index_cannot_hold_is_refused(path: Path) -> None:
    store = SqliteStore(path)
    for id in ("", "a\0", "x" * 201):
        with pytest.raises(InvalidInput):
            store.put(memory(id))
    assert store.sequence("acme") == 0
    store.close()


def test_each_field_of_a_record_has_its_column(path: Path) -> None:
    SqliteStore(path).close()
    connection = apsw.Connection(str(path))
    for table in ALL_TABLES:
        columns = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table.name})")}
        columns -= {"row", "space", "states", "sequence"}
        assert columns == {"organization", *table.stored}
    connection.close()


def test_check_tells_of_rows_that_contradict_one_another(path: Path) -> None:
    store = SqliteStore(path)
    formed = replace(SPACES[0], states="one")
    for id in "abc":
        store.put(memory(id))
        store.put_vectors(Memory, "acme", id, formed, direction(1)[None], b"states")
    store.put(entity("e"))
    assert store.upkeep.check() == []
    writer = store.database._writer.raw
    writer.execute("UPDATE memories_vectors SET row = 9 WHERE row = 1")
    writer.execute("UPDATE names SET entity = 'nobody'")
    writer.execute("UPDATE memories SET space = 7, sequence = 99 WHERE row = 2")
    writer.execute("UPDATE memories_states SET row = 9, form = 'other' WHERE row = 1")
    writer.execute("UPDATE memories_states SET form = 'other' WHERE row = 3")
    found = store.upkeep.check()
    assert any("1 token states of memories belong to no record" in said for said in found)
    assert any("3 memories have other token states than they say" in said for said in found)
    assert [said.split()[:2] for said in found if "token states" not in said][:5] == [
        ["1", "vectors"],
        ["1", "memories"],
        ["1", "memories"],
        ["1", "names"],
        ["1", "memories"],
    ]
    store.close()


@given(anything)
def test_terms_hold_nothing_that_the_text_index_would_split_fold_or_refuse(text: str) -> None:
    for term in terms(text):
        assert not re.search("[\x00-\x20\x7fA-Z\ud800-\udfff]", term)


def test_a_space_or_organization_that_was_undone_leaves_no_trace(path: Path) -> None:
    store = SqliteStore(path)
    wide = VectorSpace("wide", "1", 8)
    vector = np.eye(8, dtype=np.float32)[0]
    with pytest.raises(ZeroDivisionError), store.transaction("undone"):  # noqa: PT012
        store.put(memory("a", organization="undone"))
        store.put_vectors(Memory, "undone", "a", SPACES[0], direction(1)[None])
        undone = Filter(organization="undone")
        assert len(store.nearest(Memory, undone, SPACES[0], direction(1), 9)) == 1
        _ = 1 / 0
    store.put(memory("b"))
    store.put_vectors(Memory, "acme", "b", wide, vector[None])
    assert [c.id for c in store.nearest(Memory, ACME, wide, vector, 9)] == ["b"]
    assert store.nearest(Memory, undone, SPACES[0], direction(1), 9) == []
    assert store.organizations() == ["acme"]
    assert store.upkeep.check() == []
    store.close()


def test_the_text_index_is_made_anew_from_the_records(path: Path) -> None:
    store = SqliteStore(path)
    for id, content in (("a", "bread"), ("b", "bread and wine"), ("c", "cheese")):
        store.put(memory(id, content))
    before = store.match(Memory, ACME, parse_query("bread wine"), 9)
    store.database._writer.raw.execute("DELETE FROM text_memory_1 WHERE rowid = 2")
    assert any("text index" in said for said in store.upkeep.check())
    store.upkeep.rebuild()
    assert store.upkeep.check() == []
    assert store.match(Memory, ACME, parse_query("bread wine"), 9) == before
    store.close()


# The index of vectors is derived: whatever happens to its files, the answers stay the same.


def _cut_short(folder: Path) -> None:
    for file in folder.glob("*.segment"):
        file.write_bytes(file.read_bytes()[:-100])


def _cut_off(folder: Path) -> None:
    for file in folder.glob("*.segment"):
        file.write_bytes(b"min")


def _overwrite_heads(folder: Path) -> None:
    for file in folder.glob("*.segment"):
        content = file.read_bytes()
        file.write_bytes(content[:27] + b"\xff" * 40 + content[67:])


def _overwrite(folder: Path) -> None:
    for file in folder.iterdir():
        file.write_bytes(b"\xff" * file.stat().st_size)


def _remove_segments(folder: Path) -> None:
    for file in folder.glob("*.segment"):
        file.unlink()


def _empty_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("{}")


def _run_ahead(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "sequence": 10**9}))


def _claim_a_strange_witness(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "witness": ["nobody", 1]}))


def _remove_all(folder: Path) -> None:
    shutil.rmtree(folder)


def _put_a_file_in_its_place(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("in the way")


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store whose index has several files and dead records."""
    path = tmp_path_factory.mktemp("filled") / "store.db"
    with small_index():
        store = SqliteStore(path)
        for number in range(12):
            store.put(memory(f"{number:02}", f"number {number}"))
            store.put_vectors(Memory, "acme", f"{number:02}", SPACES[0], direction(number)[None])
            store.nearest(Memory, ACME, SPACES[0], direction(0), 5)
        store.delete(Memory, "acme", "03")
        store.put(memory("05", "another text"))
        store.upkeep.rebuild()
        store.delete(Memory, "acme", "07")
        store.nearest(Memory, ACME, SPACES[0], direction(0), 5)
        store.close()
    return path.parent


@pytest.fixture
def filled(filled_once: Path, path: Path) -> Iterator[Path]:
    """A copy of that store."""
    shutil.copytree(filled_once, path.parent, dirs_exist_ok=True)
    with small_index():
        yield path


@pytest.mark.parametrize(
    "damage",
    [
        _cut_short,
        _cut_off,
        _overwrite_heads,
        _overwrite,
        _remove_segments,
        _empty_manifest,
        _run_ahead,
        _claim_a_strange_witness,
        _remove_all,
        _put_a_file_in_its_place,
    ],
)
def test_a_damaged_index_changes_no_answer(filled: Path, damage: Callable[[Path], None]) -> None:
    folder = filled.with_name("store.db-index") / "1-memory-1"
    assert len(list(folder.glob("*.segment"))) > 1
    assert len(list(folder.glob("*.dead"))) > 0
    damage(folder)
    store = SqliteStore(filled)
    found = store.nearest(Memory, ACME, SPACES[0], direction(2), 99)
    assert found[0].id == "02"
    assert {c.id for c in found} == {f"{n:02}" for n in range(12)} - {"03", "05", "07"}
    assert store.upkeep.check() == []
    store.close()


def test_an_index_of_a_later_time_than_the_records_is_not_used(
    filled: Path, tmp_path: Path
) -> None:
    backup = tmp_path / "backup.db"
    shutil.copy(filled, backup)
    store = SqliteStore(filled)
    for id, number in (("lost", 50), ("gone", 51)):
        store.put(memory(id))
        store.put_vectors(Memory, "acme", id, SPACES[0], direction(number)[None])
    store.upkeep.rebuild()
    store.close()
    shutil.copy(backup, filled)
    store = SqliteStore(filled)
    for number in range(60, 64):
        store.put(memory(f"{number}"))
        store.put_vectors(Memory, "acme", f"{number}", SPACES[0], direction(number)[None])
    found = {c.id for c in store.nearest(Memory, ACME, SPACES[0], direction(50), 99)}
    assert found == {f"{n:02}" for n in range(12)} - {"03", "05", "07"} | {"60", "61", "62", "63"}
    store.close()


def test_an_index_changed_behind_its_back_is_told_by_check_and_mended_by_rebuild(
    filled: Path,
) -> None:
    folder = filled.with_name("store.db-index") / "1-memory-1"
    kept, other = (direction(n).astype(np.float16).tobytes() for n in (2, 99))
    for file in folder.glob("*.segment"):
        file.write_bytes(file.read_bytes().replace(kept, other))
    with small_index():
        store = SqliteStore(filled)
        assert any("vector index" in said for said in store.upkeep.check())
        store.upkeep.rebuild()
        assert store.upkeep.check() == []
        store.close()


def test_where_the_index_cannot_be_written_a_rebuild_says_so_and_searches_go_on(
    filled: Path,
) -> None:
    _put_a_file_in_its_place(filled.with_name("store.db-index") / "1-memory-1")
    store = SqliteStore(filled)
    with pytest.raises(StoreError, match="1-memory-1"):
        store.upkeep.rebuild()
    assert len(store.nearest(Memory, ACME, SPACES[0], direction(2), 99)) == 9
    store.close()


def test_a_rebuild_removes_what_belongs_to_no_records(filled: Path) -> None:
    stray = filled.with_name("store.db-index") / "9-memory-9"
    stray.mkdir()
    store = SqliteStore(filled)
    store.upkeep.rebuild()
    assert not stray.exists()
    store.close()


def test_size_counts_the_index_too(filled: Path) -> None:
    store = SqliteStore(filled)
    store.put(entity("e"))
    index = sum(f.stat().st_size for f in filled.with_name("store.db-index").glob("*/*"))
    assert store.upkeep.size() > index + filled.stat().st_size
    store.close()


def test_an_edge_of_an_unknown_kind_is_damage(path: Path) -> None:
    store = SqliteStore(path)
    store.put(edge(Link, "a", "b"))
    writer = apsw.Connection(str(path))
    writer.execute("UPDATE edges SET kind = 'other'")
    writer.close()
    with pytest.raises(StoreDamaged, match="an edge has the kind 'other'"):
        store.edges("acme", ["a"])
    with pytest.raises(StoreDamaged, match="an edge has the kind 'other'"):
        store.ties("acme", ["a"], 9)
    store.close()
