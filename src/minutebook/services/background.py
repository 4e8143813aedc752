"""What an open app does by itself: make vectors that are missing, end work that was left half done."""

import logging
import threading
from collections.abc import Callable

from minutebook.domain.errors import EmbeddingError, StoreClosed, StoreError
from minutebook.embedding import Embedding
from minutebook.services.code.projects import Projects, stopping
from minutebook.services.embeddings import Embeddings
from minutebook.services.ledger.repositories import Ledgers

log = logging.getLogger(__name__)

INTERVAL = 60.0
"""Seconds between two looks for records without vectors, and between two tries at a stopped store."""


class BackgroundWork:
    """Two threads of an app, from `start` until the event `stop` is set and `embeddings` notified."""

    def __init__(
        self,
        embedding: Embedding,
        embeddings: Embeddings,
        ledgers: Ledgers,
        projects: Projects,
        stop: threading.Event,
        interval: float = INTERVAL,
    ) -> None:
        self._embedding = embedding
        self._embeddings = embeddings
        self._ledgers = ledgers
        self._projects = projects
        self._stop = stop
        self._interval = interval
        self._warned = ""

    def start(self) -> None:
        """Load the model, then begin both threads."""
        self._embedding.start()
        self._run("vectors", self._embed_missing)
        self._run("resume", self._resume)

    def _run(self, name: str, work: Callable[[], None]) -> None:
        threading.Thread(target=work, name=name, daemon=True).start()

    def _embed_missing(self) -> None:
        """Embed what was stored without vectors, again and again; reload a model that failed."""
        while not self._stop.is_set():
            try:
                self._embedding.wait(timeout=None)
                # A project has its vectors long before the last text has its token states.
                if done := self._embeddings.backfill(self._stop, self._projects.settle):
                    log.info("embedded %d texts", done)
                self._projects.settle()
            except EmbeddingError as error:
                # A user who chose to have no model need not be told, and nothing is loaded again.
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

    def _resume(self) -> None:
        """Bring ledgers and projects to the end of what an earlier process began; once."""
        while not self._stop.is_set():
            try:
                self._ledgers.recover()
                self._projects.resume(stopping(self._stop))
            except StoreClosed:
                # Stopped, perhaps for long; what is half done waits for the start.
                self._stop.wait(self._interval)
                continue
            except StoreError as error:
                log.warning("cannot go on with what was left half done: %s", error)
            return
