"""Sessions that ended without a word: their client was killed, or no daemon was there when it said so.

The log of hooks names the client's process and the transcript, so a daemon that began later finds them, too.
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

_EACH = 1.0
"""Seconds between two looks."""

_QUIET = 2.0
"""Seconds for which nothing was written into a transcript that is over."""

_CAPTURE = "capture"


def jobs(app: "App") -> Iterable[Job]:
    """Yield the job that keeps the sessions of clients that are gone."""
    seen, waiting = None, list[Mapping[str, Any]]()
    path = app.settings.home / log.NAME

    def keep(caller: Caller) -> None:
        nonlocal seen, waiting
        if seen != (seen := _stamp(path)):
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
    yield Job("sessions cut short", keep, failing, every=_EACH, retry=_EACH)


def unfinished(entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the last entry of each session that was not kept since, if it names the client's process."""
    found: dict[object, Mapping[str, Any]] = {}
    for entry in entries:
        if entry.get("event") == _CAPTURE or entry.get("outcome") == HANDED_OVER:
            found.pop(entry.get("session"), None)
        elif _is_whole(entry):
            found[entry.get("session")] = entry
    return list(found.values())


def _is_whole(entry: Mapping[str, Any]) -> bool:
    return isinstance(entry.get("pid"), int) and isinstance(entry.get("options"), dict)


def _keep(app: "App", entry: Mapping[str, Any]) -> None:
    """Keep a session as if its client had said that it ends; once, whatever becomes of it."""
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
        # Nothing was said in it yet, or it is no transcript of this client.
        noted = NOTHING
    else:
        noted = outcome = answer(app, settings, client, fields, folder)[0].outcome
    if outcome not in (CAPTURED, NOTHING) and not outcome.startswith("failed"):
        # Those are noted by whoever keeps it.
        home, session = str(app.settings.home), entry["session"]
        log.append(home, client=client, event=_CAPTURE, session=session, outcome=noted)


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
