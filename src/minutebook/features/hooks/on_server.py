"""Hooks of a client with its memory on a server: briefs come from there, and events are kept there.

Which project a folder is, what a session was told already and what is left alone are this machine's matters;
the server chooses within what the token may see.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from minutebook.ask import journal
from minutebook.cli.keyboard import stdin_text
from minutebook.config import Settings, environment, load
from minutebook.config.whereabouts import follows_folders, known_place, scope_of
from minutebook.features.hooks import log
from minutebook.features.hooks.answers import asked_here
from minutebook.features.hooks.early_hook import FOLDERS, LARGEST_EVENT, START_WAIT, write_all
from minutebook.features.hooks.events import (
    HookEvent,
    HookMoment,
    output_of,
    read_event,
    without_private,
)
from minutebook.features.hooks.known import is_ignored
from minutebook.features.hooks.operations import brief
from minutebook.features.hooks.settings import HookSettings
from minutebook.record.errors import MinutebookError
from minutebook.serve.launch import module_command

if TYPE_CHECKING:
    from minutebook.ask.over_http import OverHttp
    from minutebook.record.records import Turn
    from minutebook.record.writing.source_drafts import TurnDraft

WAIT = 2.0
"""Seconds in which a prompt's hook ends, unless `hook_wait` is more: a network lies between."""

LONGEST_PROMPT = 4_000
"""Characters of a prompt that are sent."""

APART = "--event"
"""The option with which a process that nobody waits for is given its event."""

_MOST_TURNS = 500


def answer(server: "OverHttp", client: str, ended: str | None) -> NoReturn:
    """Answer the event on stdin by a server, and end the process with 0 whatever becomes of it.

    `ended` is the event in the process that keeps a session that ended; None in any other.
    """
    entry: dict[str, object] = {"client": client}
    home = ""
    try:
        settings = load({})
        home = str(settings.home)
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = stdin_text(LARGEST_EVENT) if ended is None else ended
        event = read_event(json.loads(data))
        entry |= {
            "event": event.name,
            "session": event.session,
            "source": event.fields.get("source"),
        }
        _end_in_time(home, entry, settings, event)
        outcome, output = _answered(
            server, settings, client, event, entry, is_apart=ended is not None
        )
    except MinutebookError as error:
        outcome, output = f"failed: {type(error).__name__}", None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        outcome, output = f"failed: {type(error).__name__}", None
    _end(home, entry, outcome, output)


_ending = threading.Lock()


def _end(home: str, entry: Mapping[str, object], outcome: str, output: object = None) -> NoReturn:
    """Print the output, note the outcome, end; the second caller does nothing."""
    _ending.acquire()
    if output:
        try:
            write_all(json.dumps(output).encode())
        except OSError:
            outcome = "nobody reads"
    if home:
        log.append(home, **entry, outcome=outcome)
    os._exit(0)


def _end_in_time(
    home: str, entry: Mapping[str, object], settings: Settings, event: HookEvent
) -> None:
    if event.moment not in (HookMoment.START, HookMoment.PROMPT):
        return
    least = START_WAIT if event.moment is HookMoment.START else WAIT
    timer = threading.Timer(
        max(least, settings.of(HookSettings).hook_wait), _end, (home, entry, "late")
    )
    timer.daemon = True
    timer.start()


def _answered(
    server: "OverHttp",
    settings: Settings,
    client: str,
    event: HookEvent,
    entry: dict[str, object],
    *,
    is_apart: bool,
) -> tuple[str, object]:
    """Return the outcome of an event, and the client's output; add to the entry of the log."""
    if settings.of(HookSettings).hooks == "off":
        return "off", None
    place = known_place(settings, event.folder)
    if is_ignored(event.folder, settings.of(HookSettings).hook_ignore) or place.hooks_off:
        return "ignored", None
    if event.moment is HookMoment.END and not is_apart:
        _keep_apart(event)
        return "handed over", None
    if event.moment in (HookMoment.END, HookMoment.TURN):
        from minutebook.features.hooks.capture import CAPTURED, NOTHING

        count, name = _kept(server, client, event)
        entry |= {"event": "capture", "turns": count, "kept": name, "folder": str(event.folder)}
        return CAPTURED if name else NOTHING, None
    if event.moment is None:
        return "unknown event", None
    asked = asked_here(settings, client, event)
    if asked.prompt is not None:
        asked = replace(asked, prompt=without_private(asked.prompt)[:LONGEST_PROMPT])
    folder = scope_of(place) if follows_folders(settings) else None
    given = server.run(brief, asked, folder)
    entry |= {"tokens": given.tokens, "ids": list(given.ids), "is_briefing": given.is_briefing}
    if given.text is None:
        return "nothing to say", None
    return "answered", output_of(client, event.name, given.text)


def _keep_apart(event: HookEvent) -> None:
    """Have another process keep a session that ended: the client does not wait so long."""
    command = module_command("minutebook", *sys.argv[1:], APART, json.dumps(dict(event.fields)))
    subprocess.Popen(  # noqa: S603 - this program
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(environment()),
        start_new_session=True,
    )


def _unsent(own: Sequence["TurnDraft"], kept: Sequence["Turn"]) -> list["TurnDraft"]:
    """Return the turns from the first on that is not kept; among those kept may be some that were taken back.

    A turn is one that is kept if their prompts are the same, or, where the server masked that, the rest.
    """
    left = iter(kept)
    for number, turn in enumerate(own):
        rest = (turn.thought, turn.response)
        if not any(
            each.prompt == turn.prompt != ""
            or ((turn.thought or not turn.prompt) and (each.thought, each.response) == rest)
            for each in left
        ):
            return list(own[number:])
    return []


def _kept(server: "OverHttp", client: str, event: HookEvent) -> tuple[int, str]:
    """Send the turns of a session that the server has not, and have them summed up; their count, and its name there."""
    from minutebook.features.hooks.capture import TRANSCRIPTS, found_turns
    from minutebook.features.importers.sources.reading.conversation import session_name

    folder = environment().get(FOLDERS.get(client, ""))
    turns = found_turns(client, event, Path(folder) if folder else None)
    names = sorted({turn.session for turn in turns})
    if event.moment is HookMoment.END and client not in TRANSCRIPTS and event.session:
        # Its turns came one by one.
        name = session_name(event.session)
        server.run(journal.summarize, name)
        return 0, name
    sent = 0
    for name in names:
        own = [turn for turn in turns if turn.session == name][:_MOST_TURNS]
        kept = server.run(journal.turns, name, 2 * _MOST_TURNS, 0).turns
        for turn in _unsent(own, kept) if event.moment is HookMoment.END else own:
            server.run(journal.add_turn, name, turn.prompt, turn.thought, turn.response)
            sent += 1
        if event.moment is HookMoment.END and sent:
            server.run(journal.summarize, name)
    return sent, min(names, default="")
