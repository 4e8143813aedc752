"""Ends of trails noted elsewhere: lines that are only added to."""

from pathlib import Path

import pytest

from minutebook.features.audit_proof.noted_heads import note_heads, read_heads
from minutebook.record.errors import InvalidInput
from minutebook.record.records import Head
from tests.world import NOON


def head(number: int, organization: str = "acme") -> Head:
    return Head(organization=organization, id="", number=number, digest=f"{number:064x}")


def test_a_file_gets_a_line_for_each_end_that_is_new(tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    assert note_heads(path, [head(1), head(5, "zoo")], NOON)[1] == 2
    before = path.read_bytes()
    assert note_heads(path, [head(2), head(5, "zoo")], NOON)[1] == 1
    assert note_heads(path, [head(2), head(5, "zoo")], NOON)[1] == 0
    assert path.read_bytes().startswith(before)
    assert read_heads(path) == ([head(1), head(5, "zoo"), head(2)], 0)


def test_a_folder_gets_a_file_each_time(tmp_path: Path) -> None:
    first, _ = note_heads(tmp_path, [head(1)], NOON)
    second, _ = note_heads(tmp_path, [head(2)], NOON.replace(hour=13))
    assert first != second
    assert note_heads(tmp_path, [head(2)], NOON)[1] == 0
    assert read_heads(tmp_path) == ([head(1), head(2)], 0)


def test_a_line_that_was_cut_short_spoils_none_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    note_heads(path, [head(1)], NOON)
    with path.open("a") as file:
        file.write('{"at":"2026')
    note_heads(path, [head(2)], NOON)
    assert read_heads(path) == ([head(1), head(2)], 1)


@pytest.mark.parametrize("line", ["{}", '{"organization":"a","number":"x","digest":""}', "[{}"])
def test_what_is_no_note_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "heads.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(InvalidInput, match="line 1"):
        read_heads(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="nowhere"):
        read_heads(tmp_path / "nowhere")
