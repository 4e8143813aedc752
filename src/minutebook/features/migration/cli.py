"""Move the store from a file to a database on a server, or back."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from minutebook.cli.opening import check_begun, settings_of
from minutebook.cli.printing import echo, warn
from minutebook.cli.progress import bar, interruptible
from minutebook.cli.terminal import home_option
from minutebook.config import Settings
from minutebook.config.subjects import scheme_of
from minutebook.feature import Event, listeners
from minutebook.record.caller import Progress
from minutebook.record.errors import InvalidInput, StoreBusy
from minutebook.record.reason import count_of
from minutebook.serve.logs import log_to_stderr

if TYPE_CHECKING:
    from minutebook.features.migration.migration import Migrated
    from minutebook.store.protocol import Tended

_LOCK = "moving records"
"""The name of the lock in a server's database that a migration holds."""

_NEXT_STEP_WITH_FILE = (
    "Servers use it without the setting `store`: `minutebook settings unset store`."
)


@click.command(short_help="Move the store from a file to a PostgreSQL server, or back.")
@click.option("--to", "target", metavar="URL", help="From the data directory to this database.")
@click.option("--from", "source", metavar="URL", help="From this database to the data directory.")
@home_option
def migrate(options: dict[str, str], target: str | None, source: str | None) -> dict[str, object]:
    """Move every record with its vectors, the audit trail, tokens and the rest, and compare all of it.

    URL is postgresql://USER@HOST/DATABASE, the password by PGPASSFILE or PGPASSWORD. The source stays as
    it was; nobody can write to it meanwhile. The target must be empty, or that of a move that was cut
    short: the same command goes on with it. Ledgers, secret and settings stay in the data directory.
    """
    url = _server_url(target, source)
    settings = settings_of(options)
    log_to_stderr(settings)
    is_to_server = target is not None
    began = time.monotonic()
    with (
        interruptible("Stopped. The same command goes on from here."),
        _stores(settings, url, is_to_server=is_to_server) as (source_store, target_store),
        _progress() as progress,
    ):
        from minutebook.app import now
        from minutebook.features.migration.migration import Migration

        done = Migration(source_store, target_store, now).run(progress)
        places = source_store.database.place, target_store.database.place
        advice = [
            line
            for listener in listeners(Event.MOVE)
            for line in listener(settings, target_store, is_to_server=is_to_server)
        ]
    took = timedelta(seconds=round(time.monotonic() - began))
    _report(done, places, took)
    echo(_next_step_with_server(places[0]) if is_to_server else _NEXT_STEP_WITH_FILE, *advice)
    return {
        "from": places[0],
        "to": places[1],
        "changes": done.changes,
        "records": dict(done.records),
        "vectors": done.vectors,
        "breaks": list(done.breaks),
    }


def _server_url(target: str | None, source: str | None) -> str:
    """Return the URL of the database that is named. Raises InvalidInput unless it is exactly one."""
    url = target or source
    if url is None or (target and source):
        raise InvalidInput("--to", "or --from must name a database, and only one of them")
    try:
        scheme_of(url)
    except ValueError as error:
        remedy = "must be a URL such as postgresql://minutebook@db.example.org/minutebook"
        raise InvalidInput("--to" if target else "--from", remedy) from error
    return url


@contextmanager
def _stores(
    settings: Settings, url: str, *, is_to_server: bool
) -> Iterator[tuple["Tended", "Tended"]]:
    """Open the source and the target, which nobody else can open meanwhile. Raises StoreBusy, StoreError."""
    from minutebook.config.places import data_directory
    from minutebook.config.stores import file_store, moving_mark, store_at
    from minutebook.memory.maintenance.data_directory import make_home

    in_file = replace(settings, store=None)
    if is_to_server:
        check_begun(in_file)
    make_home(settings.home)
    with ExitStack() as stack:
        stack.enter_context(data_directory(in_file).reserved())
        server = store_at(settings, url, receives=is_to_server)
        stack.callback(server.close)
        _wait_for_turn(stack, server)
        if not is_to_server and not settings.database.exists():
            # The mark stands until all is here: a kill may come before the database itself notes the move.
            moving_mark(settings).touch(mode=0o600)
        file = stack.enter_context(closing(file_store(in_file, receives=not is_to_server)))
        yield (file, server) if is_to_server else (server, file)
        moving_mark(settings).unlink(missing_ok=True)


def _wait_for_turn(stack: ExitStack, server: "Tended") -> None:
    """Hold the lock of migrations until the stack ends; that of a killed one expires. Raises StoreBusy."""
    from minutebook.store.leases import SECONDS, LeaseLocks

    locks = LeaseLocks(server.database.leases)  # type: ignore[arg-type]
    if locks.is_held(_LOCK):
        warn(
            f"{server.database.place}: another move is under way, or was killed less than {SECONDS:g} s ago; "
            f"this one goes on when it is over, after {SECONDS:g} s at most."
        )
    if stack.enter_context(locks.hold(_LOCK, SECONDS + 1)) is None:
        raise StoreBusy(
            "{place}: records are being moved there already", place=server.database.place
        )


def _report(done: "Migrated", places: tuple[str, str], took: timedelta) -> None:
    total = sum(done.records.values())
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(done.records.items()) if count)
    echo(
        f"Moved {count_of(done.changes, 'change')} from {places[0]} to {places[1]} in {took}.",
        f"It holds {count_of(total, 'record')} of {count_of(done.organizations, 'organization')}"
        f"{f' ({kinds})' if kinds else ''}, {done.vectors:,} of them with vectors; each was compared.",
    )
    if done.breaks:
        warn(
            f"The audit trail of {', '.join(done.breaks)} does not hold, there as here: "
            "`minutebook audit verify` says where."
        )
    else:
        echo("The audit trails are sound.")


def _next_step_with_server(file: str) -> str:
    return (
        "Servers use it with the setting `store`: `minutebook settings set store URL`. Without it "
        f"they go on with {file}, which is as it was."
    )


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show the progress of the move and the time that is left: a bar on a terminal, else a line for each tenth."""
    if sys.stderr.isatty():
        with bar("Moving", hidden=False) as progress:
            yield progress
        return
    began, tenth = time.monotonic(), 0

    def report(part: float, what: str) -> None:
        nonlocal tenth
        if int(part * 10) > tenth:
            tenth = int(part * 10)
            left = (time.monotonic() - began) * (1 - part) / part
            warn(f"{tenth * 10} %, about {timedelta(seconds=round(left))} left: {what}")

    yield report


COMMANDS = (migrate,)
