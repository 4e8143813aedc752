"""Hooks of clients: what the daemon answers at moments of a session, and what they did lately."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from minutebook import __version__
from minutebook.cli.printing import echo, say
from minutebook.cli.terminal import HOSTED, as_json, check_begun, identity, opened, settings_of
from minutebook.config import Settings
from minutebook.domain.caller import ANYBODY, Call, Caller
from minutebook.domain.errors import InvalidInput, MinutebookError
from minutebook.domain.origin import Origin, tidied
from minutebook.domain.private import without_private
from minutebook.install.hooks import HOOKS
from minutebook.server.daemon import hook_log
from minutebook.sources.values import text_at
from minutebook.whereabouts import follows_folders, known_place, repository_by_path, scope_of

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.domain.source_drafts import Found
    from minutebook.services.hooks import Context, HookContexts

CONTRACT = "hooks"
"""The contract that the origin of a hook's calls names."""

ACT = "before a prompt"
"""What the recall log calls it when a memory is put before a prompt."""

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
@click.option("--client-folder", hidden=True, type=click.Path(path_type=Path))
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
        answer = _answer(app, settings, client, json.loads(event), client_folder)
    echo(json.dumps(asdict(answer)))


def _answer(
    app: "App", settings: Settings, client: str, event: Mapping[str, Any], folder: Path | None
) -> _Answer:
    name = text_at(event, "hook_event_name")
    if settings.hooks == "off":
        return _Answer("off")
    cwd = Path(text_at(event, "cwd") or "/")
    place = known_place(settings, cwd)
    if is_ignored(cwd, settings.hook_ignore) or place.hooks_off:
        return _Answer("ignored")
    caller = _caller(settings, client, text_at(event, "session_id"))
    if follows_folders(settings):
        caller = replace(caller, folder_scope=scope_of(place))
    if name in ("SessionStart", "UserPromptSubmit"):
        return _context(app, settings, caller, event)
    if name == "SessionEnd":
        return _capture(app, settings, caller, event, folder)
    return _Answer("unknown event")


def _caller(settings: Settings, client: str, session: str) -> Caller:
    """Return who asks: the agent of the client, with an agent's rights."""
    agent = client if settings.agent == ANYBODY else settings.agent
    origin = Origin(client=client, version=__version__, contract=CONTRACT, session=tidied(session))
    return replace(settings.caller(), name=agent, call=Call(request="hook", origin=origin))


def _context(app: "App", settings: Settings, caller: Caller, event: Mapping[str, Any]) -> _Answer:
    """Answer a session that starts, or a prompt, with what is kept about it."""
    from minutebook.services.hooks import joined

    name, place = text_at(event, "hook_event_name"), Path(text_at(event, "cwd") or "/")
    known = _Known(hook_log.entries(str(settings.home)), text_at(event, "session_id"))
    contexts, start, hits = _contexts(app), None, None
    # One that came too late when the session started is given with its first prompt.
    is_briefing = name == "SessionStart" or not known.is_briefed
    if is_briefing:
        start = contexts.at_start(caller, known.last_session_in(place), settings.hook_tokens)
    if name == "UserPromptSubmit":
        prompt, least = text_at(event, "prompt"), settings.hook_relevance
        hits = contexts.before_prompt(caller, prompt, least, known.ids)
        if hits is not None:
            app.recalls.note(caller, ACT, without_private(prompt), hits.got)
    return _printed(name, joined(start, hits), is_briefing=is_briefing)


def _contexts(app: "App") -> "HookContexts":
    from minutebook.services.hooks import HookContexts

    return HookContexts(
        app.memories,
        app.decisions,
        app.sessions,
        app.summaries,
        app.recall,
        app.embedding,
        app.clock,
    )


class _Known:
    """What a session was told already, in time to be read, as the log of hooks has it."""

    def __init__(self, entries: Sequence[Mapping[str, Any]], session: str) -> None:
        self._entries = entries
        self._session = session
        own = [entry for entry in entries if entry.get("session") == session]
        lists = [ids for entry in own if isinstance(ids := entry.get("ids"), list)]
        self.ids = {str(id) for ids in lists for id in ids}
        self.is_briefed = any(entry.get("is_briefing") is True for entry in own)

    def last_session_in(self, folder: Path) -> str | None:
        """Return the name of the session that was captured last in a folder, another than this."""
        for entry in reversed(self._entries):
            if entry.get("outcome") == "captured" and entry.get("folder") == str(folder):
                name = str(entry.get("session", ""))
                if name != self._session:
                    return name
        return None


def _printed(event: str, context: "Context | None", *, is_briefing: bool) -> _Answer:
    """Return the answer that has a client put a context before what the person asked."""
    if context is None:
        return _Answer("nothing to say", is_briefing=is_briefing)
    output = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context.text}}
    return _Answer("answered", output, context.tokens, context.ids, is_briefing)


