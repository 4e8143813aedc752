"""See what was done, session by session; read a session; have sessions summarised."""

import sys
from typing import TYPE_CHECKING

import click

from minutebook.cli.ids import completing_sessions, name_meant
from minutebook.cli.printing import body, say, style, warn
from minutebook.cli.sentences import sentence
from minutebook.cli.terminal import (
    as_json,
    as_shown,
    bar,
    fields_of,
    identity,
    interruptible,
    opened,
    short,
    through,
)
from minutebook.domain.caller import Caller, in_call
from minutebook.domain.counts import count_of
from minutebook.domain.errors import NotFound
from minutebook.domain.origin import by_whom
from minutebook.domain.records import SCORES, Summary, Turn

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.domain.turns import Session

_INDENT = "    "


@click.command(short_help="List sessions with their titles.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to leave out first.")
@identity
@as_json
def sessions(options: dict[str, str], limit: int, offset: int, as_json: bool) -> None:  # noqa: FBT001
    """List sessions, the one written last first, with their titles."""
    with opened(options) as (app, caller):
        page = app.sessions.overview(caller, limit, offset)
        rows = [(session, app.summaries.of(session)) for session in page.sessions]
        shape = [
            fields_of(session) | {"title": None if summary is None else summary.title}
            for session, summary in rows
        ]
        lines = [_headline(session, summary) for session, summary in rows]
        rest = page.total - offset - len(rows)
        if rest > 0:
            lines.append(f"… and {rest} more; --offset {offset + len(rows)} shows them.")
        say(shape, lines or "No session was written yet.", as_json)


@click.command(short_help="Read a session, its summary first.")
@click.argument("name", metavar="SESSION", shell_complete=completing_sessions)
@identity
@as_json
def session(options: dict[str, str], name: str, as_json: bool) -> None:  # noqa: FBT001
    """Read SESSION from beginning to end, its summary first."""
    with opened(options) as (app, caller):
        name = _name_meant(app, caller, name)
        found = app.sessions.all(caller, name)
        if not found:
            raise NotFound("session", name)
        turns = app.sessions.page(caller, name, sys.maxsize, 0).turns
        summaries = [summary for each in found if (summary := app.summaries.of(each)) is not None]
        shape = {
            "session": name,
            "summaries": [fields_of(each) for each in summaries],
            "turns": [fields_of(each) for each in turns],
        }
        parts = [*map(_of_summary, summaries), *map(_of_turn, turns)]
        # An empty line between two of them.
        lines = [line for part in parts for line in ("", *part)][1:]
        say(shape, lines, as_json)


@click.command(short_help="Summarise a session, or every one that grew.")
@click.argument("name", metavar="[SESSION]", required=False, shell_complete=completing_sessions)
@identity
@as_json
def summarize(options: dict[str, str], name: str | None, as_json: bool) -> None:  # noqa: FBT001
    """Summarise SESSION, or every session that grew since it was summarised.

    Ctrl-C ends it; what is done stays, and the next run goes on from there. It exits with 1 when a
    session could not be summarised.
    """
    with opened(options) as (app, caller):
        with (
            interruptible(
                "Stopped. The summaries that were made are kept; `minutebook summarize` makes the rest."
            ),
            bar("Summarising", hidden=as_json) as progress,
        ):
            asks = in_call(caller, progress=progress)
            if name is None:
                batch = app.summaries.summarize_all(asks)
                done, failed = batch.done, batch.failed
            else:
                done, failed = app.summaries.summarize(asks, _name_meant(app, caller, name)), []
        left = {each.session.name: sentence(as_shown(each.error)) for each in failed}
        shape = {"done": [fields_of(each) for each in done], "failed": left}
        lines = [f"{style(each.session, dim=True)}  {each.title}" for each in done]
        say(shape, lines or "Every session has a summary of what it is now.", as_json)
        for session, reason in left.items():
            warn(f"{session}: {reason}", fg="red")
    if left:
        sys.exit(1)


def _name_meant(app: "App", caller: Caller, text: str) -> str:
    """Return the name of the session that equals the text, or is the only one to begin with it."""
    if app.sessions.all(caller, text):
        return text
    known = app.sessions.overview(caller, sys.maxsize, 0).sessions
    return name_meant("session's name", dict.fromkeys(each.name for each in known), text)


def _headline(session: "Session", summary: Summary | None) -> str:
    title = "(no summary yet)" if summary is None else summary.title
    when = f"{session.last:%Y-%m-%d %H:%M}"
    turns = f"{session.turn_count} turn{'' if session.turn_count == 1 else 's'}"
    return f"{when}  {style(session.name, dim=True)}  {turns}  {short(title, 80)}"


def _of_summary(summary: Summary) -> list[str]:
    scores = ", ".join(f"{name} {getattr(summary, name)}" for name in SCORES)
    lines = [
        style(summary.title, bold=True),
        body(summary.summary, _INDENT),
        f"{summary.category}; {scores}; by {summary.made_by}, over {count_of(summary.turn_count, 'turn')}",
    ]
    if summary.technologies:
        lines.append(", ".join(summary.technologies))
    return lines


def _of_turn(turn: Turn) -> list[str]:
    parts = [("prompt", turn.prompt), ("thought", turn.thought), ("response", turn.response)]
    head = f"{turn.at:%Y-%m-%d %H:%M:%S}  {style(turn.id, dim=True)}  "
    head += by_whom(turn.author, turn.origin)
    head += through(turn.origin)
    lines = [
        line
        for name, text in parts
        if text
        for line in (style(name, fg="cyan"), f"{_INDENT}{body(text, _INDENT)}")
    ]
    return [head, *lines]


COMMANDS = (sessions, session, summarize)
