"""Enter Minutebook into the configuration of clients, and take it out again."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from minutebook.cli.printing import body, echo, style
from minutebook.cli.terminal import serving
from minutebook.config import Settings, environment, explicit, load, option_of, settings_with
from minutebook.config.machine import places_here
from minutebook.features.install.known_clients import CLIENTS
from minutebook.features.install.served import agent_tools, default_options
from minutebook.record.caller import ANYBODY
from minutebook.record.errors import InvalidInput
from minutebook.serve.invocation import FILE, FLAGS, IDENTITY, SERVING

if TYPE_CHECKING:
    from minutebook.features.install.clients import Installation, Scope
    from minutebook.features.install.originals import Originals

_FOLDERS = "scope_from_folder"


@click.command(short_help="Enter Minutebook into a client's configuration.")
@click.argument("client", required=False)
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
    client: str | None,
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
    from minutebook.features.install.originals import Originals

    if client is None:
        list_clients()
        return []
    if url is None and token_env is not None:
        remedy = "needs --url: a server that the client starts takes no token"
        raise InvalidInput("--token-env", remedy)
    entry = ClientEntry(options, client, contracts, server_name, "project" if project else "user")
    originals = Originals(load(options).home)
    plans = []
    if remove and not hooks:
        plans = entry.removals(is_project=project)
    elif url is not None or not remove:
        plans = [entry.local() if url is None else entry.remote(url, token_env)]
    if hooks:
        hooked = entry.hooks(remove=remove, earlier=plans, url=url, token_variable=token_env)
        plans = joined(plans, hooked)
    served = entry.served() if url is None and not remove else ""
    plans = [originals.settled(each) for each in plans]
    apply_plans(originals, plans, served, dry_run=dry_run)
    if token_env is not None and not remove:
        echo(body(f"The token goes into the variable {token_env} of whatever starts the client."))
    return [_told(each, dry_run=dry_run) for each in plans]


def _told(plan: "Installation", *, dry_run: bool) -> dict[str, object]:
    """Return the change of a client's file, for programs."""
    return {
        "client": plan.client,
        "path": plan.path,
        "changed": plan.changed and not dry_run,
        "removed": plan.is_deleted,
        "backup": plan.backup,
    }


class ClientEntry:
    """The part of a client's configuration for these settings: plans of it, and of its removal."""

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
        self._entered = {**_unstated_options(options, client, contracts), **options}
        self._given: dict[str, Any] = {
            "scope": scope,
            "places": places_here(),
        }
        self._named = {**self._given, "server_name": server_name}

    def removals(self, *, is_project: bool) -> "list[Installation]":
        """Plan that the entry and its hooks go, and of a user's the skill and permission, too."""
        from minutebook.features.install import clients
        from minutebook.features.install.hooks import HOOKS
        from minutebook.features.install.reading_aids import plan_permission, plan_skill

        places = self._given["places"]
        plans = [clients.plan_removal(self._client, **self._named)]
        if not is_project:
            aids = (
                plan(self._client, places, remove=True) for plan in (plan_permission, plan_skill)
            )
            plans += [each for each in aids if each is not None]
        if self._client not in HOOKS:
            return plans
        # A file of hooks that is another client's, too, goes with the last of them.
        owner = HOOKS[self._client].command_name
        entered = {each.client.name for each in clients.set_up(places) if each.names}
        if owner != self._client and owner in entered:
            return plans
        hooked = self.hooks(remove=True, earlier=plans, url=None, token_variable=None)
        return joined(plans, hooked)

    def remote(self, url: str, token_variable: str | None) -> "Installation":
        """Plan an entry of a server at a URL. Raises InvalidInput for a setting that the server decides itself."""
        from minutebook.features.install import clients

        _check_remote(self._options, self._contracts)
        endpoint = _endpoint(url, self._contracts)
        return clients.plan_remote(
            self._client, url=endpoint, token_variable=token_variable, **self._named
        )

    def local(self) -> "Installation":
        """Plan an entry by which the client starts a server of its own."""
        from minutebook.features.install import clients
        from minutebook.serve.contracts.registry import opened
        from minutebook.serve.launch import import_path, installed_command

        settings = load(self._entered)
        named = self._contracts or tuple(agent_tools())
        opened(named, read_only=settings.read_only, tools=settings.tools)
        arguments = _arguments(settings, self._entered, self._client, named)
        command = [*installed_command(), *arguments]
        return clients.plan(
            self._client, command=command, environment=import_path(environment()), **self._named
        )

    def plans(self, *, hooks: bool) -> "list[Installation]":
        """Plan the entry of a server, and hooks, a plan a file."""
        server = self.local()
        if not hooks:
            return [server]
        hooked = self.hooks(remove=False, earlier=[server], url=None, token_variable=None)
        return joined([server], hooked)

    def served(self) -> str:
        """Name the tools that the client is served, for a person."""
        settings = load(self._entered)
        tools = ", ".join(settings.tools) or "every tool of its contracts"
        return " ".join((f"It is served {tools}.", *self.folder_line()))

    def folder_line(self) -> list[str]:
        """Say that folders have a say, if they have."""
        is_on = load(self._entered).scope_from_folder == "on"
        return ["What it keeps in a project's folder belongs to that project."] if is_on else []

    def hooks(
        self,
        *,
        remove: bool,
        earlier: "Sequence[Installation]",
        url: str | None,
        token_variable: str | None,
    ) -> "Installation":
        """Plan hooks that ask the daemon of these settings, or a server at a URL, or their removal.

        A plan of the same file in `earlier` becomes a part of it.
        """
        from minutebook.features.install.clients import location
        from minutebook.features.install.hooks import hook_client, plan_hooks
        from minutebook.serve.launch import installed_command

        found = hook_client(self._client)
        name = found.command_name
        path = location(found, self._given["scope"], self._given["places"])
        if url is None:
            stated = _stated_in(load(self._entered), self._entered, IDENTITY)
            words = ["hook", name, *stated]
        else:
            there = ["--url", url, *(["--token-env", token_variable] if token_variable else [])]
            words = [*there, "hook", name]
        command = [*installed_command(), *words]
        return plan_hooks(
            self._client,
            command=command,
            remove=remove,
            earlier=next((each for each in earlier if each.path == path), None),
            **self._given,
        )