def _capture(
    app: "App",
    settings: Settings,
    caller: Caller,
    event: Mapping[str, Any],
    folder: Path | None,
) -> _Answer:
    """Keep a session that ended, turn by turn, and sum it up; note how that went in the log of hooks."""
    session = text_at(event, "session_id")
    try:
        count = _captured(app, settings, caller, transcript(event, folder))
        if count:
            app.summaries.summarize(caller, session)
        outcome = "captured"
    except MinutebookError as error:
        # Whoever asked has not waited; `minutebook hooks` and `doctor` say it.
        count, outcome = 0, f"failed: {type(error).__name__}"
    hook_log.append(
        str(settings.home),
        client=caller.name,
        event="capture",
        session=session,
        folder=text_at(event, "cwd"),
        outcome=outcome,
        turns=count,
    )
    return _Answer(outcome)


def _captured(app: "App", settings: Settings, caller: Caller, path: Path) -> int:
    """Import a transcript; return how many turns were new or had grown."""
    from minutebook.services.maintenance.source_imports import Outcome
    from minutebook.sources.claude_code import NAME, is_wanted
    from minutebook.sources.files import Source
    from minutebook.sources.registry import SOURCES, found_in

    source = Source(path, is_wanted)
    found = _without_private(found_in(source, SOURCES[NAME]))
    report = app.source_imports.run(
        caller,
        f"{NAME}: {path}",
        found,
        lambda: source.part,
        dry_run=False,
        repository_of=repository_by_path(settings),
    )
    return sum(report.counts[each].total() for each in (Outcome.NEW, Outcome.CHANGED))


def _without_private(found: "Iterator[Found]") -> "Iterator[Found]":
    from minutebook.domain.source_drafts import TurnDraft

    for each in found:
        if isinstance(each, TurnDraft):
            texts = (without_private(text) for text in (each.prompt, each.thought, each.response))
            prompt, thought, response = texts
            yield replace(each, prompt=prompt, thought=thought, response=response)
        else:
            yield each


def transcript(event: Mapping[str, Any], folder: Path | None) -> Path:
    """Return the path of a session's transcript, one in the client's own folder of them.

    `folder` is the client's configuration folder where a variable names it. Raises InvalidInput for
    any other path: who writes events could have any file read.
    """
    from minutebook.sources.claude_code import USUAL_PLACE

    configuration = folder or Path.home().joinpath(*USUAL_PLACE.folder)
    own = configuration.joinpath(*USUAL_PLACE.below)
    with suppress(OSError, RuntimeError, ValueError):
        path = Path(text_at(event, "transcript_path")).resolve(strict=True)
        if path.suffix == ".jsonl" and path.is_relative_to(own.resolve()):
            return path
    raise InvalidInput("transcript_path", f"must be a transcript below {own}")


def is_ignored(folder: Path, patterns: tuple[str, ...]) -> bool:
    """Tell whether a folder, or one that it is in, is one of those that hooks leave alone."""
    paths = [str(each) for each in (folder, *folder.parents)]
    named = [str(Path(pattern).expanduser()) for pattern in patterns]
    return any(fnmatch(path, pattern) for pattern in named for path in paths)


@click.command(short_help="Say what the hooks of clients did lately.")
@identity
@as_json
def hooks(options: dict[str, str], as_json: bool) -> None:  # noqa: FBT001
    """Say what the hooks of clients did lately, how long it took, and how much they said.

    `minutebook install claude-code --hooks` enters them, `minutebook settings set hooks off` has all
    of them keep silent, `install claude-code --hooks --remove` takes them out again.
    """
    settings = settings_of(options)
    check_begun(settings)
    rows = lately(hook_log.entries(str(settings.home)))
    lines = [_row(row) for row in rows] or [
        "No hook was called yet. `minutebook install claude-code --hooks` enters them."
    ]
    if settings.hooks == "off":
        lines.insert(0, "Hooks are off: `minutebook settings set hooks on` has them speak again.")
    say({"hooks": settings.hooks, "events": rows}, lines, as_json)


def lately(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sum up the last calls of hooks by event: how many, what became of them, how long they took."""
    by_event: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries[-LATELY:]:
        by_event.setdefault(str(entry.get("event", "unreadable")), []).append(entry)
    return [
        {
            "event": event,
            "calls": len(calls),
            "outcomes": dict(Counter(str(call.get("outcome")) for call in calls)),
            "milliseconds": _median(_numbers(calls, "ms")),
            "tokens": _median([count for count in _numbers(calls, "tokens") if count]),
            "last": calls[-1].get("at"),
        }
        for event, calls in by_event.items()
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
    return f"{row['event']}: {row['calls']} calls ({outcomes}){took}{tokens}; last {row['last']}"


COMMANDS = (hook, hooks)
