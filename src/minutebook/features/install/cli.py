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
    plans = [originals.with_original(each) for each in plans]
    apply_plans(originals, plans, served, dry_run=dry_run)
    if token_env is not None and not remove:
        echo(body(f"The token goes into the variable {token_env} of whatever starts the client."))
    return [_change_record(each, dry_run=dry_run) for each in plans]


def _change_record(plan: "Installation", *, dry_run: bool) -> dict[str, object]:
    """Return the record of a file's change, for `--json`."""
    return {
        "client": plan.client,
        "path": plan.path,
        "changed": plan.changed and not dry_run,
        "removed": plan.is_deleted,
        "backup": plan.backup,
    }


class ClientEntry:
    """Plans the entry of a client for some settings, with its hooks, and their removal."""

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
        self._entry_options = {**_default_options(options, client, contracts), **options}
        self._where: dict[str, Any] = {"scope": scope, "places": places_here()}
        self._named = {**self._where, "server_name": server_name}

    def removals(self, *, is_project: bool) -> "list[Installation]":
        """Plan to take out the entry and its hooks, and, unless `is_project`, the skill and the permission."""
        from minutebook.features.install import clients
        from minutebook.features.install.hooks import HOOKS
        from minutebook.features.install.reading_aids import plan_permission, plan_skill

        places = self._where["places"]
        plans = [clients.plan_removal(self._client, **self._named)]
        if not is_project:
            aids = (
                plan(self._client, places, remove=True) for plan in (plan_permission, plan_skill)
            )
            plans += [each for each in aids if each is not None]
        if self._client not in HOOKS:
            return plans
        # The hooks in a file of two clients are taken out with the last one.
        owner = HOOKS[self._client].command_name
        entered = {each.client.name for each in clients.entered_clients(places) if each.names}
        if owner != self._client and owner in entered:
            return plans
        hooked = self.hooks(remove=True, earlier=plans, url=None, token_variable=None)
        return joined(plans, hooked)

    def remote(self, url: str, token_variable: str | None) -> "Installation":
        """Plan an entry with a server's URL. Raises InvalidInput for an option that the server itself decides."""
        from minutebook.features.install import clients

        _check_remote(self._options, self._contracts)
        endpoint = _endpoint(url, self._contracts)
        return clients.plan_remote(
            self._client, url=endpoint, token_variable=token_variable, **self._named
        )

    def local(self) -> "Installation":
        """Plan an entry by which the client starts a server of its own."""
        from minutebook.features.install import clients
        from minutebook.serve.contracts.registry import open_contracts
        from minutebook.serve.launch import import_path, installed_command

        settings = load(self._entry_options)
        named = self._contracts or tuple(agent_tools())
        open_contracts(named, read_only=settings.read_only, tools=settings.tools)
        arguments = _arguments(settings, self._entry_options, self._client, named)
        command = [*installed_command(), *arguments]
        return clients.plan(
            self._client, command=command, environment=import_path(environment()), **self._named
        )

    def plans(self, *, hooks: bool) -> "list[Installation]":
        """Plan the entry of a server, and with `hooks` its hooks; return one plan for each file."""
        server = self.local()
        if not hooks:
            return [server]
        hooked = self.hooks(remove=False, earlier=[server], url=None, token_variable=None)
        return joined([server], hooked)

    def served(self) -> str:
        """Return the sentence that names the tools which the client is served."""
        settings = load(self._entry_options)
        tools = ", ".join(settings.tools) or "every tool of its contracts"
        return " ".join((f"It is served {tools}.", *self.folder_line()))

    def folder_line(self) -> list[str]:
        """Return the sentence that folders determine the project, if they do."""
        is_on = load(self._entry_options).scope_from_folder == "on"
        return ["What it keeps in a project's folder belongs to that project."] if is_on else []

    def hooks(
        self,
        *,
        remove: bool,
        earlier: "Sequence[Installation]",
        url: str | None,
        token_variable: str | None,
    ) -> "Installation":
        """Plan hooks that ask the daemon, or the server at a URL, or with `remove` their removal.

        The plan includes the one of the same file in `earlier`.
        """
        from minutebook.features.install.clients import location
        from minutebook.features.install.hooks import hook_client, plan_hooks
        from minutebook.serve.launch import installed_command

        found = hook_client(self._client)
        name = found.command_name
        path = location(found, self._where["scope"], self._where["places"])
        if url is None:
            options = _options_for(load(self._entry_options), self._entry_options, IDENTITY)
            words = ["hook", name, *options]
        else:
            token = ["--token-env", token_variable] if token_variable else []
            words = ["--url", url, *token, "hook", name]
        command = [*installed_command(), *words]
        return plan_hooks(
            self._client,
            command=command,
            remove=remove,
            earlier=next((each for each in earlier if each.path == path), None),
            **self._where,
        )


