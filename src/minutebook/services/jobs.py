"""The background jobs of an open app, which features add."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from minutebook.domain.caller import Caller, Progress
from minutebook.domain.errors import Conflict

INTERVAL = 60.0
"""Seconds between two tries of a job."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work in a thread of its own, in the app's caller's name as SCHEDULE.

    `run` is called each INTERVAL and decides itself whether something is due; that of a job that `is_once` is called at the
    start, and again only where the store was closed. After a failure the next try waits `retry` seconds.
    """

    name: str
    run: Callable[[Caller], None]
    failing: str
    """The failure as the log says it, such as "the scheduled backup failed"."""
    is_once: bool = False
    retry: float = INTERVAL


def stopping(stop: threading.Event) -> Progress:
    """Return a progress callback that raises Conflict once an event is set."""

    def progress(part: float, what: str) -> None:
        if stop.is_set():
            raise Conflict(what, "the server stops")

    return progress
