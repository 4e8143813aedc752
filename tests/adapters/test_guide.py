"""The examples of the adapters in the guide for programs."""

from pathlib import Path

import pytest

from minutebook import open_memory
from tests.adapters.conftest import library
from tests.guide_examples import parts, run_examples

for each in ("anthropic", "agents", "langchain_core", "langgraph", "llama_index", "pydantic_ai"):
    library(each)


def test_the_examples_print_what_the_guide_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "none")
    names = {"open_memory": open_memory, "asyncio": asyncio}
    try:
        assert run_examples(parts()[1], names) == 7
    finally:
        names["memory"].close()  # type: ignore[attr-defined]
