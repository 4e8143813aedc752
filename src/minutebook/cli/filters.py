"""The options that filter memories, of each command that lists or ranks them, and times as a person types them."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

import click

from minutebook.cli.opening import scope_here, server_named
from minutebook.cli.terminal import one_of
from minutebook.record.errors import InvalidInput
from minutebook.record.filters import MemoryQuery
from minutebook.record.records import MemoryType, ScopeLevel, Status

_SPAN = re.compile(r"(\d{1,5})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def parsed_time(option: str, text: str | None, *, ahead: bool = False) -> datetime | None:
    """Return the instant that a text names: a time, or a span such as 7d ago (`ahead`: from now); None for None.

    Raises InvalidInput if the text is neither.
    """
    if text is None:
        return None
    span = parsed_span(text)
    if span is None:
        return parsed_instant(option, text)
    return datetime.now(UTC) + (span if ahead else -span)


def parsed_span(text: str) -> timedelta | None:
    """Return the span of time that a text such as 30m, 12h or 7d names; None for another text."""
    match = _SPAN.fullmatch(text)
    return None if match is None else timedelta(**{_UNITS[match[2]]: int(match[1])})


def parsed_instant(option: str, text: str) -> datetime:
    """Return the instant that a text names, in the local zone unless the text names one.

    Raises InvalidInput if it is not a time.
    """
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        remedy = (
            "must be a time like 2026-01-31T12:00, or a span like 30m, 12h or 7d (got {given!r})"
        )
        raise InvalidInput(option, remedy, given=text) from error


_OPTIONS = (
    click.option("--type", "memory_type", help="Only this type: fact, business_rule…"),
    click.option("--status", help="Only this status: active, verified, locked, deprecated…"),
    click.option("--scope", help="Only this scope: system, organization, repository or user."),
    click.option(
        "--tag", "tags", multiple=True, help="Only what has this tag; all that are named."
    ),
    click.option("--author", help="Only what this person or agent wrote."),
    click.option("--client", help="Only what was first written through this program: cursor…"),
    click.option(
        "--since",
        metavar="TIME",
        help="Only from then on: 2026-01-31, 2026-01-31T12:00, or 30m, 12h, 7d.",
    ),
    click.option("--until", metavar="TIME", help="Only what was kept before then."),
    click.option("--everywhere", is_flag=True, help="Of every project, whatever folder this is."),
)


def memory_filters(run: Callable[..., object]) -> Callable[..., object]:
    """Add the options that filter memories; `run` gets their MemoryQuery as `where`, the folder's scope as `folder`."""

    @wraps(run)
    def filtered(
        *,
        memory_type: str | None,
        status: str | None,
        scope: str | None,
        since: str | None,
        until: str | None,
        tags: tuple[str, ...],
        author: str | None,
        client: str | None,
        everywhere: bool,
        **typed: Any,
    ) -> object:
        options = click.get_current_context().ensure_object(dict)
        where = MemoryQuery(
            # In a store of this machine the caller itself is narrowed to the repository.
            repository=None if server_named() is None else options.get("repository"),
            type=one_of(MemoryType, "--type", memory_type),
            status=one_of(Status, "--status", status),
            scope=one_of(ScopeLevel, "--scope", scope),
            client=client,
            author=author,
            tags=tags,
            since=parsed_time("--since", since),
            until=parsed_time("--until", until),
        )
        here = None if everywhere else scope_here(options)
        # Outside of any project all memories are shown.
        return run(where=where, folder=here if here and here.shown else None, **typed)

    made: Callable[..., object] = filtered
    for option in reversed(_OPTIONS):
        made = option(made)
    return made
