"""Keep, find, show, list and forget memories."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import click

from minutebook.cli.terminal import (
    as_json,
    entry_line,
    fields_of,
    headline,
    id_given,
    identity,
    one_of,
    opened,
    say,
    text_given,
)
from minutebook.domain.errors import InvalidInput
from minutebook.domain.ids import ledger_id_of


@click.command()
@click.argument("text")
@click.option("--type", "memory_type", default="semantic", help="episodic, semantic, procedural…")
@identity
@as_json
@click.pass_obj
def remember(given: dict[str, str], text: str, memory_type: str, as_json: bool) -> None:  # noqa: FBT001
    """Keep TEXT as a memory ("-" reads it from stdin)."""
    from minutebook.domain.drafts import Draft
    from minutebook.domain.records import MemoryType

    content = text_given(text)
    type = one_of(MemoryType, "--type", memory_type)
    with opened(given) as (app, caller):
        memory = app.memories.store(caller, Draft(content=content, type=type))
        say({"id": memory.id}, memory.id, as_json)


@click.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True)
@click.option("--explain", is_flag=True, help="Show each signal's score, rank and share.")
@identity
@as_json
@click.pass_obj
def search(given: dict[str, str], query: str, limit: int, explain: bool, as_json: bool) -> None:  # noqa: FBT001
    """Find memories, and decisions that hold, by meaning, words and graph together."""
    from minutebook.services.retrieval import WEIGHTS

    if not query.strip():
        raise InvalidInput("QUERY", "must not be empty")
    with opened(given) as (app, caller):
        recollection = app.retrieval.recall_with_decisions(caller, query, limit, WEIGHTS)
        if app.embedding.state == "error":
            click.secho(f"By words and graph only: {app.embedding.reason}", err=True, fg="yellow")
    found = [(each.hit, each.memory) for each in recollection.hits]
    found += [(each.hit, each.decision) for each in recollection.decisions]
    found.sort(key=lambda each: -each[0].score)
    if as_json:
        say([_hit_shape(hit, record) for hit, record in found], "", as_json)
        return
    if not found:
        click.echo("Nothing found.")
    for place, (hit, record) in enumerate(found, 1):
        click.echo(headline(f"{place:>2}  {hit.score:.3f}", record))
        for share in hit.shares if explain else ():
            rank = "not found" if share.rank is None else f"rank {share.rank}"
            raw = "–" if share.raw is None else f"{share.raw:.3f}"
            click.secho(
                f"        {share.signal:<8} {raw:>8}  {rank:<10} "
                f"× {share.weight:.2f} = {share.share:>4.0%} of the score",
                dim=True,
            )


def _hit_shape(hit: Any, record: Any) -> dict[str, Any]:
    return {
        **fields_of(record),
        "kind": record.kind,
        "score": hit.score,
        "signals": [
            {each.name: getattr(share, each.name) for each in fields(share)} for share in hit.shares
        ],
    }


@click.command()
@click.argument("id")
@click.option("--version", "number", type=click.IntRange(1), help="Show this version's text only.")
@identity
@as_json
@click.pass_obj
def show(given: dict[str, str], id: str, number: int | None, as_json: bool) -> None:  # noqa: FBT001
    """Show the memory ID: what is kept of it, its versions, links and audit entries.

    Of a decision or a proposal, what is on the record.
    """
    with opened(given) as (app, caller):
        if (on_record := ledger_id_of(id)) is not None:
            record = app.decisions.read(caller, on_record)
            say(fields_of(record), "\n".join(_field_lines(record)), as_json)
            return
        if number is not None:
            version = app.memories.version(caller, id_given(id), number)
            say(fields_of(version), _version_text(version), as_json)
            return
        memory = app.memories.read_any(caller, id_given(id))
        history = app.memories.history(caller, memory)
        links = app.browsing.links(caller, memory)
    if as_json:
        shape = fields_of(memory) | {
            "versions": [fields_of(version) for version in history.versions],
            "edges": [fields_of(edge) for edge in history.edges],
            "audit": [fields_of(entry) for entry in history.entries],
        }
        say(shape, "", as_json)
        return
    click.echo("\n".join(_field_lines(memory)))
    for version in history.versions[:-1]:
        click.echo(f"\n{_version_text(version)}")
    if links:
        click.echo("\nlinks")
    for link in links:
        way = "→" if link.edge.source == memory.id else "←"
        click.echo(headline(f"  {way} {link.edge.type}", link.memory))
    click.echo("\naudit")
    for entry in history.entries:
        click.echo(f"  {entry_line(entry)}")


def _field_lines(record: Any) -> Iterator[str]:
    for name, value in fields_of(record).items():
        if value not in (None, {}, ()):
            told = ", ".join(value) if isinstance(value, tuple) else value
            yield f"{click.style(f'{name:<15}', bold=True)} {told}"


def _version_text(version: Any) -> str:
    title = "" if version.title is None else f"  {version.title}\n"
    return (
        f"version {version.number}, {version.changed_at:%Y-%m-%d %H:%M:%S} by {version.changed_by}"
        f"\n{title}  {version.content}"
    )


@click.command("list")
@click.option("--type", "memory_type", help="Only this type: fact, business_rule…")
@click.option("--status", help="Only this status: active, verified, locked, deprecated…")
@click.option("--scope", help="Only this scope: system, organization, repository or user.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0)
@identity
@as_json
@click.pass_obj
def list_(
    given: dict[str, str],
    memory_type: str | None,
    status: str | None,
    scope: str | None,
    limit: int,
    offset: int,
    as_json: bool,  # noqa: FBT001
) -> None:
    """List memories, newest first, ended ones included.

    --organization, --repository and --user show what whoever is held to them may see.
    """
    from minutebook.domain.filters import Narrowing
    from minutebook.domain.records import MemoryType, ScopeLevel, Status

    where = Narrowing(
        type=one_of(MemoryType, "--type", memory_type),
        status=one_of(Status, "--status", status),
        scope=one_of(ScopeLevel, "--scope", scope),
    )
    with opened(given) as (app, caller):
        page = app.memories.page(caller, limit, offset, where)
    if as_json:
        shapes = [fields_of(memory) for memory in page.memories]
        say({"memories": shapes, "total": page.total}, "", as_json)
        return
    for memory in page.memories:
        ended = "" if memory.valid_until is None else f"  (until {memory.valid_until:%Y-%m-%d})"
        click.echo(headline(f"{memory.ingestion_time:%Y-%m-%d %H:%M}", memory) + ended)
    click.secho(f"{len(page.memories)} of {page.total}", dim=True)


@click.command()
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@identity
@click.pass_obj
def forget(given: dict[str, str], id: str, yes: bool) -> None:  # noqa: FBT001
    """Remove the memory ID and its versions for good."""
    with opened(given) as (app, caller):
        memory = app.memories.read(caller, id_given(id))
        if not yes:
            click.echo(memory.content)
            click.confirm("Remove this for good?", abort=True)
        app.memories.delete(caller, memory.id)
        click.echo(f"Removed {memory.id}.")


COMMANDS = (remember, search, show, list_, forget)
