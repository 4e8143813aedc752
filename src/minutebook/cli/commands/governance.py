"""Mark, restore and link memories."""

import click

from minutebook.ask import memories
from minutebook.cli.ids import memory_id
from minutebook.cli.opening import opened
from minutebook.cli.printing import echo
from minutebook.cli.terminal import both_ids, identity
from minutebook.record.errors import InvalidInput
from minutebook.record.records import Edge, Memory


@click.command(short_help="Lock, unlock, verify or deprecate a memory.")
@click.argument("id")
@click.argument("stand", type=click.Choice(list(map(str, memories.Stand))))
@click.option("--reason", default="", help="Why it is out of date, to `deprecate` it.")
@identity
def mark(options: dict[str, str], id: str, stand: str, reason: str) -> Memory:
    """Set the status of the memory ID.

    \b
    lock       nobody changes or removes it until it is unlocked (needs --role manager)
    unlock     it has the status again that it had before (needs --role manager)
    verify     it was checked by a person; a deprecated one holds again
    deprecate  it is out of date: agents no longer find it, its history stays
    """  # noqa: D301
    if (stand == memories.Stand.DEPRECATE) is not bool(reason.strip()):
        raise InvalidInput("--reason", "is needed to deprecate a memory, and for nothing else")
    with opened(options) as api:
        status = memories.Stand(stand)
        memory = api.run(memories.set_standing, memory_id(api, id), status, reason)
    echo(f"{both_ids(memory)} is {memory.status} now.")
    return memory


def restore_memory(options: dict[str, str], id: str, number: int | None) -> Memory:
    """Bring back a soft-deleted memory or, as a new version, the text of an earlier one."""
    with opened(options) as api:
        memory = api.run(memories.restore_memory, memory_id(api, id), number)
    echo(f"Restored {both_ids(memory)}; it is at version {memory.version}.")
    return memory


@click.command(short_help="Link one memory to another.")
@click.argument("source")
@click.argument("target")
@click.option(
    "--type", "link_type", default="related", show_default=True, help="`related` leads both ways."
)
@identity
def link(options: dict[str, str], source: str, target: str, link_type: str) -> Edge:
    """Lead from the memory SOURCE to the memory TARGET."""
    if not link_type.strip():
        raise InvalidInput("--type", "must not be empty")
    with opened(options) as api:
        source, target = memory_id(api, source), memory_id(api, target)
        edge = api.run(memories.link, source, target, link_type)
    echo(f"Linked {edge.source} to {edge.target} as {edge.type}.")
    return edge


COMMANDS = (mark, link)
