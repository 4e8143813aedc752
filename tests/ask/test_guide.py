"""The guide for programs says what is so."""

from pathlib import Path

import pytest

from minutebook.ask import Minutebook
from tests.features.http.speaking import Server, token
from tests.guide_examples import parts, run_examples


@pytest.mark.whole
def test_the_examples_print_what_the_guide_shows(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "none")
    monkeypatch.setenv("MINUTEBOOK_TOKEN", token(server.home, "guide").secret)
    page = parts()[0].replace("https://memory.example.org", server.url)
    assert run_examples(page, {}) == 7


def test_the_guide_names_every_method() -> None:
    page = parts()[0]
    for name in vars(Minutebook):
        assert name.startswith("_") or name == "close" or f"{name}(" in page, name
