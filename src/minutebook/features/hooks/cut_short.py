"""Sessions that ended without an event: their client was killed, or no daemon was there to take the event.

The log of hooks has the client's process and the transcript, so that a daemon that starts later finds them, too.
"""

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minutebook.config import load
from minutebook.features.hooks import log
from minutebook.features.hooks.answers import answer
from minutebook.features.hooks.capture import CAPTURED, NOTHING, transcript
from minutebook.features.hooks.early_hook import HANDED_OVER
from minutebook.features.hooks.events import read_event
from minutebook.memory.jobs import Job
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, MinutebookError

if TYPE_CHECKING:
    from minutebook.app import App

_CHECK_EVERY = 1.0
"""Seconds between two checks."""

_QUIET = 2.0
"""Seconds without a write after which a transcript counts as complete."""

_CAPTURE = "capture"


def jobs(app: "App") -> Iterable[Job]:
    """Yield the job that captures the sessions of clients that are gone."""
    last_stamp, waiting = None, list[Mapping[str, Any]]()
    path = app.settings.home / log.NAME

    def keep(caller: Caller) -> None:
        nonlocal last_stamp, waiting
        if (stamp := _stamp(path)) != last_stamp:
            last_stamp = stamp
            waiting = unfinished(log.entries(str(app.settings.home)))
        failed: MinutebookError | None = None
        for entry in waiting:
            try:
                if not _is_alive(entry["pid"]):
                    _keep(app, entry)
            except MinutebookError as error:
                failed = error
        if failed is not None:
            raise failed

    failing = "sessions cut short are not kept"
    yield Job("sessions cut short", keep, failing, every=_CHECK_EVERY, retry=_CHECK_EVERY)


def unfinished(entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the last entry of each session that was not captured since, if it names the client's process."""
    found: dict[object, Mapping[str, Any]] = {}
    for entry in entries:
        if entry.get("event") == _CAPTURE or entry.get("outcome") == HANDED_OVER:
            found.pop(entry.get("session"), None)
        elif _names_process(entry):
            found[entry.get("session")] = entry
    return list(found.values())


def _names_process(entry: Mapping[str, Any]) -> bool:
    return isinstance(entry.get("pid"), int) and isinstance(entry.get("options"), dict)


def _keep(app: "App", entry: Mapping[str, Any]) -> None:
    """Capture a session as if its client had sent the event of its end, and log the outcome; nothing is tried twice."""
    client, configuration = str(entry["client"]), entry.get("configuration")
    fields = {
        "hook_event_name": "SessionEnd",
        "session_id": entry["session"],
        "transcript_path": entry.get("transcript"),
        "cwd": entry.get("folder"),
    }
    folder = Path(configuration) if configuration else None
    settings = load(entry["options"], folder=str(entry.get("started_in", "")))
    if (settings.store, settings.database) != (app.settings.store, app.settings.database):
        return
    outcome = ""
    try:
        path = transcript(client, read_event(fields), folder)
        if time.time() - path.stat().st_mtime < _QUIET:
            return
    except (InvalidInput, FileNotFoundError):
        # There are no turns yet, or the path is not a transcript of this client.
        logged = NOTHING
    else:
        logged = outcome = answer(app, settings, client, fields, folder)[0].outcome
    if outcome not in (CAPTURED, NOTHING) and not outcome.startswith("failed"):
        # `capture` itself logs the outcomes that are left out here.
        home, session = str(app.settings.home), entry["session"]
        log.append(home, client=client, event=_CAPTURE, session=session, outcome=logged)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
