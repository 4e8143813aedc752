"""The built-in model is derived once, by whoever comes first; all others wait for it and say so."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from minutebook.cli.sentences import sentence
from minutebook.domain.errors import EmbeddingNotReady, ModelUnavailable
from minutebook.domain.reason import Reason
from minutebook.embedding import Embedding
from minutebook.features.models.built_in import builtin, model_preparation
from minutebook.features.models.built_in.model_preparation import BuiltInModel
from minutebook.services.embeddings import Embeddings
from minutebook.store.file_locks import FileLocks
from tests.terminal import Run
from tests.world import World, wait_until


class Deriving:
    """Another process that derives the model into a folder: its lock, and how far it is."""

    def __init__(self, models: Path, made: Path) -> None:
        self.models = models
        self._made = builtin.folder_of(made)
        self._folder = models / model_preparation._FOLDER
        self._held = ExitStack()
        assert self._held.enter_context(FileLocks(self._folder).hold(model_preparation._LOCK))

    def is_at(self, part: float) -> None:
        (self._folder / "part").write_text(str(part))

    def ends(self) -> None:
        """With the model in its place."""
        self.clear()
        builtin.folder_of(self.models).symlink_to(self._made)
        self.dies()

    def damages(self) -> None:
        """Leave a model there whose word table has a flipped bit."""
        folder = builtin.folder_of(self.models)
        folder.mkdir()
        for path in self._made.iterdir():
            (folder / path.name).symlink_to(path)
        words = bytearray((self._made / builtin.WORDS).read_bytes())
        words[len(words) // 2] ^= 1
        (folder / builtin.WORDS).unlink()
        (folder / builtin.WORDS).write_bytes(words)

    def clear(self) -> None:
        """Take away what is there."""
        if builtin.folder_of(self.models).exists():
            builtin.folder_of(self.models).rename(self.models / "damaged")

    def dies(self) -> None:
        self._held.close()


@pytest.fixture
def other(tmp_path: Path, models: Path) -> Iterator[Deriving]:
    one = Deriving(tmp_path / "the models", models)
    yield one
    one.dies()


def embedding_of(models: Path) -> Embedding:
    model = BuiltInModel(models, None)
    return Embedding(model.open, builtin.MODEL, preparation=model)


def in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.thorough
def test_a_process_waits_for_the_one_that_derives_the_model(other: Deriving) -> None:
    embedding = embedding_of(other.models)
    assert embedding.prepared is None
    embedding.start()
    other.is_at(0.42)
    wait_until(lambda: embedding.prepared == 0.42)
    assert embedding.state == "loading"
    other.ends()
    embedding.wait(60)
    assert embedding.prepared is None
    assert embedding.embed_query("ready").vector.shape == (builtin.WIDTH,)


def test_what_is_there_is_opened_without_a_word(tmp_path: Path, models: Path) -> None:
    other = Deriving(tmp_path, models)
    other.ends()
    told: list[float] = []
    assert model_preparation.prepare(tmp_path, told.append) == builtin.folder_of(tmp_path)
    assert told == []


def test_who_gives_up_says_what_is_under_way(other: Deriving, world: World, tmp_path: Path) -> None:
    embedding = embedding_of(other.models)
    embedded = Embeddings(world.store, embedding, 1.5, FileLocks(tmp_path / "claims"))
    other.is_at(0.42)
    heard: list[str] = []
    with pytest.raises(EmbeddingNotReady) as refusal:
        embedded.embed_passage("Tea at five.", lambda part, what: heard.append(what))
    assert refusal.value.reason == "it is being prepared for its first use, 42% is done"
    assert heard[-1] == "the embedding model is being prepared, once"
    embedding.close()


def test_a_load_that_waits_for_another_process_ends_with_its_own(other: Deriving) -> None:
    embedding = embedding_of(other.models)
    embedding.start()
    wait_until(lambda: embedding.prepared is not None)
    embedding.close()
    assert embedding.state == "error"
    assert "goes on in the background" in embedding.reason


@pytest.mark.cold_start
def test_a_process_that_cannot_derive_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No Python starts with it.
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    with pytest.raises(ModelUnavailable) as refusal:
        model_preparation.prepare(tmp_path, lambda part: None)
    assert "ended with status 1" in refusal.value.reason
    assert "minutebook model prepare" in refusal.value.remedy
    assert not FileLocks(tmp_path / model_preparation._FOLDER).is_held(model_preparation._LOCK)


def test_a_folder_that_cannot_be_written_is_told_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file stands where the folder should")
    with pytest.raises(ModelUnavailable) as refusal:
        model_preparation.prepare(tmp_path / "models", lambda part: None)
    assert "cannot be written" in refusal.value.reason


@pytest.mark.thorough
def test_a_command_waits_and_says_what_for(
    run: Run, other: Deriving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "built-in")
    monkeypatch.setenv("MINUTEBOOK_MODELS", str(other.models))
    monkeypatch.setenv("MINUTEBOOK_EMBEDDING_WAIT", "8")
    done: list[object] = []
    command = in_background(lambda: done.append(run("remember", "Tea at five.")))
    # Longer than any call may wait for a model that only loads.
    command.join(9)
    assert not done
    other.ends()
    command.join()
    (result,) = done
    assert result.exit_code == 0, result.output  # type: ignore[attr-defined]
    said = result.stderr  # type: ignore[attr-defined]
    assert said == "The embedding model is being prepared for its first use; this is done once.\n"


def test_model_prepare_waits_for_another_process_too(
    run: Run, other: Deriving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_MODELS", str(other.models))
    done: list[object] = []
    command = in_background(lambda: done.append(run("model", "prepare")))
    command.join(0.5)
    other.ends()
    command.join()
    (result,) = done
    assert "The model is ready in" in result.stdout  # type: ignore[attr-defined]
    assert "first use" in result.stderr  # type: ignore[attr-defined]


@pytest.mark.thorough
def test_a_flipped_bit_in_the_word_table_is_found_by_the_doctor_and_mended_by_what_it_names(
    run: Run, other: Deriving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its size is looked at when the model is opened."""
    monkeypatch.setenv("MINUTEBOOK_MODELS", str(other.models))
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "built-in")
    other.damages()
    assert run("remember", "Tea at five.").exit_code == 0
    found = run("doctor")
    assert found.exit_code == 1
    assert f"{builtin.WORDS} is damaged" in found.stdout
    assert "run `minutebook model prepare`" in found.stdout
    done: list[object] = []
    command = in_background(lambda: done.append(run("model", "prepare")))
    command.join(0.5)
    assert not done
    other.ends()
    command.join()
    assert run("doctor").exit_code == 0


