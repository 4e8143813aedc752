"""List sessions, read a session, summarize sessions."""

import sys
from typing import TYPE_CHECKING

import click

from minutebook.ask import journal as operations
from minutebook.ask.journal import TitledSession
from minutebook.cli.added_options import added_options
from minutebook.cli.ids import complete_name
from minutebook.cli.opening import opened
from minutebook.cli.printing import body, say, sentence, short, style, warn
from minutebook.cli.progress import bar, interruptible
from minutebook.cli.terminal import as_json, as_shown, identity, through
from minutebook.record.origin import byline
from minutebook.record.reason import count_of
from minutebook.record.records import SCORES, Summary, Turn

if TYPE_CHECKING:
    from minutebook.ask.connection import StoreConnection

_INDENT = "    "


@click.command(short_help="List sessions, read one, or have them summarised.")
@click.argument("name", metavar="[SESSION]", required=False)
@click.option("--summarize", is_flag=True, help="Summarise SESSION, or every one that grew.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to leave out first.")
@identity
@as_json
@added_options("sessions")
def sessions(
    options: dict[str, str],
    name: str | None,
    summarize: bool,  # noqa: FBT001
    limit: int,
    offset: int,
    as_json: bool,  # noqa: FBT001
) -> None:
    """List sessions, the one written last first, with their titles; or read SESSION, its summary first.

    With --summarize Ctrl-C ends it; what is done stays, and the next run goes on from there. It exits
    with 1 when a session could not be summarised.
    """
    with opened(options) as api:
        session = None if name is None else _complete_name(api, name)
        if summarize:
            _summarize(api, session, as_json=as_json)
        elif session is None:
            _list(api, limit, offset, as_json=as_json)
        else:
            _read(api, session, as_json=as_json)


def _list(api: "StoreConnection", limit: int, offset: int, *, as_json: bool) -> None:
    page = api.run(operations.sessions, limit, offset)
    lines = [_headline(each) for each in page.sessions]
    rest = page.total - offset - len(page.sessions)
    if rest > 0:
        lines.append(f"… and {rest} more; --offset {offset + len(page.sessions)} shows them.")
    say(page.sessions, lines or "No session was written yet.", as_json)


def _read(api: "StoreConnection", name: str, *, as_json: bool) -> None:
    """Print a session from beginning to end, its summary first."""
    found = api.run(operations.session, name)
    parts = [*map(_summary_lines, found.summaries), *map(_turn_lines, found.turns)]
    # An empty line stands between two parts.
    say(found, [line for part in parts for line in ("", *part)][1:], as_json)


def _summarize(api: "StoreConnection", name: str | None, *, as_json: bool) -> None:
    """Summarize a session, without a name each one with new turns; exit with 1 if one fails."""
    with (
        interruptible(
            "Stopped. The summaries that were made are kept; `minutebook sessions --summarize` makes the rest."
        ),
        bar("Summarising", hidden=as_json) as progress,
        api.reporting(progress),
    ):
        made = api.run(operations.summarize, name)
    failed = {name: sentence(as_shown(error)) for name, error in made.failed.items()}
    lines = [f"{style(each.session, dim=True)}  {each.title}" for each in made.done]
    say(
        {"done": made.done, "failed": failed},
        lines or "Every session has a summary of what it is now.",
        as_json,
    )
    for session, reason in failed.items():
        warn(f"{session}: {reason}", fg="red")
    if failed:
        sys.exit(1)


def _complete_name(api: "StoreConnection", text: str) -> str:
    """Return the name of the session that a text names, whole or by its beginning."""
    return complete_name("session's name", api.run(operations.session_names, text), text)


def _headline(titled: TitledSession) -> str:
    session = titled.session
    title = "(no summary yet)" if titled.title is None else titled.title
    when = f"{session.last:%Y-%m-%d %H:%M}"
    turns = f"{session.turn_count} turn{'' if session.turn_count == 1 else 's'}"
    return f"{when}  {style(session.name, dim=True)}  {turns}  {short(title, 80)}"


def _summary_lines(summary: Summary) -> list[str]:
    scores = ", ".join(f"{name} {getattr(summary, name)}" for name in SCORES)
    lines = [
        style(summary.title, bold=True),
        body(summary.summary, _INDENT),
        f"{summary.category}; {scores}; by {summary.made_by}, over {count_of(summary.turn_count, 'turn')}",
    ]
    if summary.technologies:
        lines.append(", ".join(summary.technologies))
    return lines


def _turn_lines(turn: Turn) -> list[str]:
    parts = [("prompt", turn.prompt), ("thought", turn.thought), ("response", turn.response)]
    head = f"{turn.at:%Y-%m-%d %H:%M:%S}  {style(turn.id, dim=True)}  "
    head += byline(turn.author, turn.origin)
    head += through(turn.origin)
    lines = [
        line
        for name, text in parts
        if text
        for line in (style(name, fg="cyan"), f"{_INDENT}{body(text, _INDENT)}")
    ]
    return [head, *lines]


COMMANDS = (sessions,)
