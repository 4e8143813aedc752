"""An app is opened whole or not at all."""

from pathlib import Path

import pytest

from minutebook.app import alone_in, open_app
from minutebook.config import Settings
from minutebook.domain.errors import InvalidInput
from minutebook.domain.records import Role
from minutebook.server.opening import Opening


def test_an_app_that_cannot_be_opened_leaves_nothing_open(tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path / "home", embedder="none", role=Role.ADMIN, agent_memory_secret="short"
    )
    # The error at hand holds on to all that was made before it.
    with pytest.raises(InvalidInput, match="at least 8") as failure:
        open_app(settings)
    with alone_in(settings):
        assert failure.traceback


@pytest.mark.parametrize(
    "half", [{"summary_url": "http://localhost:1"}, {"embedder": "endpoint", "endpoint_model": "m"}]
)
def test_half_a_setting_is_refused_before_anything_is_opened(
    tmp_path: Path, half: dict[str, str]
) -> None:
    home = tmp_path / "home"
    with pytest.raises(InvalidInput, match="as well"):
        Opening(Settings(home=home, **half))  # type: ignore[arg-type]
    assert not home.exists()
