"""Hooks of clients: what the daemon answers at moments of a session, and what they did lately."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minutebook import __version__
from minutebook.cli.hook_events import MOST_TOKENS, HookEvent, Moment, output_of, read_event
from minutebook.cli.keyboard import HOSTED, TypedPath
from minutebook.cli.printing import echo, say
from minutebook.cli.settings import write_setting
from minutebook.cli.terminal import as_json, check_begun, identity, opened, settings_of, when_read
from minutebook.config import Settings
from minutebook.domain.caller import ANYBODY, Call, Caller
from minutebook.domain.origin import Origin, tidied
from minutebook.domain.private import without_private
from minutebook.install.known_hooks import HOOKS
from minutebook.server.daemon import hook_log
from minutebook.whereabouts import follows_folders, known_place, repository_known, scope_of

if TYPE_CHECKING:
    from minutebook.app import App

CONTRACT = "hooks"
"""The contract that the origin of a hook's calls names."""

ACT = "before a prompt"
"""What the recall log calls it when a memory is put before a prompt."""

FORGETS = frozenset({"compact", "clear"})
"""Sources of a session's start after which it has forgotten what it was told."""

LATELY = 200
"""Calls of hooks that are summed up."""


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
            return _context(app, settings, client, caller, event)
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


def _context(
    app: "App", settings: Settings, client: str, caller: Caller, event: HookEvent
) -> _Answer:
    """Answer a session that starts, or a prompt, with what is kept about it."""
    from minutebook.services.hooks import joined

    known = Known(hook_log.entries(str(settings.home)), event.session)
    contexts, start, hits = app.hook_contexts, None, None
    # One that came too late when the session started is given with its first prompt.
    is_briefing = event.moment is Moment.START or not known.is_briefed
    if is_briefing:
        last = known.last_session_in(event.folder, repository_known(settings))
        tokens = min(settings.hook_tokens, MOST_TOKENS.get(client, settings.hook_tokens))
        start = contexts.at_start(caller, last, tokens)
    if event.moment is Moment.PROMPT:
        hits = contexts.before_prompt(caller, event.prompt, settings.hook_relevance, known.ids)
    if hits is not None:
        prompt, got = without_private(event.prompt), hits.got
        when_read(lambda: app.recalls.note(caller, ACT, prompt, got))
    context = joined(start, hits)
    if context is None:
        return _Answer("nothing to say", is_briefing=is_briefing)
    output = output_of(client, event.name, context.text)
    return _Answer("answered", output, context.tokens, context.ids, is_briefing)


class Known:
    """What a session was told already, in time to be read, as the log of hooks has it.

    What it was told before it was compacted or cleared, it has forgotten.
    """

    def __init__(self, entries: Sequence[Mapping[str, Any]], session: str) -> None:
        self._entries = entries
        self._session = session
        own: list[Mapping[str, Any]] = []
        for entry in entries:
            if entry.get("session") == session:
                if entry.get("source") in FORGETS:
                    own.clear()
                own.append(entry)
        lists = [ids for entry in own if isinstance(ids := entry.get("ids"), list)]
        self.ids = {str(id) for ids in lists for id in ids}
        self.is_briefed = any(entry.get("is_briefing") is True for entry in own)

    def last_session_in(
        self, folder: Path, repository_of: Callable[[str], str | None]
    ) -> str | None:
        """Return the name of the session, another than this, that was captured last in a folder or its project."""
        here = str(folder)
        project = repository_of(here)
        for entry in reversed(self._entries):
            if entry.get("outcome") != "captured" or entry.get("session") == self._session:
                continue
            there = str(entry.get("folder"))
            if there == here or (project is not None and repository_of(there) == project):
                # Some clients name the session in its transcript in another way than in events.
                return str(entry.get("kept") or entry.get("session", ""))
        return None


def is_ignored(folder: Path, patterns: tuple[str, ...]) -> bool:
    """Tell whether a folder, or one that it is in, is one of those that hooks leave alone."""
    paths = [str(each) for each in (folder, *folder.parents)]
    named = [str(Path(pattern).expanduser()) for pattern in patterns]
    return any(fnmatch(path, pattern) for pattern in named for path in paths)


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
        echo(f"Hooks are {switch}, for every client: set in {path}.")
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
