"""What every test needs: no setting of the person's own, and Hypothesis without a clock."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.config import load
from minutebook.config.models import open_embedding
from minutebook.feature import features
from minutebook.model import Embedding
from tests import cheap_secret, examples, forkserver
from tests.empty_database import empty_database
from tests.terminal import Run, typed
from tests.world import Opener, World, worlds

examples.register()

OF_FEATURES = {
    "built_in": "models",
    "postgres": "postgres",
}
"""The features without which a fixture cannot be made."""


def pytest_configure() -> None:
    for name in [name for name in os.environ if name.startswith("MINUTEBOOK_")]:
        del os.environ[name]
    # Servers of tests keep to themselves, but for those of tests/serve/daemon/test_process.py.
    os.environ["MINUTEBOOK_DAEMON"] = "off"
    # The folder of these tests has a history of its own.
    os.environ["MINUTEBOOK_INDEX_HISTORY"] = "0"
    forkserver.install()
    cheap_secret.install()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that need a feature that is not there."""
    there = {each.name for each in features()}
    left_out = [each for each in items if not there.issuperset(_needed(each))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [each for each in items if each not in left_out]


def _needed(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("needs"):
        yield from mark.args
    for fixture in getattr(item, "fixturenames", ()):
        if fixture in OF_FEATURES:
            yield OF_FEATURES[fixture]


def pytest_collection_finish() -> None:
    """Keep what was imported and collected out of the garbage collector's way."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    forkserver.server.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Start the processes of a test fresh where it is about the start."""
    if item.get_closest_marker("cold_start") is None:
        return (yield)
    with forkserver.suspended():
        return (yield)


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[Opener]:
    """What opens worlds in a folder of the test's own."""
    with worlds(tmp_path) as open_one:
        yield open_one


@pytest.fixture
def world(opener: Opener) -> World:
    """A world whose model is ready, as an agent with no scope meets it."""
    return opener()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A way to run commands on a store of their own, without a model."""
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "none")
    monkeypatch.setenv("MINUTEBOOK_LOG_LEVEL", "error")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return typed


@pytest.fixture
def begun(run: Run, tmp_path: Path) -> Run:
    """The same, on a store that is there and holds nothing."""
    empty_database(tmp_path / "home" / "minutebook.db")
    return run


@pytest.fixture(scope="session")
def postgres() -> None:
    """A server of PostgreSQL; modules that ask for it run in one process, so that few are started."""
    from tests.features.postgres.server import server

    server()


@pytest.fixture(scope="session")
def built_in() -> Embedding:
    """The model in the box."""
    embedding = open_embedding(load({}))
    embedding.wait(60)
    return embedding
