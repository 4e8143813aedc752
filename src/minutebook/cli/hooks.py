"""Hooks of clients: what the daemon answers at moments of a session, and what they did lately."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minutebook import __version__
from minutebook.cli.hook_events import MOST_TOKENS, HookEvent, Moment, output_of, read_event
from minutebook.cli.hook_told import FIELD, Known, is_ignored
from minutebook.cli.keyboard import HOSTED, TypedPath, remote_caller
from minutebook.cli.printing import echo, say
from minutebook.cli.settings import write_setting
from minutebook.cli.terminal import as_json, check_begun, identity, opened, settings_of, when_read
from minutebook.config import Settings
from minutebook.domain.caller import ANYBODY, Call, Caller, FolderScope
from minutebook.domain.origin import Origin, tidied
from minutebook.domain.private import without_private
from minutebook.features.hooks.services import HookServices
from minutebook.install.known_hooks import HOOKS
from minutebook.server.daemon import hook_log
from minutebook.whereabouts import follows_folders, known_place, repository_known, scope_of

if TYPE_CHECKING:
    from minutebook.app import App

CONTRACT = "hooks"
"""The contract that the origin of a hook's calls names."""

ACT = "before a prompt"
"""What the recall log calls it when a memory is put before a prompt."""


LATELY = 200
"""Calls of hooks that are summed up."""


_MOST_TOKENS = 10_000
"""Tokens that a client of a server may ask for when a session starts."""

_FEWEST = 10
"""Calls from which on they say something about how hooks are."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What became of an event; what the client is to print, its tokens, and the ids of what it shows."""

    outcome: str
    output: Mapping[str, Any] | None = None
    tokens: int = 0
    ids: tuple[str, ...] = ()
    is_briefing: bool = False


@click.command(short_help="Answer an event of a client; clients run it.")
@click.argument("client", type=click.Choice(tuple(HOOKS)))
@click.option("--event", hidden=True)
@click.option("--client-folder", hidden=True, type=TypedPath(is_sent=True))
@identity
def hook(
    options: dict[str, str], client: str, event: str | None, client_folder: Path | None
) -> None:
    """Answer the event that CLIENT gives on stdin; clients run this, see `install --hooks`.

    A daemon that runs already answers at once; without one nothing is said, and nothing is started.
    """
    if event is None or HOSTED.get() is None:
        # Whatever asked for this is no client that waits for an answer.
        return
    if remote_caller() is not None:
        with opened(options) as (app, caller):
            answered = _answer_elsewhere(app, caller, client, json.loads(event))
        echo(json.dumps(asdict(answered)))
        return
    settings = settings_of(options)
    with opened(options) as (app, _):
        answer = _answer(app, settings, client, read_event(json.loads(event)), client_folder)
    echo(json.dumps(asdict(answer)))


def _answer(
    app: "App", settings: Settings, client: str, event: HookEvent, folder: Path | None
) -> _Answer:
    if settings.hooks == "off":
        return _Answer("off")
    place = known_place(settings, event.folder)
    if is_ignored(event.folder, settings.hook_ignore) or place.hooks_off:
        return _Answer("ignored")
    caller = _caller(settings, client, event.session)
    if follows_folders(settings):
        caller = replace(caller, folder_scope=scope_of(place))
    match event.moment:
        case Moment.START | Moment.PROMPT:
            return _context(app, client, caller, event, _asked_here(settings, client, event))
        case Moment.TURN | Moment.END:
            from minutebook.cli.hook_capture import capture

            return _Answer(capture(app, settings, caller, client, event, folder))
        case None:
            return _Answer("unknown event")


