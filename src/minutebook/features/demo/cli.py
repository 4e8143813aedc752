"""Show the main job on a store of its own."""

import sys

import click


@click.command(short_help="Show what it does, on a store of its own.")
@click.option("--keep", is_flag=True, help="Keep the demo's data directory and say where it is.")
def demo(keep: bool) -> None:  # noqa: FBT001
    """Show the main job on a store of its own, over a real MCP connection."""
    from minutebook.features.demo.demo import run

    sys.exit(run(keep=keep))


COMMANDS = (demo,)
