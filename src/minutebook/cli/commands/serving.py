"""Serve contracts over stdio, and print them."""

import click

from minutebook.cli.added_options import added_options
from minutebook.cli.printing import say_exactly
from minutebook.cli.terminal import serving
from minutebook.config import load
from minutebook.serve.invocation import DEFAULT_CONTRACT
from minutebook.serve.logs import log_to_stderr


@click.command(short_help="Serve contracts to MCP clients, over stdio or HTTP.")
@click.argument("contracts", nargs=-1, metavar="[CONTRACT]...")
@click.option(
    "--no-daemon",
    is_flag=True,
    expose_value=False,
    help="Serve in this process, whatever `daemon` says.",
)
@serving
@added_options("serve")
def serve(options: dict[str, str], contracts: tuple[str, ...]) -> None:
    """Serve contracts to MCP clients: over stdio (knowledge if none is named), or HTTP.

    Over stdio the daemon serves, where there can be one: see `minutebook daemon --help`.
    """
    settings = load(options)
    log_to_stderr(settings)
    from minutebook.serve.contracts.registry import open_contracts
    from minutebook.serve.stdio import in_process

    names = contracts or (DEFAULT_CONTRACT,)
    served = open_contracts(
        names, read_only=settings.read_only, tools=settings.tools, answers=settings.answers
    )
    in_process.serve(settings, served)


@click.command("export-schema", short_help="Print a contract's tools, schemas and errors as JSON.")
@click.argument("contract", default="")
@click.option(
    "--format", type=click.Choice(["json", "yaml"]), default="json", help="What to write it in."
)
@click.pass_obj
@added_options("export-schema")
def export_schema(options: dict[str, str], contract: str, format: str) -> None:
    """Print a CONTRACT's tools, schemas and errors as one document."""
    from minutebook.serve.contracts.answers import serialized
    from minutebook.serve.contracts.registry import open_contracts

    (chosen,) = open_contracts([contract])
    text = chosen.exported() if format == "json" else serialized(chosen.schema(), format)
    # As bytes, so that it is the same on every platform, whatever the terminal's encoding.
    say_exactly(text.encode())


COMMANDS = (serve, export_schema)
