"""Serve, connect clients, and show the served contracts and the settings."""

import difflib
import getpass
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

import click

from minutebook.cli.opening import daemon_of, settings_of
from minutebook.cli.printing import body, echo, say_exactly, style, warn
from minutebook.cli.terminal import identity, serving
from minutebook.config import Settings, environment, load, option_of, settings_with, stated
from minutebook.domain.caller import ANYBODY
from minutebook.domain.errors import InvalidInput
from minutebook.features.http.settings import HttpSettings
from minutebook.features.sign_in.settings import SignInSettings
from minutebook.invocation import DEFAULT_CONTRACT, FILE, FLAGS, IDENTITY, PREFIX, SERVING
from minutebook.server.logs import log_to_stderr

if TYPE_CHECKING:
    from minutebook.api.over_socket import OverSocket
    from minutebook.install.clients import Installation, Places, Scope

_FOLDERS = "scope_from_folder"


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
    from minutebook.server.http.hosts import address_given
    from minutebook.server.http.process import serve as serve_http

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
        from minutebook.web.sign_ins import SignIns

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


@click.command(short_help="Open the web pages in the browser.")
@click.option("--no-browser", is_flag=True, help="Print the link; open nothing.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0 (the default): any.")
@identity
def ui(options: dict[str, str], no_browser: bool, port: int) -> None:  # noqa: FBT001
    """Open the web pages in the browser, and serve them to this machine until Ctrl-C.

    The link lets in once, within two minutes, and whoever follows it acts as you do here. If a daemon
    runs, it serves them, with the store and the model that it has open.
    """

    def announce(link: str) -> None:
        echo(link, "It lets in once, within two minutes. Ctrl-C ends the pages.")
        sys.stdout.flush()
        if not no_browser:
            # Some browsers of a terminal keep the thread that opens them.
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()

    if (there := daemon_of(options)) is None:
        _serve_pages(options, port, announce)
    else:
        _wait_for_pages(there, port, announce)


def _serve_pages(options: dict[str, str], port: int, announce: Callable[[str], None]) -> None:
    """Serve the pages in this process until Ctrl-C."""
    from minutebook.server.http.hosts import Address
    from minutebook.server.http.process import of_this_machine
    from minutebook.server.http.process import serve as serve_http
    from minutebook.web.sign_ins import SignIns

    settings = settings_of(options)
    owner = settings.person(options, getpass.getuser())
    sign_ins = SignIns(owner, places=places_here())
    # A port of 127.0.0.1 that nothing else reaches; the contracts have their own ways in.
    alone = of_this_machine(settings)
    log_to_stderr(settings)

    def announce_way_in(url: str) -> None:
        announce(f"{url}/enter?key={sign_ins.link()}")

    serve_http(alone, {}, Address("127.0.0.1", port), announce_way_in, sign_ins)


def _wait_for_pages(there: "OverSocket", port: int, announce: Callable[[str], None]) -> NoReturn:
    """Have the daemon serve the pages until Ctrl-C, and end the process."""
    # A process manager ends the pages as a person does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    status = 1
    try:
        for link in there.pages(str(Path.cwd()), port):
            announce(link)
        warn("The daemon has ended, and the pages with it; `minutebook ui` opens them again.")
    except KeyboardInterrupt:
        status = 0
    sys.stdout.flush()
    # Some browsers of a terminal keep the thread that opened them.
    os._exit(status)


@click.command(short_help="Show what it does, on a store of its own.")
@click.option("--keep", is_flag=True, help="Keep the demo's data directory and say where it is.")
@click.option("--ui", "with_pages", is_flag=True, help="Fill a store and show it in the browser.")
@click.option("--no-browser", is_flag=True, help="With --ui: print the link; open nothing.")
def demo(keep: bool, with_pages: bool, no_browser: bool) -> None:  # noqa: FBT001
    """Show what it does, on a store of its own, over a real MCP connection.

    With --ui a store is filled with two months of a small team, and the web pages open on it, until
    Ctrl-C.
    """
    if with_pages:
        _show_pages(keep=keep, opens_browser=not no_browser)
        return
    from minutebook.cli.demo import run

    sys.exit(run(keep=keep))


