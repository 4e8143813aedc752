from pathlib import Path

import pytest

from minutebook.config.machine import Places
from tests.features.install.installing import places


@pytest.fixture
def here(tmp_path: Path) -> Places:
    home, cwd = tmp_path / "zoë k", tmp_path / "my project"
    home.mkdir()
    cwd.mkdir()
    return places(home, cwd)