def _default_options(
    options: dict[str, str], client: str, contracts: tuple[str, ...]
) -> dict[str, str]:
    """Return the default settings of a client that options, variables and `config.toml` do not set."""
    set_here = explicit(options)
    defaults = default_options(client)
    if contracts or "contract" in set_here:
        del defaults["tools"]
    return {name: value for name, value in defaults.items() if name not in set_here}


def joined(plans: "Sequence[Installation]", hooked: "Installation") -> "list[Installation]":
    """Return plans with that of hooks, which replaces a plan of the same file."""
    return [*(each for each in plans if each.path != hooked.path), hooked]


def apply_plans(
    originals: "Originals", plans: "Sequence[Installation]", served: str, *, dry_run: bool
) -> None:
    """Make the changes of a client's files, or with `dry_run` show them; `served` is printed after the first."""
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
    """Print the known clients, and the commands that connect them."""
    width = max(map(len, CLIENTS))
    echo(*(f"{name:<{width}}  {client.title}" for name, client in CLIENTS.items()))
    echo(
        "",
        "`minutebook setup` finds those that are on this machine, and asks of each;",
        "`minutebook install CLIENT` enters one.",
    )


def _check_remote(options: dict[str, str], contracts: tuple[str, ...]) -> None:
    """Raise InvalidInput for an option that the server at a URL itself decides."""
    for name in options:
        if name in SERVING:
            raise InvalidInput(
                option_of(name), "cannot be used with --url: the server there decides"
            )
    if len(contracts) > 1:
        raise InvalidInput("--contract", "must name one with --url: each has a path of its own")


def _endpoint(url: str, contracts: tuple[str, ...]) -> str:
    """Return the URL of a contract; a URL without a path is that of a server, and gets one."""
    from minutebook.serve.contracts.registry import open_contracts

    open_contracts(contracts)
    if urlsplit(url).path.strip("/"):
        if contracts:
            raise InvalidInput("--contract", "cannot be used with a --url that has a path already")
        return url
    return "/".join([url.rstrip("/"), "mcp", *contracts])


def _arguments(
    settings: Settings, options: dict[str, str], client: str, contracts: tuple[str, ...]
) -> list[str]:
    """Return the arguments with which a client starts the server; they hold all settings, since its environment is another."""
    # The calls of the governance contract name the agent themselves.
    if settings.agent == ANYBODY and "governance" not in contracts:
        settings = replace(settings, agent=client)
    return ["serve", *contracts, *_options_for(settings, options, SERVING)]


def _options_for(settings: Settings, options: dict[str, str], names: Iterable[str]) -> list[str]:
    """Return the options for those settings of some names that do not have their default.

    `scope_from_folder` is among them only if an option or variable sets it for this client, not `config.toml` for all.
    """
    standard = settings_with()
    folders = explicit(options).get(_FOLDERS)
    if folders is None or folders.origin == str(settings.home / FILE):
        names = [name for name in names if name != _FOLDERS]
    return [
        part
        for name in names
        # The settings of features that are not installed are missing.
        if hasattr(standard, name)
        if (value := getattr(settings, name)) != getattr(standard, name) or name == _FOLDERS
        for part in _as_option(name, value)
    ]


def _as_option(name: str, value: object) -> list[str]:
    """Return the option from which `load` reads the value of a setting."""
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
