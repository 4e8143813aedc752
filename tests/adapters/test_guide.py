"""The examples of the adapters in the guide for programs."""

import os
import sys
from pathlib import Path

import pytest

from minutebook import open_memory
from tests.adapters.conftest import library
from tests.guide_examples import GUIDE, parts, run_examples

for each in ("anthropic", "agents", "langgraph"):
    library(each)


def test_the_examples_print_what_the_guide_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "none")
    names = {"open_memory": open_memory, "asyncio": asyncio}
    try:
        assert run_examples(parts()[1], names) == 3
    finally:
        names["memory"].close()  # type: ignore[attr-defined]


def test_an_agent_framework_uses_the_server_as_the_recipe_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path))
    recipe = GUIDE.parent.parent / "recipes" / "agent-frameworks.md"
    assert run_examples(recipe.read_text("utf-8"), {}) == 1
