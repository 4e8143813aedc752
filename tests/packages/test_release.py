"""What stands against a release is found before anything is built."""

import shutil
import subprocess
from pathlib import Path

import pytest

from minutebook import __version__
from tests.test_guides import ROOT
from tools.packages.release import problems

pytestmark = pytest.mark.whole

FILES = (
    "pyproject.toml",
    "requirements.lock",
    "README.md",
    "deploy/compose.yaml",
    "src/minutebook/__init__.py",
)


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of which the version can be released: ours, with addresses."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    replace(tmp_path / "pyproject.toml", "minutebook.example/", "minutebook.dev/")
    replace(tmp_path / "README.md", "mcp-name: example.minutebook/", "mcp-name: dev.minutebook/")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "project: begin")
    return tmp_path


def test_a_project_that_is_ready_has_no_problem(project: Path) -> None:
    assert list(problems(project, __version__)) == []


def test_this_project_has_no_address_yet() -> None:
    found = list(problems(ROOT, __version__))
    assert any("belongs to nobody" in each for each in found)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("deploy/compose.yaml", f"minutebook:{__version__}", "minutebook:0.0.1", "another image"),
        ("pyproject.toml", "minutebook.dev/issues", "localhost/issues", "belongs to nobody"),
        ("README.md", "dev.minutebook/", "dev.another/", "another mcp-name"),
        (
            "pyproject.toml",
            '"click>=8.4",',
            '"click>=8.4",\n    "Nobody_s.Package[x]>1",',
            "nobody-s-package",
        ),
    ],
)
def test_each_problem_is_found(project: Path, name: str, old: str, new: str, problem: str) -> None:
    replace(project / name, old, new)
    git(project, "commit", "--all", "--quiet", "--message", "project: spoil it")
    [found] = problems(project, __version__)
    assert problem in found


def test_a_file_that_is_not_committed_and_a_tag_that_is_there_are_found(project: Path) -> None:
    (project / "notes.txt").touch()
    git(project, "tag", f"v{__version__}")
    untidy, tagged = problems(project, __version__)
    assert "notes.txt" in untidy
    assert "is there already" in tagged


def test_another_version_must_be_entered_in_each_place(project: Path) -> None:
    found = list(problems(project, "9.0.0"))
    for word, each in zip(("__init__", "compose"), found, strict=True):
        assert word in each
    assert "is no version" in next(problems(project, "latest"))
