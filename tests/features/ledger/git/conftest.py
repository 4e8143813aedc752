"""Nobody's own Git settings count in these tests."""

from collections.abc import Iterator
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ConfigLevel

LEVELS = (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL)


@pytest.fixture(autouse=True)
def _nobody(tmp_path: Path) -> Iterator[None]:
    paths = pygit2.settings.search_path
    kept = {level: paths[level] for level in LEVELS}
    for level in LEVELS:
        paths[level] = str(tmp_path / "no settings")
    yield
    for level, path in kept.items():
        paths[level] = path
