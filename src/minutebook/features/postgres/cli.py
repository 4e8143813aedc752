"""Spread the store over the machines of a cluster."""

import click

from minutebook.cli.opening import check_begun, settings_of
from minutebook.cli.printing import echo
from minutebook.cli.terminal import Commands, home_option
from minutebook.record.errors import InvalidInput
from minutebook.record.reason import count_of

_SHARDS = 32


@click.group(cls=Commands, short_help="Spread the store over machines.")
def store() -> None:
    """Spread the store over the machines of a cluster."""


@store.command(short_help="Spread the records over the nodes of a Citus cluster.")
@click.option(
    "--shards",
    type=click.IntRange(1, 1024),
    default=_SHARDS,
    show_default=True,
    help="Parts that a node can take, each with whole organizations; cannot be changed here later.",
)
@click.option("--dry-run", is_flag=True, help="Print the statements, and change nothing.")
@home_option
def distribute(options: dict[str, str], shards: int, dry_run: bool) -> dict[str, object]:  # noqa: FBT001
    """Spread the records over the nodes of a Citus cluster, each organization whole on one of them.

    The setting `store` must name the database on the coordinator. Writers wait meanwhile. What was cut
    short has changed nothing or is finished by the same command; what is placed already stays.
    """
    from minutebook.features.postgres.store import opened as opened_at

    settings = settings_of(options)
    check_begun(settings)
    if settings.store is None:
        raise InvalidInput(
            "store",
            "must name a database on a Citus cluster: `minutebook migrate --to URL` moves the records "
            "of the data directory there, `minutebook settings set store URL` names it",
        )
    opened = opened_at(settings, settings.store)
    try:
        if dry_run:
            plan = list(opened.database.distribution_plan(shards))
            echo(*(f"{statement};" for statement in plan))
            return {"statements": plan}
        done = opened.database.distribute(shards)
        placement = opened.database.placement()
    finally:
        opened.close()
    what = f"Placed {count_of(len(done), 'table')}" if done else "Every table was placed already"
    echo(f"{what}: {placement.shards} shards on {placement.nodes} nodes. {opened.database.place}")
    return {
        "place": opened.database.place,
        "placed": len(done),
        "shards": placement.shards,
        "nodes": placement.nodes,
    }


COMMANDS = (store,)
