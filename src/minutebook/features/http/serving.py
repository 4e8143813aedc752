"""The options of `serve` and `export-schema` about HTTP."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from minutebook.cli.added_options import AddedOptions
from minutebook.cli.printing import say_exactly, warn
from minutebook.config import Settings, load
from minutebook.feature import entries_of
from minutebook.features.http.mounts import Mount, MountOption
from minutebook.record.errors import InvalidInput
from minutebook.serve.logs import log_to_stderr

_MOUNTS: Sequence[MountOption] = tuple(entries_of("http.mount"))


def _serve_if_wanted(options: dict[str, str], typed: Mapping[str, Any]) -> bool:
    """Serve contracts over HTTP if `--http` was given; return whether it was. Raises InvalidInput."""
    wanted = [each for each in _MOUNTS if typed[each.name]]
    if typed["http"] is None:
        if wanted:
            raise InvalidInput(f"--{wanted[0].name}", "needs --http: it is served over HTTP")
        return False
    settings = load(options)
    log_to_stderr(settings)
    _serve(settings, typed["contracts"], typed["http"], [each.open() for each in wanted])
    return True


def _serve(
    settings: Settings, contracts: Sequence[str], address: str, mounts: Sequence[Mount]
) -> None:
    """Serve contracts over HTTP at an address, all of them if none is named, until a signal comes."""
    from minutebook.features.http import process
    from minutebook.features.http.requests.hosts import parsed_address
    from minutebook.serve.contracts.registry import CONTRACTS, narrowed, open_contracts

    # Opened one by one: each is served at its own path, so that they may share names of tools.
    separate = [open_contracts([name])[0] for name in contracts or CONTRACTS]
    chosen = narrowed(
        separate, read_only=settings.read_only, tools=settings.tools, answers=settings.answers
    )
    by_name = {contract.name: contract for contract in chosen if contract.listed}

    def announce(url: str) -> None:
        warn(f"Minutebook serves at {url}/mcp")
        for each in mounts:
            warn(each.announced(settings, url))

    process.serve(settings, by_name, parsed_address(address), announce, mounts)


def _print_if_wanted(options: dict[str, str], typed: Mapping[str, Any]) -> bool:
    """Print the OpenAPI document of a contract if `--openapi` was given; return whether it was."""
    if not typed["openapi"]:
        if typed["version"] is not None:
            raise click.UsageError("--version is the version of OpenAPI: give --openapi too")
        return False
    from minutebook.features.http.protocols.openapi import VERSIONS, exported
    from minutebook.serve.contracts.registry import open_contracts

    (contract,) = open_contracts([typed["contract"]])
    text = exported(contract, typed["format"], typed["version"] or VERSIONS[0])
    # As bytes, so that it is the same on every platform, whatever the terminal's encoding.
    say_exactly(text.encode())
    return True


SERVE = AddedOptions(
    {
        "http": click.option(
            "--http",
            metavar="HOST:PORT",
            help="Serve over HTTP at this address: each contract at /mcp/CONTRACT, the first at /mcp too; "
            "all of them if none is named.",
        ),
        **{each.name: each.option for each in _MOUNTS},
    },
    _serve_if_wanted,
)
EXPORT_SCHEMA = AddedOptions(
    {
        "openapi": click.option(
            "--openapi", is_flag=True, help="As OpenAPI, of its operations over plain HTTP."
        ),
        "version": click.option(
            "--version",
            type=click.Choice(["3.1", "3.0"]),
            help="The version of OpenAPI; 3.1 if not given.",
        ),
    },
    _print_if_wanted,
)
