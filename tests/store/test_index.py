"""The index of vectors: near enough to the exact answer, few files, shared by processes."""

import errno
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minutebook.record.errors import StoreError
from minutebook.record.filters import Filter
from minutebook.record.records import Memory
from minutebook.store.sidecar import files, sizes
from minutebook.store.sidecar.index import Index
from minutebook.store.sidecar.view import IndexView
from minutebook.store.sql.index_source import WORDS
from minutebook.store.sqlite import SqliteStore
from minutebook.store.values import VectorSpace
from minutebook.text.words import parse_query
from tests.faults.calls import IS_POSSIBLE, Calls, Fault
from tests.store.samples import INSTANTS, memory
from tests.store.small_index import make

ACME = Filter(organization="acme")
SPACE = VectorSpace("middling", "1", 128)
RECORDS = 3000


@pytest.fixture(autouse=True)
def _sizes() -> Iterator[None]:
    names = ("LARGEST", "LEAST_SAVED", "PAGE", "LARGEST_IN_MEMORY", "SAVED_SHARE", "MOST_UNSAVED")
    usual = {name: getattr(sizes, name) for name in names}
    make({"LARGEST": 1000, "LEAST_SAVED": 200, "PAGE": 700, "LARGEST_IN_MEMORY": 400})
    yield
    make(usual)


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Unit vectors in clusters, as texts on few subjects have."""
    drawn = np.random.default_rng(5)
    subjects = drawn.standard_normal((60, 128))
    vectors = subjects[drawn.integers(0, 60, RECORDS)] + 0.9 * drawn.standard_normal((RECORDS, 128))
    vectors += 0.5
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def fill(store: SqliteStore, vectors: np.ndarray, start: int, end: int) -> None:
    with store.transaction("acme"):
        for number in range(start, end):
            user = None if number % 10 else "rare"
            store.put(memory(f"{number:05}", "text", user=user))
            row = vectors[number][None]
            store.put_vectors(Memory, "acme", f"{number:05}", SPACE, row)


def exactly(vectors: np.ndarray, numbers: np.ndarray, query: np.ndarray) -> list[str]:
    rows = vectors[numbers].astype(np.float16).astype(np.float64)
    cosines = rows @ query / np.linalg.norm(rows, axis=1)
    return [f"{numbers[place]:05}" for place in np.argsort(-cosines, kind="stable")[:10]]


@pytest.mark.thorough
def test_what_is_found_by_codes_is_what_is_nearest(tmp_path: Path, vectors: np.ndarray) -> None:
    store = SqliteStore(tmp_path / "store.db", durability="normal")
    for start in range(0, RECORDS, 250):
        fill(store, vectors, start, start + 250)
        store.nearest(Memory, ACME, SPACE, vectors[0], 1)
    assert sizes.EXACT < RECORDS
    everything = np.arange(RECORDS)
    found = expected = 0
    for number in range(0, RECORDS, 60):
        query = vectors[number] + 0.02 * vectors[number - 1]
        query /= np.linalg.norm(query)
        wanted = exactly(vectors, everything, query)
        near = store.nearest(Memory, ACME, SPACE, query, 10)
        found += len({c.id for c in near} & set(wanted))
        expected += 10
        rare = Filter(organization="acme", equal={"user": "rare"}, valid_at=INSTANTS[1])
        near = store.nearest(Memory, rare, SPACE, query, 10)
        assert [c.id for c in near] == exactly(vectors, everything[::10], query)
    assert found / expected >= 0.99
    store.close()


@pytest.mark.thorough
def test_there_are_few_files_however_many_writes(tmp_path: Path, vectors: np.ndarray) -> None:
    store = SqliteStore(tmp_path / "store.db", durability="normal")
    for start in range(0, RECORDS, 100):
        fill(store, vectors, start, start + 100)
        store.nearest(Memory, ACME, SPACE, vectors[0], 1)
        store.upkeep._keep_house()
    files = list((tmp_path / "store.db-index").glob("*/*.segment"))
    assert 3 <= len(files) <= 8
    assert store.upkeep.check() == []
    store.close()


@pytest.mark.thorough
def test_however_much_is_saved_few_changes_are_read_again_when_it_is_opened(
    tmp_path: Path, vectors: np.ndarray
) -> None:
    make({"LEAST_SAVED": 20, "SAVED_SHARE": 2, "MOST_UNSAVED": 50})
    for start, end in ((0, 300), (300, 400)):
        store = SqliteStore(tmp_path / "store.db", durability="normal")
        fill(store, vectors, start, end)
        store.nearest(Memory, ACME, SPACE, vectors[0], 1)
        store.close()
    store = SqliteStore(tmp_path / "store.db", durability="normal")
    store.nearest(Memory, ACME, SPACE, vectors[0], 1)
    assert _view(store).pending <= 50
    store.close()


@pytest.mark.thorough
def test_two_stores_share_one_index_and_take_over_what_the_other_saved(
    tmp_path: Path, vectors: np.ndarray
) -> None:
    path = tmp_path / "store.db"
    stores = [SqliteStore(path, durability="normal") for _ in range(2)]
    for store in stores:
        # So that what is saved is saved when the test says so.
        store.upkeep._housekeeper.stop()
    for round_, start in enumerate(range(0, RECORDS, 150)):
        fill(stores[round_ % 2], vectors, start, start + 150)
        stores[round_ % 2].delete(Memory, "acme", f"{start:05}")
        for store in stores:
            near = store.nearest(Memory, ACME, SPACE, vectors[start + 1], 1)
            assert [c.id for c in near] == [f"{start + 1:05}"]
            store.upkeep._keep_house()
            assert all(file.exists() for file in named_files(tmp_path))
    assert len(named_files(tmp_path)) > 2
    answers = [store.nearest(Memory, ACME, SPACE, vectors[7], 20) for store in stores]
    assert answers[0] == answers[1]
    assert [store.upkeep.check() for store in stores] == [[], []]
    third = SqliteStore(path, durability="normal")
    assert third.nearest(Memory, ACME, SPACE, vectors[7], 20) == answers[0]
    assert _view(third).pending < 700
    for store in (*stores, third):
        store.close()


@pytest.mark.thorough
def test_a_search_after_opening_reads_the_files_and_only_what_came_later(
    tmp_path: Path, vectors: np.ndarray
) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path, durability="normal")
    fill(store, vectors, 0, 2000)
    before = store.nearest(Memory, ACME, SPACE, vectors[3], 20)
    store.close()
    store = SqliteStore(path, durability="normal")
    fill(store, vectors, 2000, 2010)
    assert store.nearest(Memory, ACME, SPACE, vectors[2005], 1)[0].id == "02005"
    view = _view(store)
    assert view.pending == 10
    assert view.unsaved == 10
    assert {layer.file is None for layer in view.layers} == {True, False}
    after = store.nearest(Memory, ACME, SPACE, vectors[3], 20)
    assert [c for c in after if c.id < "02000"] == [c for c in before if c in after]
    store.close()


def test_an_index_of_a_later_format_is_told_and_made_anew(
    tmp_path: Path, vectors: np.ndarray, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path, durability="normal")
    fill(store, vectors, 0, 500)
    before = store.nearest(Memory, ACME, SPACE, vectors[3], 20)
    store.close()
    (place,) = {each.with_name("manifest.json") for each in named_files(tmp_path)}
    manifest = json.loads(place.read_text())
    assert manifest["format"] == files.FORMAT == 1
    place.write_text(json.dumps(manifest | {"format": 2}))
    store = SqliteStore(path, durability="normal")
    assert store.nearest(Memory, ACME, SPACE, vectors[3], 20) == before
    assert "wrote it in format 2, and this one reads up to 1; upgrade Minutebook" in caplog.text
    store.upkeep.rebuild()
    store.close()
    assert json.loads(place.read_text())["format"] == 1


@pytest.mark.thorough
def test_what_is_compared_as_it_is_takes_no_place_from_what_is_chosen_by_code(
    tmp_path: Path, vectors: np.ndarray
) -> None:
    usual = {name: getattr(sizes, name) for name in ("EXACT", "RESCORED")}
    make({"EXACT": 100, "RESCORED": 100})
    try:
        store = SqliteStore(tmp_path / "store.db", durability="normal")
        fill(store, vectors, 0, 1000)
        store.upkeep.rebuild()
        fill(store, vectors, 1000, 1150)
        for number in (3, 500, 1100):
            near = store.nearest(Memory, ACME, SPACE, vectors[number], 10)
            wanted = exactly(vectors, np.arange(1150), vectors[number])
            assert len({c.id for c in near} & set(wanted)) >= 8
        assert [layer.block.payload.planes is None for layer in _view(store).layers] == [
            False,
            True,
        ]
        store.close()
    finally:
        make(usual)


def named_files(folder: Path) -> list[Path]:
    named: list[Path] = []
    for manifest in (folder / "store.db-index").glob("*/manifest.json"):
        segments = json.loads(manifest.read_text())["segments"]
        named += [manifest.with_name(segment["file"]) for segment in segments]
    return named


def _view(store: SqliteStore) -> IndexView:
    index: Index[Any] = next(
        index for key, index in store.upkeep.indices._open._indices.items() if key.space != WORDS
    )
    return index.current()


@pytest.mark.skipif(not IS_POSSIBLE, reason="the tables of libraries are Linux's")
def test_an_index_that_cannot_be_removed_is_told_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    calls, broken = Calls(), Fault("broken", {"unlink"}, errno.EIO)
    with (
        calls.hooked(),
        calls.failing(tmp_path, broken, 0) as plan,
        pytest.raises(StoreError, match=r"manifest\.json: Input/output error"),
    ):
        files.remove_all(tmp_path)
    assert plan.failed == 1
    assert (tmp_path / "manifest.json").exists()


def test_a_store_that_closes_reads_no_more_texts_for_its_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"MANY_TEXTS": 1, "TEXT_PAGE": 2, "BEHIND": 3, "LEAST_SAVED": 1}.items():
        monkeypatch.setattr(sizes, name, value)
    store = SqliteStore(tmp_path / "store.db", durability="normal")
    with store.transaction("acme"):
        for number in range(20):
            store.put(memory(f"{number:02}"))
    indices = store.upkeep.indices
    indices.stopping.set()
    assert store.match(Memory, ACME, parse_query("bread"), 1)
    (words,) = indices._open._indices.values()
    assert not words.advance()
    indices.keep_up()
    assert words.behind() > sizes.BEHIND
    store.close()


def test_a_search_leaves_long_texts_to_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "MANY_TEXTS", 10)
    store = SqliteStore(tmp_path / "store.db", durability="normal")
    with store.transaction("acme"):
        for number in range(20):
            store.put(memory(f"{number:02}"))
    indices = store.upkeep.indices
    bread = parse_query("bread")
    acme = store.database.number_of("acme")
    assert acme is not None
    assert indices.prompt_words(acme, Memory) is not None
    with store.transaction("acme"):
        store.put(replace(memory("20"), content="bread " * 50_000))
    assert indices.prompt_words(acme, Memory) is None
    assert len(store.match(Memory, ACME, bread, 30)) == 21
    indices.keep_up()
    assert indices.prompt_words(acme, Memory) is not None
    assert len(store.match(Memory, ACME, bread, 30)) == 21
    store.close()
