"""Serve, connect clients, and show the served contracts and the settings."""

import click

from minutebook.cli.printing import say_exactly, warn
from minutebook.cli.terminal import serving
from minutebook.config import Settings, load
from minutebook.domain.errors import InvalidInput
from minutebook.features.http.settings import HttpSettings
from minutebook.features.sign_in.settings import SignInSettings
from minutebook.invocation import DEFAULT_CONTRACT
from minutebook.server.logs import log_to_stderr


@click.command(short_help="Serve contracts to MCP clients, over stdio or HTTP.")
@click.argument("contracts", nargs=-1, metavar="[CONTRACT]...")
@click.option(
    "--no-daemon",
    is_flag=True,
    expose_value=False,
    help="Serve in this process, whatever `daemon` says.",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve over HTTP at this address: each contract at /mcp/CONTRACT, the first at /mcp too; "
    "all of them if none is named.",
)
@click.option(
    "--ui",
    "with_pages",
    is_flag=True,
    help="With --http: serve the web pages too, at / of the same address.",
)
@serving
def serve(
    options: dict[str, str],
    contracts: tuple[str, ...],
    http: str | None,
    with_pages: bool,  # noqa: FBT001
) -> None:
    """Serve contracts to MCP clients: over stdio (the setting `contract`, else knowledge), or HTTP.

    Over stdio the daemon serves, where there can be one: see `minutebook daemon --help`.
    """
    settings = load(options)
    log_to_stderr(settings)
    if http is not None:
        _serve_http(settings, contracts, http, with_pages=with_pages)
        return
    if with_pages:
        raise InvalidInput("--ui", "needs --http: the pages are served over HTTP")
    from minutebook.contracts.registry import opened
    from minutebook.server.stdio import in_process

    names = contracts or (settings.contract or DEFAULT_CONTRACT,)
    served = opened(
        names, read_only=settings.read_only, tools=settings.tools, answers=settings.answers
    )
    in_process.serve(settings, served)


def _serve_http(
    settings: Settings, contracts: tuple[str, ...], address: str, *, with_pages: bool
) -> None:
    """Serve contracts over HTTP at an address, all of them if none is named, until a signal comes."""
    from minutebook.contracts.registry import CONTRACTS, narrowed, opened
    from minutebook.features.http.process import serve as serve_http
    from minutebook.features.http.requests.hosts import address_given

    # Each has its path, so that none stands in another's way.
    each_alone = [opened([name])[0] for name in contracts or CONTRACTS]
    left = narrowed(
        each_alone,
        read_only=settings.read_only,
        tools=settings.tools,
        answers=settings.answers,
    )
    by_name = {contract.name: contract for contract in left if contract.listed}
    sign_ins = None
    if with_pages:
        from minutebook.features.pages.frame.sign_ins import SignIns

        sign_ins = SignIns()

    def announce(url: str) -> None:
        warn(f"Minutebook serves at {url}/mcp")
        if sign_ins is not None:
            way = (
                "a token"
                if settings.of(SignInSettings).oidc_client is None
                else "a token or the provider"
            )
            warn(
                f"Its pages are at {settings.of(HttpSettings).public_url or url}; {way} lets people in"
            )

    serve_http(settings, by_name, address_given(address), announce, sign_ins)


@click.command("export-schema", short_help="Print a contract's tools, schemas and errors as JSON.")
@click.argument("contract", required=False)
@click.option("--openapi", is_flag=True, help="As OpenAPI, of its operations over plain HTTP.")
@click.option(
    "--format", type=click.Choice(["json", "yaml"]), default="json", help="What to write it in."
)
@click.option(
    "--version",
    type=click.Choice(["3.1", "3.0"]),
    help="The version of OpenAPI; 3.1 if not given.",
)
@click.pass_obj
def export_schema(
    options: dict[str, str],
    contract: str | None,
    openapi: bool,  # noqa: FBT001
    format: str,
    version: str | None,
) -> None:
    """Print a CONTRACT's tools, schemas and errors as one document.

    Where none is named it is that of the setting `contract`.
    """
    from minutebook.contracts.registry import CONTRACTS, opened
    from minutebook.features.http.protocols.openapi import VERSIONS, exported, written

    contract = contract or load(options).contract
    if not contract:
        raise click.UsageError(
            f"name the CONTRACT, one of {', '.join(CONTRACTS)}; for example "
            "`minutebook export-schema ledger > mcp_api_v1.json`"
        )

    if version is not None and not openapi:
        raise click.UsageError("--version is the version of OpenAPI: give --openapi too")
    (chosen,) = opened([contract])
    if openapi:
        text = exported(chosen, format, version or VERSIONS[0])
    else:
        text = chosen.exported() if format == "json" else written(chosen.schema(), format)
    # As bytes, so that it is the same on every platform, whatever the terminal's encoding.
    say_exactly(text.encode())


COMMANDS = (serve, export_schema)