def _unstated_options(
    options: dict[str, str], client: str, contracts: tuple[str, ...]
) -> dict[str, str]:
    """Return the settings of a client that options, variables and `config.toml` leave open."""
    said = explicit(options)
    defaults = default_options(client)
    if contracts or "contract" in said:
        del defaults["tools"]
    return {name: value for name, value in defaults.items() if name not in said}


def joined(plans: "Sequence[Installation]", hooked: "Installation") -> "list[Installation]":
    """Return plans with that of hooks, which takes the place of one of the same file."""
    return [*(each for each in plans if each.path != hooked.path), hooked]


def apply_plans(
    originals: "Originals", plans: "Sequence[Installation]", served: str, *, dry_run: bool
) -> None:
    """Show the changes of a client's files, or make them; `served` is said with the first."""
    for number, plan in enumerate(plans):
        if dry_run and plan.changed:
            _show_difference(plan.before or "", plan.after, plan.path)
            echo("Nothing was written.")
            continue
        if not dry_run:
            originals.apply(plan, datetime.now(UTC))
        if plan.changed:
            kept = f" The file as it was: {plan.backup}" if plan.backup is not None else ""
            done = "Removed" if plan.is_deleted else "Wrote"
            echo(f"{style(f'{done} {plan.path}.', fg='green')}{kept}")
            echo(
                *filter(None, [body(" ".join(filter(None, ("" if number else served, plan.note))))])
            )
        elif not plan.removes:
            echo(f"{plan.path} is as it should be.")
    if plans and plans[0].removes and not any(plan.changed for plan in plans):
        echo(f"Nothing of Minutebook is in {CLIENTS[plans[0].client].title}.")


def list_clients() -> None:
    """List the clients that are known, and the commands that connect them."""
    width = max(map(len, CLIENTS))
    echo(*(f"{name:<{width}}  {client.title}" for name, client in CLIENTS.items()))
    echo(
        "",
        "`minutebook setup` finds those that are on this machine, and asks of each;",
        "`minutebook install CLIENT` enters one.",
    )


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
    from minutebook.serve.contracts.registry import opened

    opened(contracts)
    if urlsplit(url).path.strip("/"):
        if contracts:
            raise InvalidInput("--contract", "cannot be used with a --url that has a path already")
        return url
    return "/".join([url.rstrip("/"), "mcp", *contracts])


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
    here = explicit(options).get(_FOLDERS)
    if here is None or here.origin == str(settings.home / FILE):
        names = [name for name in names if name != _FOLDERS]
    return [
        part
        for name in names
        # A feature that is not there has no settings.
        if hasattr(standard, name)
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


COMMANDS = (install,)
