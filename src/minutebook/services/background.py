"""What an open app does by itself: make missing vectors, end work left half done, back up and tidy by schedule, sign the trail."""

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from minutebook.domain.caller import Caller, in_call
from minutebook.domain.counts import count_of
from minutebook.domain.errors import EmbeddingError, MinutebookError, StoreClosed, StoreError
from minutebook.embedding import Embedding
from minutebook.services.access.signing import HeadSigning
from minutebook.services.code.projects import Projects, stopping
from minutebook.services.embeddings import Embeddings
from minutebook.services.ledger.repositories import Ledgers
from minutebook.services.maintenance.scheduled_backups import ScheduledBackups
from minutebook.services.tidying.rounds import Rounds

log = logging.getLogger(__name__)

INTERVAL = 60.0
"""Seconds between two looks for records without vectors, and between two tries at a stopped store."""


SCHEDULE = "schedule"
"""The name under which the trail has what nobody asked for: backups, signatures, what rules applied."""

RETRY = 3600.0
"""Seconds after a failed round before the next is tried."""


class BackgroundWork:
    """Threads of an app, from `start` until the event `stop` is set and `embeddings` notified.

    `caller` is whose process it is; backups, signatures and rounds are made in its name, as SCHEDULE.
    """

    def __init__(
        self,
        embedding: Embedding,
        embeddings: Embeddings,
        ledgers: Ledgers,
        projects: Projects,
        backups: ScheduledBackups,
        rounds: Rounds,
        signing: HeadSigning,
        caller: Caller,
        stop: threading.Event,
        interval: float = INTERVAL,
    ) -> None:
        self._embedding = embedding
        self._embeddings = embeddings
        self._ledgers = ledgers
        self._projects = projects
        self._backups = backups
        self._rounds = rounds
        self._signing = signing
        self._caller = replace(caller, name=SCHEDULE)
        self._stop = stop
        self._interval = interval
        self._warned = ""

    def start(self) -> None:
        """Load the model, then begin the threads."""
        self._embedding.start()
        self._run("vectors", self._embed_missing)
        self._run("resume", self._resume)
        if self._backups.state().next_at is not None:
            self._run("backups", self._back_up)
        if self._rounds.every is not None:
            self._run("tidy", self._tidy)
        if self._signing.is_on:
            self._run("signatures", self._sign)

    def _run(self, name: str, work: Callable[[], None]) -> None:
        threading.Thread(target=work, name=name, daemon=True).start()

    def _embed_missing(self) -> None:
        """Embed what was stored without vectors, again and again; reload a model that failed."""
        while not self._stop.is_set():
            try:
                self._embedding.wait(timeout=None)
                # A project has its vectors long before the last text has its token states.
                if done := self._embeddings.backfill(self._stop, self._projects.settle):
                    log.info("embedded %s", count_of(done, "text"))
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

    def _back_up(self) -> None:
        """Make the backups of the schedule when they are due; not first, when others wait for answers."""
        while not self._stop.wait(self._interval):
            try:
                if made := self._backups.run_if_due(self._caller):
                    log.info("backed up %s", count_of(made.size, "byte"))
            except StoreClosed:
                log.debug("the database is stopped; the backup waits until it is started")
            except MinutebookError as error:
                log.warning("the scheduled backup failed: %s", error)

    def _sign(self) -> None:
        """Sign the trails that have grown, each minute."""
        while not self._stop.wait(self._interval):
            try:
                for each in self._signing.sign(self._caller):
                    self._warn_once(
                        f"the trail of {each.organization} is not signed any more: "
                        f"entry {each.broken.number}: {each.broken.reason}"
                    )
            except StoreClosed:
                log.debug("the database is stopped; signatures wait until it is started")
            except MinutebookError as error:
                self._warn_once(f"the trail cannot be signed: {error}")

    def _tidy(self) -> None:
        """Look for what is to be tidied when it is due; not first, when others wait for answers."""
        pause = self._interval
        while not self._stop.wait(pause):
            pause = self._interval
            caller = in_call(self._caller, progress=stopping(self._stop))
            try:
                if (done := self._rounds.run_if_due(caller)) is not None:
                    log.info("tidied: %s", count_of(done.found.total(), "new suggestion"))
            except StoreClosed:
                log.debug("the database is stopped; tidying waits until it is started")
            except MinutebookError as error:
                if self._stop.is_set():
                    return
                log.warning("tidying by schedule failed: %s", error)
                pause = RETRY
