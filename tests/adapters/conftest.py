"""A memory in this process for the adapters; their libraries are installed by `make test-adapters`."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from minutebook.ask import Minutebook
from minutebook.ask.in_process import InProcess
from minutebook.record.origin import Origin
from tests.world import worlds

if "ADAPTERS" not in os.environ:
    # Without their libraries these would only be skipped; `make test-adapters` runs them.
    collect_ignore = [
        each.name for each in Path(__file__).parent.glob("test_*.py") if each.stem != "test_extras"
    ]


def library(name: str) -> None:
    """Skip the module that needs a library which is not installed; `make test-adapters` has them all."""
    if find_spec(name) is None and "ADAPTERS" not in os.environ:
        pytest.skip(f"{name} is not installed: make test-adapters", allow_module_level=True)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Minutebook]:
    """An empty memory, whose model knows words."""
    with worlds(tmp_path) as open_one:
        world = open_one(agent="bot")
        yield Minutebook(InProcess(world.app, world.caller, Origin(client="test")))
