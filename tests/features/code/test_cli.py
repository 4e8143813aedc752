"""Code at the command line: indexed, found, listed, forgotten."""

import json
import os
from pathlib import Path

import pytest

from tests.terminal import Run


@pytest.fixture
def kettle(tmp_path: Path) -> Path:
    root = tmp_path / "my kettle"
    root.mkdir()
    (root / "boil.py").write_text("class Kettle:\n    def boil(self):\n        return 100\n")
    (root / ".gitignore").write_text("notes.txt\n")
    (root / "notes.txt").write_text("boil\n")
    return root


def test_code_is_indexed_found_listed_and_forgotten(run: Run, kettle: Path) -> None:
    indexed = run("index", str(kettle))
    assert indexed.exit_code == 0, indexed.output
    assert "my kettle: 1 file, 2 chunks, 2 of them new." in indexed.output
    assert "Left out: 1 hidden, 1 ignored." in indexed.output
    found = run("code", "Kettle.boil").output
    assert "my kettle/boil.py:2  Kettle.boil" in found
    assert "     2      def boil(self):" in found
    assert "my kettle  completed 100%  1 file, 2 chunks" in run("code").output
    assert "Forgot my kettle and its 2 chunks." in run("code", "--delete", "my kettle").output
    nothing = "No project is indexed; run `minutebook index`."
    assert nothing in run("code").output
    assert nothing in run("code", "boil").output


def test_the_folder_one_is_in_is_indexed_by_default(
    run: Run, kettle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kettle)
    shape = json.loads(run("index", "--json").stdout)
    assert (shape["id"], shape["chunks"], shape["chunks_created"]) == ("my kettle", 2, 2)
    (first, *_) = json.loads(run("code", "boil", "--json").stdout)
    assert (first["chunk"]["path"], first["chunk"]["language"]) == ("boil.py", "python")
    assert json.loads(run("code", "--json").output)[0]["part"] == 1.0
    assert "boil.py:1" in run("code", "Kettle").output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("index", "gone"), "gone does not exist"),
        (("index", "/proc"), "/proc is a place for secrets"),
        (("code", "--delete", "p"), "there is no project p"),
        (("code", "x", "--delete", "p"), "--delete goes with no QUERY"),
        (("code", "--project", "p"), "QUERY is needed"),
        (("code", " "), "QUERY must not be empty"),
        (("code", "x", "--project", "p"), "there is no project p"),
    ],
)
@pytest.mark.usefixtures("begun")
def test_what_cannot_be_indexed_or_found_is_a_sentence(
    run: Run, arguments: tuple[str, ...], sentence: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == 1
    assert sentence in result.stderr


def test_the_allowed_roots_are_read_from_every_place(
    run: Run, kettle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = f"{kettle} is outside the allowed roots"
    monkeypatch.setenv("MINUTEBOOK_INDEX_ROOTS", os.pathsep.join([str(tmp_path / "a"), "~/b"]))
    assert refused in run("index", str(kettle)).stderr
    monkeypatch.delenv("MINUTEBOOK_INDEX_ROOTS")
    (tmp_path / "home").mkdir(exist_ok=True)
    config = tmp_path / "home" / "config.toml"
    config.write_text(f'index_roots = ["{tmp_path / "a"}"]\n')
    assert refused in run("index", str(kettle)).stderr
    config.write_text(f'index_roots = ["{tmp_path}"]\n')
    assert run("index", str(kettle)).exit_code == 0
    config.write_text("index_roots = 7\n")
    assert "index_roots must be a list of folders" in run("index", str(kettle)).stderr
