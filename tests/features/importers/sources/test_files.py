"""Files of a source are read whatever they are: bounded, and never what a link leads to."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.importers.sources.reading import damaged, files
from minutebook.features.importers.sources.reading.damaged import values_in
from minutebook.features.importers.sources.reading.files import ImportSource
from minutebook.record.control_characters import cleaned
from minutebook.record.errors import InvalidInput
from minutebook.record.writing.source_drafts import UnreadPart


def every(path: object) -> bool:
    return True


def test_a_link_is_left_out_and_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.jsonl").write_text("{}")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "own.jsonl").write_text("{}")
    (inside / "file.jsonl").symlink_to(tmp_path / "outside" / "secret.jsonl")
    (inside / "folder").symlink_to(tmp_path / "outside")
    os.mkfifo(inside / "pipe.jsonl")
    source = ImportSource(inside, every)
    assert [each.name for each in source.files] == ["own.jsonl"]
    assert sorted(each.reason.split()[-1] for each in source.left_out) == [
        "file",
        "folder",
        "folder",
    ]


def test_a_file_that_became_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("{}")
    source = ImportSource(tmp_path, every)
    (tmp_path / "a").rename(tmp_path.parent / "elsewhere")
    (tmp_path / "a").symlink_to(tmp_path.parent / "elsewhere")
    (told,) = source.objects(source.files[0])
    assert isinstance(told, UnreadPart)


def test_a_line_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 10)
    (tmp_path / "a").write_bytes(b"{}\n" + b"x" * 3_000_000 + b"\n{}\n")
    source = ImportSource(tmp_path, every)
    told = list(source.objects(source.files[0]))
    assert [isinstance(each, UnreadPart) for each in told] == [False, True, False]
    assert source.part == 1.0


def test_a_document_too_large_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST_DOCUMENT", 10)
    (tmp_path / "a").write_bytes(b" " * 11)
    source = ImportSource(tmp_path, every)
    assert isinstance(source.document(source.files[0]), UnreadPart)


def test_nothing_at_the_path_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="must exist"):
        ImportSource(tmp_path / "nowhere", every)


@pytest.mark.parametrize(
    ("text", "clean"), [("ä\ud800b", "ä�b"), ("a\0b", "a�b"), ("ok \x1b[1m", "ok \x1b[1m")]
)
def test_what_not_every_engine_keeps_is_replaced(text: str, clean: str) -> None:
    assert cleaned(text) == clean


A, B, CUT = (
    '{"type": "a", "n": {"x": 1}}',
    '{"type": "b"}',
    '{"type": "c", "n": {"type": "d"}, "t": "cu',
)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (A + B, "ab"),
        (A + " " + B + "\r", "ab"),
        (CUT + A, "-a"),
        (A + CUT, "a-"),
        (CUT + A + CUT + B, "-a-b"),
        ("\0\0\0" + A, "-a"),
        (A + "\0\0", "a-"),
        ("]" + A, "-a"),
        (A[1:] + B, "--b"),
        (CUT, "-"),
        ('{"type": "c", "n": {"x": 1}' + B, "-b"),
        ('{"type": "c", "t": "caf\udcc3' + A, "-a"),
        ('{"type": "c", "t": "caf\udcc3"}' + A, "-a"),
        ('{"type": "c", "n": NaN}' + A, "-a"),
    ],
)
def test_of_a_damaged_line_what_is_whole_is_read(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "a").write_bytes(f"{line}\n{B}\n".encode("utf-8", "surrogateescape"))
    source = ImportSource(tmp_path, every)
    source.fields = ("type",)
    read = [
        "-" if isinstance(e, UnreadPart) else e[1]["type"] for e in source.objects(source.files[0])
    ]
    assert "".join(read) == told + "b"


@pytest.mark.parametrize(
    "line",
    [
        "{" * 1_000_000,
        '{"a":' * 500_000,
        '{"a"' * 500_000,
        '{"a":[' + '{"b":1},' * 300_000,
        '{"a":[' + '{"b":[{"c":1},' * 100_000,
        '{"a":"' + '{"b":"' * 300_000 + "x",
        '{"a":"' + '{\\"' * 300_000,
        '{"a":1}x' * 200_000,
    ],
    ids=range(8),
)
def test_hostile_lines_are_read_in_linear_time(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = CountingDecoder()
    monkeypatch.setattr(damaged, "DECODER", counted)
    found = list(values_in(line, ("type",)))
    assert not all(each.is_whole for each in found)
    assert counted.read < 20 * len(line) + 200_000


class CountingDecoder(json.JSONDecoder):
    """Counts the characters that it reads, at most."""

    read = 0

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        try:
            value, end = super().raw_decode(s, idx)
        except RecursionError:
            self.read += 10_000
            raise
        except json.JSONDecodeError as error:
            self.read += len(s) if error.msg.startswith("Unterminated") else error.pos
            raise
        self.read += end - idx
        return value, end
