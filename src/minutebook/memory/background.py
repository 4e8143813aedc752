"""The background work of an open app: embedding records without vectors, and the jobs of features."""

import logging
import threading
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from minutebook.memory.embeddings import Embeddings
from minutebook.memory.jobs import INTERVAL, Job, JobRuns, stopping
from minutebook.model import Embedding
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import EmbeddingError, MinutebookError, StoreClosed, StoreError
from minutebook.record.reason import count_of, os_error_reason

log = logging.getLogger(__name__)

SCHEDULE = "schedule"
"""The actor on the trail of acts that nobody asked for: backups, signatures, applied rules."""


class BackgroundWork:
    """Threads of an app, from `start` until the event `stop` is set and `embeddings` notified.

    Jobs run with the rights of `caller`, who started the process, under the name SCHEDULE.
    """

    def __init__(
        self,
        embedding: Embedding,
        embeddings: Embeddings,
        caller: Caller,
        stop: threading.Event,
        jobs: Iterable[Job],
        runs: JobRuns,
        interval: float = INTERVAL,
    ) -> None:
        self._embedding = embedding
        self._embeddings = embeddings
        self._jobs = tuple(jobs)
        self._runs = runs
        self._caller = with_call(replace(caller, name=SCHEDULE), progress=stopping(stop))
        self._stop = stop
        self._interval = interval
        self._warned = ""

    def start(self) -> None:
        """Load the model, then begin the threads."""
        self._embedding.start()
        self._run("vectors", self._embed_missing)
        self._runs.forget_others({each.name for each in self._jobs})
        for job in self._jobs:
            self._run(job.name, partial(self._repeat, job))

    def _run(self, name: str, work: Callable[[], None]) -> None:
        threading.Thread(target=work, name=name, daemon=True).start()

    def _embed_missing(self) -> None:
        """Embed texts stored without vectors, again and again; reload a model that failed."""
        while not self._stop.is_set():
            try:
                self._embedding.wait(timeout=None)
                if done := self._embeddings.backfill(self._stop):
                    log.info("embedded %s", count_of(done, "text"))
            except EmbeddingError as error:
                # If the user chose to have no model, there is nothing to warn of or load again.
                if not self._embedding.is_off:
                    self._warn_once(f"searching by meaning is off: {error}")
                    self._embedding.start()
            except StoreClosed:
                log.debug("the database is stopped; vectors wait until it is started")
            except StoreError as error:
                log.warning("cannot catch up with vectors now: %s", error)
            self._embeddings.wait(self._interval)

    def _warn_once(self, sentence: str) -> None:
        if sentence != self._warned:
            self._warned = sentence
            log.warning("%s", sentence)

    def _repeat(self, job: Job) -> None:
        """Run a job at its intervals until the app stops, or, if it has none, at once until it succeeds.

        After any error it is tried again, for a thread that ended would do nothing as long as the app lives.
        """
        every = 0.0 if job.every is None else min(job.every, self._interval)
        pause, failed = every, ""
        while not self._stop.wait(pause):
            pause = every or self._interval
            try:
                job.run(self._caller)
            except StoreClosed:
                # The database may stay stopped for long; the job waits until it is started.
                log.debug("the database is stopped; %s waits until it is started", job.name)
                continue
            except MinutebookError as error:
                reason = str(error)
            except Exception as error:  # noqa: BLE001 - noted and logged; its own words may quote content
                reason = _fault(error)
            else:
                failed = ""
                self._runs.note(job.name)
                if job.every is None:
                    return
                continue
            if self._stop.is_set():
                return
            if reason != failed:
                log.warning("%s: %s", job.failing, reason)
            failed, pause = reason, job.retry
            self._runs.note(job.name, f"{job.failing}: {reason}")


def _fault(error: Exception) -> str:
    """Return a sentence for an unexpected error: the cause of one of the operating system, the place of any other."""
    if isinstance(error, OSError):
        return os_error_reason(error.filename or "a file", error)
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"a fault of the program, {type(error).__name__} at {Path(at.filename).name}:{at.lineno}"
