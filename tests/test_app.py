"""An app is opened whole or not at all."""

import logging
import threading
from functools import partial
from pathlib import Path

import pytest

import minutebook
from minutebook.app import open_app
from minutebook.config import Settings, settings_with
from minutebook.config.places import data_directory
from minutebook.record.errors import InvalidInput
from minutebook.record.records import Role
from minutebook.serve.app_loader import AppLoader
from tests.world import wait_until


@pytest.mark.needs("ledger")
def test_an_app_that_cannot_be_opened_leaves_nothing_open(tmp_path: Path) -> None:
    settings = settings_with(
        home=tmp_path / "home", embedder="none", role=Role.ADMIN, agent_memory_secret="short"
    )
    # The error at hand holds on to all that was made before it.
    with pytest.raises(InvalidInput, match="at least 8") as failure:
        open_app(settings)
    with data_directory(settings).alone():
        assert failure.traceback


@pytest.mark.parametrize(
    "half", [{"summary_url": "http://localhost:1"}, {"embedder": "endpoint", "endpoint_model": "m"}]
)
@pytest.mark.needs("models")
def test_half_a_setting_is_refused_before_anything_is_opened(
    tmp_path: Path, half: dict[str, str]
) -> None:
    home = tmp_path / "home"
    with pytest.raises(InvalidInput, match="as well"):
        AppLoader(settings_with(home=home, **half))
    assert not home.exists()


def _has_started(thread: threading.Thread) -> bool:
    return thread.is_alive() or thread not in threading.enumerate()


def warned(settings: Settings, caplog: pytest.LogCaptureFixture) -> list[str]:
    """What an app of these settings warns of, in all that it does in the background."""
    before = set(threading.enumerate())
    app = open_app(settings)
    app.start()
    app.embedding.settle(10)
    app.close()
    for thread in set(threading.enumerate()) - before:
        # One that is about to start is listed too, and cannot be joined yet.
        wait_until(partial(_has_started, thread))
        thread.join(60)
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


def test_whoever_wants_no_model_is_not_warned_that_there_is_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert not warned(settings_with(home=tmp_path, embedder="none"), caplog)


@pytest.mark.needs("models")
def test_a_model_that_cannot_be_had_is_warned_of_in_a_sentence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (warning,) = warned(settings_with(home=tmp_path, embedder=str(tmp_path / "no model")), caplog)
    assert warning.startswith("searching by meaning is off: the embedding model failed to load: ")
    assert "holds no model" in warning
    assert "EmbeddingNotReady" not in warning


def test_what_stands_above_the_app_uses_its_services_alone() -> None:
    package = Path(minutebook.__file__).parent
    above = [
        path for name in ("cli", "contracts", "server") for path in (package / name).rglob("*.py")
    ]
    assert above
    assert [str(path) for path in above if ".infrastructure" in path.read_text("utf-8")] == []