def _show_pages(*, keep: bool, opens_browser: bool) -> None:
    from minutebook.cli.demo_store import fill
    from minutebook.install.launch import module_command

    home = Path(tempfile.mkdtemp(prefix="minutebook-demo-"))
    try:
        echo("Filling a store with the two months of a small team that rebuilds its billing …")
        fill(settings_with(home=home))
        own = settings_of({"home": str(home)})
        arguments = ["ui", "--home", str(home), "--role", "admin"]
        command = module_command("minutebook", *arguments, *["--no-browser"] * (not opens_browser))
        # Of what is set only the model: the demo shows no store or ledger but its own.
        variables = {k: v for k, v in environment().items() if not k.startswith(PREFIX)}
        chosen = {"EMBEDDER": own.embedder, "MODELS": str(own.models), "RECALL_LOG": "questions"}
        variables |= {f"{PREFIX}{name}": value for name, value in chosen.items()}
        sys.stdout.flush()
        # A process of its own: it ends at once at Ctrl-C, and would leave the folder.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with subprocess.Popen(command, env=variables) as pages:  # noqa: S603 - this program
            with suppress(KeyboardInterrupt):
                pages.wait()
            pages.terminate()
    finally:
        if keep:
            echo(f"The demo's memory is in {home}; try: minutebook ui --home {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)


@click.command(short_help="Enter Minutebook into a client's configuration.")
@click.argument("client")
@click.option("--project", is_flag=True, help="Write this folder's configuration, not yours.")
@click.option("--name", "server_name", default="minutebook", show_default=True)
@click.option("--contract", "contracts", multiple=True, help="Contract to serve; may be repeated.")
@click.option("--url", help="Lead the client to a server that runs at this URL; start none.")
@click.option(
    "--token-env",
    metavar="VAR",
    help="With --url: the variable from which the client takes the token; it is written nowhere.",
)
@click.option(
    "--hooks",
    is_flag=True,
    help="Enter hooks too: what matters is told by itself, and sessions are kept. With --remove: "
    "take out the hooks alone.",
)
@click.option("--remove", is_flag=True, help="Take the entry out again, and hooks.")
@click.option("--dry-run", is_flag=True, help="Show the change; write nothing.")
@serving
def install(
    options: dict[str, str],
    client: str,
    project: bool,  # noqa: FBT001
    server_name: str,
    contracts: tuple[str, ...],
    url: str | None,
    token_env: str | None,
    hooks: bool,  # noqa: FBT001
    remove: bool,  # noqa: FBT001
    dry_run: bool,  # noqa: FBT001
) -> list[dict[str, object]]:
    """Enter Minutebook into the configuration of CLIENT.

    CLIENT is claude-code, claude-desktop, cursor, vscode, gemini, codex, copilot, windsurf, zed, cline,
    roo, continue, opencode, goose, junie, kiro or amp. What else the configuration holds stays; the file
    as it was is kept beside it. What the client writes is recorded under its name; --agent chooses another.
    """
    from minutebook.install.known_hooks import HOOKS

    if url is None and token_env is not None:
        raise InvalidInput(
            "--token-env", "needs --url: a server that the client starts takes no token"
        )
    entry = _Entry(options, client, contracts, server_name, "project" if project else "user")
    plans = []
    if remove and not hooks:
        plans.append(entry.removal())
    elif url is not None:
        plans.append(entry.remote(url, token_env))
    elif not remove:
        plans.append(entry.local())
    # A file that is another client's, too, goes only where hooks are named.
    has_own = client in HOOKS and HOOKS[client].command_name == client
    if hooks or (remove and has_own):
        hooked = entry.hooks(
            remove=remove, earlier=plans[0] if plans else None, url=url, token_variable=token_env
        )
        plans = [*(each for each in plans if each.path != hooked.path), hooked]
    for plan in plans:
        _apply(plan, dry_run=dry_run)
    if token_env is not None and not remove:
        echo(body(f"The token goes into the variable {token_env} of whatever starts the client."))
    return [
        {
            "client": each.client,
            "path": each.path,
            "changed": each.changed and not dry_run,
            "removed": each.is_removed,
            "backup": each.backup,
        }
        for each in plans
    ]


class _Entry:
    """The entry of these settings in a client's configuration: plans of it, and of its removal."""

    def __init__(
        self,
        options: dict[str, str],
        client: str,
        contracts: tuple[str, ...],
        server_name: str,
        scope: "Scope",
    ) -> None:
        self._options = options
        self._client = client
        self._contracts = contracts
        self._given: dict[str, Any] = {
            "scope": scope,
            "places": places_here(),
            "now": datetime.now(UTC),
        }
        self._named = {**self._given, "server_name": server_name}

    def removal(self) -> "Installation":
        """Plan that the entry goes."""
        from minutebook.install import clients

        return clients.plan_removal(self._client, **self._named)

    def remote(self, url: str, token_variable: str | None) -> "Installation":
        """Plan an entry of a server at a URL. Raises InvalidInput for settings that the server decides itself."""
        from minutebook.install import clients

        _check_remote(self._options, self._contracts)
        endpoint = _endpoint(url, self._contracts)
        return clients.plan_remote(
            self._client, url=endpoint, token_variable=token_variable, **self._named
        )

    def local(self) -> "Installation":
        """Plan an entry by which the client starts a server of its own."""
        from minutebook.contracts.registry import opened
        from minutebook.install import clients
        from minutebook.install.launch import import_path, installed_command

        settings = load(self._options)
        names = self._contracts or (settings.contract or DEFAULT_CONTRACT,)
        opened(names, read_only=settings.read_only, tools=settings.tools)
        arguments = _arguments(settings, self._options, self._client, self._contracts)
        command = [*installed_command(), *arguments]
        return clients.plan(
            self._client, command=command, environment=import_path(environment()), **self._named
        )

    def hooks(
        self,
        *,
        remove: bool,
        earlier: "Installation | None",
        url: str | None,
        token_variable: str | None,
    ) -> "Installation":
        """Plan hooks that ask the daemon of these settings, or a server at a URL, or their removal.

        `earlier` is as `plan_hooks` has it.
        """
        from minutebook.install.hooks import hook_client, plan_hooks
        from minutebook.install.launch import installed_command

        name = hook_client(self._client).command_name
        if url is None:
            stated = _stated_in(load(self._options), self._options, IDENTITY)
            words = ["hook", name, *stated]
        else:
            there = ["--url", url, *(["--token-env", token_variable] if token_variable else [])]
            words = [*there, "hook", name]
        command = [*installed_command(), *words]
        return plan_hooks(
            self._client, command=command, remove=remove, earlier=earlier, **self._given
        )


def _apply(plan: "Installation", *, dry_run: bool) -> None:
    """Show a change of a client's file, and make it."""
    from minutebook.install import clients

    _show_difference(plan.before or "", plan.after, plan.path)
    if not plan.changed:
        echo(f"{plan.path} is as it should be.")
    elif dry_run:
        echo("Nothing was written.")
    else:
        clients.apply(plan)
        done = "Removed" if plan.is_removed else "Wrote"
        echo(style(f"{done} {plan.path}.", fg="green"))
        if plan.backup is not None:
            echo(f"The file as it was: {plan.backup}")
        echo(body(plan.note))


def _check_remote(options: dict[str, str], contracts: tuple[str, ...]) -> None:
    """Raise InvalidInput if something is asked for that the server at a URL decides itself."""
    for name in options:
        if name in SERVING:
            raise InvalidInput(
                option_of(name), "cannot be used with --url: the server there decides"
            )
    if len(contracts) > 1:
        raise InvalidInput("--contract", "must name one with --url: each has a path of its own")


def _endpoint(url: str, contracts: tuple[str, ...]) -> str:
    """Return the URL of a contract; one without a path is that of a whole server."""
    from minutebook.contracts.registry import opened

    opened(contracts)
    if urlsplit(url).path.strip("/"):
        if contracts:
            raise InvalidInput("--contract", "cannot be used with a --url that has a path already")
        return url
    return "/".join([url.rstrip("/"), "mcp", *contracts])


def places_here() -> "Places":
    """Return where clients keep their configuration on this machine."""
    from minutebook.install.clients import Places

    return Places(platform=sys.platform, home=Path.home(), cwd=Path.cwd(), variables=environment())


def _arguments(
    settings: Settings, options: dict[str, str], client: str, contracts: tuple[str, ...]
) -> list[str]:
    """Say how a client starts the server, which gets little of this environment."""
    # Calls of the governance contract name their agent themselves.
    if settings.agent == ANYBODY and "governance" not in contracts:
        settings = replace(settings, agent=client)
    return ["serve", *contracts, *_stated_in(settings, options, SERVING)]


def _stated_in(settings: Settings, options: dict[str, str], names: Iterable[str]) -> list[str]:
    """Return the options that state the settings of these names which are not as they come.

    What folders say is every client's alike, from `config.toml`, unless it is said here of this one.
    """
    standard = settings_with()
    here = stated(options).get(_FOLDERS)
    if here is None or here.origin == str(settings.home / FILE):
        names = [name for name in names if name != _FOLDERS]
    return [
        part
        for name in names
        if (value := getattr(settings, name)) != getattr(standard, name) or name == _FOLDERS
        for part in _stated(name, value)
    ]


def _stated(name: str, value: object) -> list[str]:
    """Write a setting as an option, so that `load` reads the same value from it."""
    if name in FLAGS:
        return [option_of(name)]
    text = ",".join(value) if isinstance(value, tuple) else str(value)
    return [option_of(name), text]


def _show_difference(before: str, after: str, path: Path) -> None:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(path), str(path), lineterm="", n=2
    )
    colours = {"+": "green", "-": "red"}
    for line in lines:
        echo(style(line, fg=colours.get(line[:1])))


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
    from minutebook.contracts.openapi import VERSIONS, exported, written
    from minutebook.contracts.registry import CONTRACTS, opened

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


COMMANDS = (install, serve, ui, demo, export_schema)
