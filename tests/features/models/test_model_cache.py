import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from minutebook.disk.atomic_file import PART, scratch_folder
from minutebook.features.models.built_in.model_cache import MANIFEST, damage, put_in_place


def two_files(text: str) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        (folder / "a").write_text(text)
        (folder / "b").write_text(text * 2)

    return fill


def test_a_filled_folder_is_whole_and_alone(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "model"
    put_in_place(folder, two_files("x"))
    assert damage(folder) is None
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b", MANIFEST]
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_whole_folder_is_kept(tmp_path: Path) -> None:
    put_in_place(tmp_path / "model", two_files("first"))
    put_in_place(tmp_path / "model", two_files("second"))
    assert (tmp_path / "model" / "a").read_text() == "first"


@pytest.mark.parametrize("half_made", [True, False])
def test_a_folder_that_is_not_whole_is_replaced(half_made: bool, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    if half_made:
        folder.mkdir()
        (folder / "a").write_text("no manifest yet")
    else:
        put_in_place(folder, two_files("first"))
        (folder / "a").write_text("FIRST")
    put_in_place(folder, two_files("second"))
    assert damage(folder) is None
    assert (folder / "a").read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "a").write_text("x")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        put_in_place(tmp_path / "model", fill)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("mine")
    with pytest.raises(OSError, match="models"):
        put_in_place(tmp_path / "models" / "model", two_files("x"))
    assert (tmp_path / "models").read_text() == "mine"


@pytest.mark.thorough
def test_many_at_once_leave_one_whole_folder(tmp_path: Path) -> None:
    for turn in range(40):
        folder = tmp_path / f"model{turn}"
        folder.mkdir()
        (folder / "a").write_text("damaged")
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(put_in_place, [folder] * 4, map(two_files, "0123")))
        assert damage(folder) is None
    assert len(list(tmp_path.iterdir())) == 40


def test_what_a_killed_process_left_is_removed_and_work_under_way_stays(tmp_path: Path) -> None:
    (tmp_path / f".model.dead{PART}.d").mkdir()
    with scratch_folder(tmp_path / "model") as at_work:
        put_in_place(tmp_path / "model", two_files("x"))
        assert {path for path in tmp_path.iterdir() if path.is_dir()} == {
            at_work,
            tmp_path / "model",
        }


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda folder: (folder / "a").write_text("y"), "damaged"),
        (lambda folder: (folder / "a").write_text("xx"), "wrong size"),
        (lambda folder: (folder / "a").unlink(), "missing"),
        (lambda folder: (folder / MANIFEST).unlink(), "missing"),
        (lambda folder: (folder / MANIFEST).write_text("[]"), "damaged"),
        (lambda folder: (folder / MANIFEST).write_text(json.dumps({"files": {"a": 1}})), "damaged"),
        (lambda folder: (folder / MANIFEST).write_bytes(b"\xff"), "damaged"),
    ],
)
def test_damage_is_told(spoil: Callable[[Path], object], told: str, tmp_path: Path) -> None:
    put_in_place(tmp_path / "model", two_files("x"))
    spoil(tmp_path / "model")
    assert told in (damage(tmp_path / "model") or "")


def test_a_measured_file_is_not_read(tmp_path: Path) -> None:
    put_in_place(tmp_path / "model", two_files("x"))
    (tmp_path / "model" / "a").write_text("y")
    assert damage(tmp_path / "model", by_size=frozenset({"a"})) is None
    (tmp_path / "model" / "a").write_text("yy")
    assert "wrong size" in (damage(tmp_path / "model", by_size=frozenset({"a"})) or "")