def test_a_model_that_is_not_ready_is_told_with_what_to_do() -> None:
    assert sentence(EmbeddingNotReady("loading", Reason(""))) == (
        "the embedding model is not ready: it is loading; try again soon"
    )
    assert sentence(EmbeddingNotReady("error", Reason("no wheel; fetch it"))) == (
        "the embedding model cannot be used: no wheel; fetch it"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are used")
def test_a_model_whose_first_command_was_interrupted_is_derived_all_the_same(
    tmp_path: Path,
) -> None:
    models = tmp_path / "models"
    variables = {"MINUTEBOOK_HOME": str(tmp_path / "home"), "MINUTEBOOK_MODELS": str(models)}
    command = [sys.executable, "-m", "minutebook", "remember"]
    first = subprocess.Popen(
        [*command, "one"], env={**os.environ, **variables}, stderr=subprocess.PIPE
    )
    wait_until(
        lambda: FileLocks(models / model_preparation._FOLDER).is_held(model_preparation._LOCK)
    )
    wait_until((models / model_preparation._FOLDER / "part").exists)
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 130, said
    others = [
        subprocess.Popen([*command, f"{number}"], env={**os.environ, **variables})
        for number in range(2)
    ]
    assert [each.wait(300) for each in others] == [0, 0]
    assert sorted(path.name for path in models.iterdir()) == [
        model_preparation._FOLDER,
        builtin.folder_of(models).name,
    ]
