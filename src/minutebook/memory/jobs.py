"""The background jobs of an open app, which features add, and the last run and failure of each."""

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace

from minutebook.memory.access.visibility import Clock
from minutebook.record.caller import Caller, Progress
from minutebook.record.errors import Conflict, StoreError
from minutebook.record.records import SYSTEM_ORGANIZATION
from minutebook.store.sql.change_feed import ProgramMarks

log = logging.getLogger(__name__)

INTERVAL = 60.0
"""Seconds between two runs of a job."""

_HOUR = len("2026-01-31T12")
"""The characters of an instant up to its hour: an unchanged outcome of a job is stored once an hour."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work in a separate thread, by an actor with the name SCHEDULE.

    `run` is called each `every` seconds until the app stops, and decides itself whether something is due. If `every` is
    None, it is called at once, until it succeeds. After a failure the next try waits `retry` seconds.
    """

    name: str
    run: Callable[[Caller], None]
    failing: str
    """The failure in the words of the log, such as "the scheduled backup failed"."""
    every: float | None = INTERVAL
    retry: float = INTERVAL


@dataclass(frozen=True, slots=True)
class JobRun:
    """The instants at which a job last succeeded (`ran`) and last failed, in ISO 8601 and UTC, empty for never; `reason` is a sentence."""

    job: str
    ran: str = ""
    failed: str = ""
    reason: str = ""

    @property
    def is_failing(self) -> bool:
        """Whether the job has not succeeded since it failed."""
        return self.failed > self.ran


class JobRuns:
    """Stores the last run and failure of each job of a machine, for `doctor`, `today` and readiness.

    If the store cannot be written, this process still knows them.
    """

    def __init__(self, marks: ProgramMarks, machine: str, clock: Clock) -> None:
        self._marks = marks
        self._prefix = f"job {machine} "
        self._clock = clock
        self._known: dict[str, JobRun] = {}
        self._written: dict[str, JobRun] = {}

    def note(self, job: str, failure: str = "") -> None:
        """Note that a job succeeded, or in `failure` why it failed; store that if it is news, else once an hour."""
        now = self._clock().isoformat()
        before = self._known.get(job, JobRun(job))
        run = replace(before, failed=now, reason=failure) if failure else replace(before, ran=now)
        self._known[job] = run
        written = self._written.get(job, JobRun(job))
        is_news = (run.is_failing, run.reason) != (written.is_failing, written.reason)
        if is_news or now[:_HOUR] != max(written.ran, written.failed)[:_HOUR]:
            self._put(job, asdict(run))
            self._written[job] = run

    def forget_others(self, jobs: Collection[str]) -> None:
        """Remove the stored runs of jobs that this machine no longer has."""
        for name in self._runs().keys() - set(jobs):
            self._put(name, {})

    def failing(self) -> list[JobRun]:
        """Return the runs of the jobs that failed when they ran last, sorted by name."""
        found = self._runs() | self._known
        return [found[name] for name in sorted(found) if found[name].is_failing]

    def _runs(self) -> dict[str, JobRun]:
        try:
            noted = self._marks.marks_of(SYSTEM_ORGANIZATION)
        except StoreError:
            return {}
        return {
            each["job"]: JobRun(**each)
            for name, each in noted.items()
            if name.startswith(self._prefix)
        }

    def _put(self, job: str, noted: Mapping[str, str]) -> None:
        try:
            self._marks.put(SYSTEM_ORGANIZATION, self._prefix + job, noted)
        except StoreError as error:
            log.info("how the job %s went is not noted: %s", job, error)


def stopping(stop: threading.Event) -> Progress:
    """Return a progress callback that raises Conflict once an event is set."""

    def progress(part: float, what: str) -> None:
        if stop.is_set():
            raise Conflict(what, "the server stops")

    return progress
