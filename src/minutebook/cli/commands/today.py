"""The report of a day: memories learned, answers to agents, open reviews."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import click

from minutebook.ask.day import day
from minutebook.cli.filters import parsed_time
from minutebook.cli.opening import opened, scope_here
from minutebook.cli.printing import say, short, style
from minutebook.cli.terminal import as_json, identity
from minutebook.record.day import DayLine, DayPart, DaySpan, DayTopic, grouped
from minutebook.record.errors import InvalidInput

WIDTH = 80
"""Characters of a line, at most."""

MOST_LEARNED, MOST_OTHERS = 7, 2
"""Lines that are printed of the topic LEARNED, and of each other topic, so that all fits on a screen."""

_FIRST_YEAR = 1970
_EMPTY = {
    DayTopic.LEARNED: "nothing was kept",
    DayTopic.TOLD: "no agent asked",
    DayTopic.ACTS: "nothing was done",
}


@click.command(short_help="See what agents learned, what they were told, and what waits.")
@click.option("--date", metavar="DATE", help="Another day: 2026-01-31.")
@click.option(
    "--since",
    metavar="TIME",
    help="From then until now: 2026-01-31, 2026-01-31T12:00, or 30m, 12h, 7d.",
)
@identity
@as_json
def today(options: dict[str, str], date: str | None, since: str | None, as_json: bool) -> None:  # noqa: FBT001
    """See today's memories, decisions and sessions by project and client, the answers to agents, and open reviews.

    The page Today of `minutebook ui` shows the same.
    """
    span = _span(date, since)
    with opened(options) as api:
        parts = api.run(day, span.since, span.until, scope_here(options))
    shape = {"since": span.since, "until": span.until, "parts": parts}
    say(shape, _lines(span, parts), as_json)


def _span(date: str | None, since: str | None) -> DaySpan:
    """Return the day that was named, or the time since an instant; today if neither is given."""
    now = datetime.now(UTC)
    if date is not None and since is not None:
        raise InvalidInput("--date", "must be left out with --since")
    if since is not None:
        return DaySpan(parsed_time("--since", since) or now, now)
    instant = parsed_time("--date", date) or now
    if instant > now or instant.year <= _FIRST_YEAR:
        raise InvalidInput("--date", "must be a day that has begun")
    begin = instant.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    return DaySpan(begin.astimezone(UTC), (begin + timedelta(days=1)).astimezone(UTC))


def _lines(span: DaySpan, parts: Sequence[DayPart]) -> Iterator[str]:
    since, until = (each.astimezone() for each in (span.since, span.until))
    is_day = until - since <= timedelta(days=1) and not (since.hour or since.minute)
    yield style(
        f"{since:%A, %Y-%m-%d}" if is_day else f"{since:%Y-%m-%d %H:%M} to {until:%H:%M}", bold=True
    )
    for part in parts:
        yield f"{style(f'{part.topic.capitalize():<8}', bold=True)} {_summary(part)}"
        if part.topic is DayTopic.LEARNED:
            yield from _group_lines(part)
        else:
            yield from map(_line, part.lines[:MOST_OTHERS])
            yield from _more_line(len(part.lines) - MOST_OTHERS)
    yield f"{style('Pages   ', bold=True)} `minutebook ui`"


def _summary(part: DayPart) -> str:
    """Return the counts of a part and its remedy, in a sentence each."""
    counts = ", ".join(part.counts) or ("" if part.lines else _EMPTY.get(part.topic, "nothing"))
    return ". ".join(filter(None, (counts, part.remedy)))


def _group_lines(part: DayPart) -> Iterator[str]:
    """Yield the lines of a part by project and client, MOST_LEARNED in all, with a heading for each group."""
    groups = grouped(part.lines)
    room, shown = MOST_LEARNED, 0
    for number, group in enumerate(groups):
        # One line is reserved for each group that follows.
        most = max(1, room - (len(groups) - number - 1))
        if not room:
            break
        names = [group.project or "no project", *([f"through {group.client}"] * bool(group.client))]
        yield style(f"  {', '.join(names)}", dim=True)
        yield from map(_line, group.lines[:most])
        shown += len(group.lines[:most])
        room -= len(group.lines[:most])
    yield from _more_line(len(part.lines) - shown)


def _line(line: DayLine) -> str:
    when = f"{line.at.astimezone():%H:%M}" if line.at else " " * 5
    return f"    {style(when, dim=True)}  {short(' '.join(line.text.split()), WIDTH - 11)}"


def _more_line(count: int) -> Iterable[str]:
    return [style(f"           and {count:,} more", dim=True)] if count > 0 else []


COMMANDS = (today,)
