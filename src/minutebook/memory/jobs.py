"""The background jobs of an open app, which features add, and how each went last."""

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
"""Seconds between two tries of a job."""

_HOUR = len("2026-01-31T12")
"""The characters of an instant up to its hour: how a job goes that goes on as it did is noted once in each."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work in a thread of its own, in the app's caller's name as SCHEDULE.

    `run` is called `every` so many seconds until the app stops, and decides itself whether something is due; where that is
    None, at once and until it succeeds. After a failure the next try waits `retry` seconds.
    """

    name: str
    run: Callable[[Caller], None]
    failing: str
    """The failure as the log says it, such as "the scheduled backup failed"."""
    every: float | None = INTERVAL
    retry: float = INTERVAL


@dataclass(frozen=True, slots=True)
class JobRun:
    """The instants at which a job last succeeded and last failed, as ISO 8601 in UTC, empty for never; the reason is a sentence."""

    job: str
    ran: str = ""
    failed: str = ""
    reason: str = ""

    @property
    def is_failing(self) -> bool:
        """Whether it did not come to its end since it failed."""
        return self.failed > self.ran


class JobRuns:
    """Notes how the jobs of a machine went in the store, for `doctor`, `today` and readiness.

    What cannot be written there is known to this process at least.
    """

    def __init__(self, marks: ProgramMarks, machine: str, clock: Clock) -> None:
        self._marks = marks
        self._prefix = f"job {machine} "
        self._clock = clock
        self._known: dict[str, JobRun] = {}
        self._written: dict[str, JobRun] = {}

    def note(self, job: str, failure: str = "") -> None:
        """Note that a job came to its end, or why it failed."""
        now = self._clock().isoformat()
        before = self._known.get(job, JobRun(job))
        run = replace(before, failed=now, reason=failure) if failure else replace(before, ran=now)
        self._known[job] = run
        written = self._written.get(job)
        if written is None or (run.is_failing, run.reason, now[:_HOUR]) != (
            *(written.is_failing, written.reason),
            max(written.ran, written.failed)[:_HOUR],
        ):
            self._put(job, asdict(run))
            self._written[job] = run

    def forget_others(self, jobs: Collection[str]) -> None:
        """Forget how jobs went that this machine has no more."""
        for name in self._runs().keys() - set(jobs):
            self._put(name, {})

    def failing(self) -> list[JobRun]:
        """Return the jobs that failed when they were tried last, by name."""
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
