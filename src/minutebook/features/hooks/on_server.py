"""Hooks of a client with its memory on a server, which makes the briefs and stores the turns.

This machine knows the project of a folder, what a session was told already, and the folders without hooks;
the server chooses among the records that the token may see.
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
from minutebook.features.hooks.answers import local_question
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
"""Seconds within which the hook of a prompt ends, unless `hook_wait` is more; it includes the network."""

LONGEST_PROMPT = 4_000
"""Characters of a prompt that are sent."""

APART = "--event"
"""The option with the event of the process that captures a session, for which the client does not wait."""

_MOST_TURNS = 500


def answer(server: "OverHttp", client: str, ended: str | None) -> NoReturn:
    """Answer the event on stdin by a server, and end the process with 0 in any case.

    `ended` is the event, as JSON, in the separate process that captures an ended session; None in any other.
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
        outcome, output = _handle(
            server, settings, client, event, entry, is_apart=ended is not None
        )
    except MinutebookError as error:
        outcome, output = f"failed: {type(error).__name__}", None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        outcome, output = f"failed: {type(error).__name__}", None
    _end(home, entry, outcome, output)


_ending = threading.Lock()


def _end(home: str, entry: Mapping[str, object], outcome: str, output: object = None) -> NoReturn:
    """Print the output, log the outcome and end the process; a second caller waits for that for ever."""
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


def _handle(
    server: "OverHttp",
    settings: Settings,
    client: str,
    event: HookEvent,
    entry: dict[str, object],
    *,
    is_apart: bool,
) -> tuple[str, object]:
    """Return the outcome of an event and the client's output; add fields to the entry of the log."""
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

        count, name = _send_turns(server, client, event)
        entry |= {"event": "capture", "turns": count, "kept": name, "folder": str(event.folder)}
        return CAPTURED if name else NOTHING, None
    if event.moment is None:
        return "unknown event", None
    question = local_question(settings, client, event)
    if question.prompt is not None:
        question = replace(question, prompt=without_private(question.prompt)[:LONGEST_PROMPT])
    folder = scope_of(place) if follows_folders(settings) else None
    given = server.run(brief, question, folder)
    entry |= {"tokens": given.tokens, "ids": list(given.ids), "is_briefing": given.is_briefing}
    if given.text is None:
        return "nothing to say", None
    return "answered", output_of(client, event.name, given.text)


def _keep_apart(event: HookEvent) -> None:
    """Start another process that captures an ended session: the client does not wait so long."""
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
    """Return the turns from the first one that the server has not; it may have further ones, which were taken back.

    Two turns are the same if their prompts are, or, if the server masked the prompt, their thoughts and responses.
    """
    remaining = iter(kept)
    for number, turn in enumerate(own):
        rest = (turn.thought, turn.response)
        if not any(
            each.prompt == turn.prompt != ""
            or ((turn.thought or not turn.prompt) and (each.thought, each.response) == rest)
            for each in remaining
        ):
            return list(own[number:])
    return []


def _send_turns(server: "OverHttp", client: str, event: HookEvent) -> tuple[int, str]:
    """Send the turns of a session that the server has not, and have it summarized; return their count, and the session's name."""
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
