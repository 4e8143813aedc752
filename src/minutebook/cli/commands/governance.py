"""Lock, verify, deprecate, restore and link memories."""

import click

from minutebook.cli.ids import memory_id
from minutebook.cli.opening import opened
from minutebook.cli.printing import echo
from minutebook.cli.terminal import both_ids, identity
from minutebook.domain.errors import InvalidInput
from minutebook.domain.records import Edge, Memory
from minutebook.operations import memories
from minutebook.operations.memories import Stand, set_standing


def _stand(options: dict[str, str], id: str, done: str, stand: Stand, reason: str = "") -> Memory:
    with opened(options) as api:
        memory = api.run(set_standing, memory_id(api, id), stand, reason)
    echo(f"{done} {both_ids(memory)}; its status is {memory.status}.")
    return memory


@click.command(short_help="Let nobody change or remove a memory.")
@click.argument("id")
@identity
def lock(options: dict[str, str], id: str) -> Memory:
    """Lock the memory ID: nobody changes or removes it until it is unlocked (needs --role manager)."""
    return _stand(options, id, "Locked", Stand.LOCK)


@click.command(short_help="Let a locked memory be changed again.")
@click.argument("id")
@identity
def unlock(options: dict[str, str], id: str) -> Memory:
    """Unlock the memory ID; it has the status again that it had before (needs --role manager)."""
    return _stand(options, id, "Unlocked", Stand.UNLOCK)


@click.command(short_help="Mark a memory as checked by a person.")
@click.argument("id")
@identity
def verify(options: dict[str, str], id: str) -> Memory:
    """Mark the memory ID as checked by a person; a deprecated one holds again."""
    return _stand(options, id, "Verified", Stand.VERIFY)


@click.command(short_help="Mark a memory as out of date.")
@click.argument("id")
@click.option("--reason", required=True, help="Why it is out of date.")
@identity
def deprecate(options: dict[str, str], id: str, reason: str) -> Memory:
    """Mark the memory ID as out of date: agents no longer find it, its history stays."""
    if not reason.strip():
        raise InvalidInput("--reason", "must not be empty")
    return _stand(options, id, "Deprecated", Stand.DEPRECATE, reason)


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


COMMANDS = (lock, unlock, verify, deprecate, link)
