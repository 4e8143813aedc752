"""Hooks of clients: the daemon's answers at moments of a session, and the last calls."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from minutebook.cli.commands.setup import Offer, SetupRun, Stage, Steps
from minutebook.cli.opening import check_begun, connected_to, server_named, settings_of
from minutebook.cli.printing import say
from minutebook.cli.terminal import as_json, identity
from minutebook.features.hooks import log
from minutebook.features.hooks.early_hook import CLIENTS
from minutebook.features.hooks.settings import HookSettings
from minutebook.features.importers.sources.reading.values import instant_of
from minutebook.record.errors import InvalidInput
from minutebook.record.instants import age_of
from minutebook.record.reason import count_of, must_be_one_of
from minutebook.store.disk.room import write_obstacle_in

RECENT = 200
"""The latest calls of hooks, which are summed up."""

_FEWEST = 10
"""Calls of hooks below which no trouble is reported."""


@click.command(short_help="Say what the hooks of clients did lately; clients run it, too.")
@click.argument("client", required=False)
@click.option("--event", hidden=True)
@identity
@as_json
def hook(options: dict[str, str], client: str | None, event: str | None, as_json: bool) -> None:  # noqa: FBT001
    """Sum up the last hooks of clients: the outcomes, how long they took, how much they said.

    With CLIENT it answers the event that the client gives on stdin; clients run this, see `install --hooks`.
    A daemon that runs already answers at once; without one nothing is said, and nothing is started. With
    --url, before the command, that server answers. `minutebook settings set hooks off` has the hooks of all
    clients keep silent and keep nothing.
    """
    if client is None:
        _sum_up(options, as_json=as_json)
        return
    if client not in CLIENTS:
        raise InvalidInput("CLIENT", must_be_one_of(CLIENTS, client))
    # Without `--url`, `early_hook` has answered before the command line was imported.
    if (server := server_named()) is not None:
        from minutebook.features.hooks.on_server import answer

        answer(connected_to(server), client, event)


def _sum_up(options: dict[str, str], *, as_json: bool) -> None:
    settings = settings_of(options)
    check_begun(settings)
    entries = log.entries(str(settings.home))
    rows = event_rows(entries)
    lines = [*client_lines(entries, datetime.now(UTC)), *map(event_line, rows)]
    if (cause := write_obstacle_in(settings.home)) is not None:
        lines.append(
            f"How many hooks were called is not known: calls cannot be noted in {settings.home} ({cause})."
        )
    elif not lines:
        lines = ["No hook was called yet. `minutebook install CLIENT --hooks` enters them."]
    if settings.of(HookSettings).hooks == "off":
        lines.insert(0, "Hooks are off: `minutebook settings unset hooks` has them speak again.")
    shape = {"hooks": settings.of(HookSettings).hooks, "events": rows, "not_noted": cause}
    say(shape, lines, as_json)


def event_rows(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each client and event of the latest calls: their number, outcomes, median time and tokens."""
    by_event: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for entry in entries[-RECENT:]:
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


def client_lines(entries: Sequence[Mapping[str, Any]], now: datetime) -> list[str]:
    """Return a line for each client: when its hooks were last called, in how many sessions, and the outcomes."""
    by_client: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        by_client.setdefault(str(entry.get("client", "")), []).append(entry)
    return [_client_line(client, calls, now) for client, calls in sorted(by_client.items())]


def _client_line(client: str, calls: Sequence[Mapping[str, Any]], now: datetime) -> str:
    sessions = {str(call["session"]) for call in calls if call.get("session")}
    outcomes = Counter(str(call.get("outcome")) for call in calls)
    kept = {call.get("session") for call in calls if call.get("outcome") == "captured"}
    failed = sum(outcomes[each] for each in outcomes if each.startswith("failed"))
    first, last = (instant_of(call.get("at")) or now for call in (calls[0], calls[-1]))
    parts = [
        f"last called {age_of(last, now)}",
        f"{count_of(len(sessions), 'session')} since {first:%Y-%m-%d}, {len(kept):,} kept",
        f"{count_of(outcomes['answered'], 'answer')}",
        *(
            f"{number:,} {label}"
            for number, label in (
                (outcomes["late"], "too late"),
                (outcomes["no daemon"], "with no daemon there"),
                (failed, "failed"),
            )
            if number
        ),
    ]
    return f"{client}: {', '.join(parts)}"


def trouble_in(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a sentence if a third of the latest hooks came too late or failed, else None."""
    last = entries[-RECENT:]
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


def event_line(row: Mapping[str, Any]) -> str:
    """Return the line of a row of `event_rows`."""
    outcomes = ", ".join(f"{name} {count}" for name, count in row["outcomes"].items())
    took = "" if row["milliseconds"] is None else f"; {row['milliseconds']} ms"
    tokens = "" if row["tokens"] is None else f"; {row['tokens']} tokens where something was said"
    name = f"{row['client']} {row['event']}".strip()
    return f"{name}: {row['calls']} calls ({outcomes}){took}{tokens}; last {row['last']}"


def offers(run: SetupRun) -> Iterator[Offer]:
    """Yield an offer with the latest calls of hooks, if there were any."""
    if lines := client_lines(log.entries(str(run.settings.home)), datetime.now(UTC)):
        yield Offer(subject="Hooks, lately", lines=lines)


STEPS = Steps(Stage.LATELY, offers)


COMMANDS = (hook,)