def _caller(settings: Settings, client: str, session: str) -> Caller:
    """Return who asks: the agent of the client, with an agent's rights."""
    agent = client if settings.agent == ANYBODY else settings.agent
    origin = Origin(client=client, version=__version__, contract=CONTRACT, session=tidied(session))
    return replace(settings.caller(), name=agent, call=Call(request="hook", origin=origin))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is wanted of an answer: how much, how relevant, and what the session was told already."""

    known: frozenset[str]
    is_briefed: bool
    last: str | None
    tokens: int
    relevance: float


def _asked_here(settings: Settings, client: str, event: HookEvent) -> _Asked:
    known = Known(hook_log.entries(str(settings.home)), event.session)
    return _Asked(
        frozenset(known.ids),
        known.is_briefed,
        known.last_session_in(event.folder, repository_known(settings)),
        min(settings.hook_tokens, MOST_TOKENS.get(client, settings.hook_tokens)),
        settings.hook_relevance,
    )


def _answer_elsewhere(
    app: "App", caller: Caller, client: str, fields: Mapping[str, Any]
) -> _Answer:
    """Answer an event of a client on another machine, which says itself what the session was told."""
    event, said = read_event(fields), fields.get(FIELD)
    if not isinstance(said, dict) or event.moment not in (Moment.START, Moment.PROMPT):
        return _Answer("unknown event")
    try:
        asked = _Asked(
            frozenset(map(str, said["known"])),
            said["is_briefed"] is True,
            None if said["last"] is None else str(said["last"]),
            max(0, min(int(said["tokens"]), _MOST_TOKENS)),
            float(said["relevance"]),
        )
        if said["also"] is not None:
            repository = None if said["repository"] is None else str(said["repository"])
            scope = FolderScope(repository, frozenset(map(str, said["also"])))
            caller = replace(caller, folder_scope=scope)
    except (KeyError, TypeError, ValueError):
        return _Answer("unknown event")
    return _context(app, client, caller, event, asked)


def _context(app: "App", client: str, caller: Caller, event: HookEvent, asked: _Asked) -> _Answer:
    """Answer a session that starts, or a prompt, with what is kept about it."""
    from minutebook.services.hooks import joined
    from minutebook.sources.conversation import session_name

    contexts, start, hits = app.get(HookServices).hook_contexts, None, None
    # One that came too late when the session started is given with its first prompt.
    is_briefing = event.moment is Moment.START or not asked.is_briefed
    if is_briefing:
        start = contexts.at_start(caller, asked.last, asked.tokens)
    if event.moment is Moment.PROMPT:
        hits = contexts.before_prompt(
            caller, event.prompt, asked.relevance, asked.known, session_name(event.session)
        )
    if hits is not None:
        prompt, got = without_private(event.prompt), hits.got
        note = partial(app.note_answer, caller, ACT, prompt, got)
        if remote_caller() is None:
            when_read(note)
        else:
            note()
    context = joined(start, hits)
    if context is None:
        return _Answer("nothing to say", is_briefing=is_briefing)
    output = output_of(client, event.name, context.text)
    return _Answer("answered", output, context.tokens, context.ids, is_briefing)


@click.command(short_help="Say what the hooks of clients did lately, or switch them on or off.")
@click.argument("switch", type=click.Choice(["on", "off"]), required=False)
@identity
@as_json
def hooks(options: dict[str, str], as_json: bool, switch: str | None) -> None:  # noqa: FBT001
    """Say what the hooks of clients did lately, how long it took, and how much they said.

    `minutebook hooks off` has those of all clients keep silent and keep nothing, `hooks on` has them speak
    again. `minutebook install CLIENT --hooks` enters them, with `--remove` it takes them out.
    """
    if switch is not None:
        path = write_setting(options, "hooks", switch)
        said = f"Hooks are {switch}, for every client: set in {path}."
        say({"hooks": switch, "path": str(path)}, said, as_json)
        return
    settings = settings_of(options)
    check_begun(settings)
    rows = lately(hook_log.entries(str(settings.home)))
    lines = [_row(row) for row in rows] or [
        f"No hook was called yet. `minutebook install CLIENT --hooks` enters them: {', '.join(HOOKS)}."
    ]
    if settings.hooks == "off":
        lines.insert(0, "Hooks are off: `minutebook hooks on` has them speak again.")
    say({"hooks": settings.hooks, "events": rows}, lines, as_json)


def lately(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sum up the last calls by client and event: how many, what became of them, how long they took."""
    by_event: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for entry in entries[-LATELY:]:
        key = (str(entry.get("client", "")), str(entry.get("event", "unreadable")))
        by_event.setdefault(key, []).append(entry)
    return [
        {
            "client": client,
            "event": event,
            "calls": len(calls),
            "outcomes": dict(Counter(str(call.get("outcome")) for call in calls)),
            "milliseconds": _median(_numbers(calls, "ms")),
            "tokens": _median([count for count in _numbers(calls, "tokens") if count]),
            "last": calls[-1].get("at"),
        }
        for (client, event), calls in sorted(by_event.items())
    ]


def trouble_in(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """Say what is wrong if a third of the last hooks came too late or failed; None if all is well."""
    last = entries[-LATELY:]
    outcomes = [str(entry.get("outcome")) for entry in last]
    late = sum(outcome == "late" for outcome in outcomes)
    failed = sum(outcome.startswith("failed") for outcome in outcomes)
    if len(last) < _FEWEST or late + failed < len(last) / 3:
        return None
    return f"Of the last {len(last)} hooks of clients {late} came too late and {failed} failed."


def _numbers(calls: Sequence[Mapping[str, Any]], name: str) -> list[int]:
    return [value for call in calls if isinstance(value := call.get(name), int)]


def _median(values: Sequence[int]) -> int | None:
    return sorted(values)[len(values) // 2] if values else None


def _row(row: Mapping[str, Any]) -> str:
    outcomes = ", ".join(f"{name} {count}" for name, count in row["outcomes"].items())
    took = "" if row["milliseconds"] is None else f"; {row['milliseconds']} ms"
    tokens = "" if row["tokens"] is None else f"; {row['tokens']} tokens where something was said"
    of = f"{row['client']} {row['event']}".strip()
    return f"{of}: {row['calls']} calls ({outcomes}){took}{tokens}; last {row['last']}"


COMMANDS = (hook, hooks)
