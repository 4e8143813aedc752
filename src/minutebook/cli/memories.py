"""Keep, find, show, list and forget memories."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import click

from minutebook.cli.printing import body, echo, say, style, warn
from minutebook.cli.terminal import (
    as_json,
    entry_line,
    fields_of,
    headline,
    id_given,
    identity,
    one_of,
    opened,
    opened_or_made,
    text_given,
    through,
)
from minutebook.domain.errors import InvalidInput
from minutebook.domain.ids import ledger_id_of
from minutebook.domain.origin import Origin

_FIELD = 15
"""Columns that the name of a field takes."""


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
    with opened_or_made(given) as (app, caller):
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
            warn(f"By words and graph only: {app.embedding.reason}", fg="yellow")
    found = [(each.hit, each.memory) for each in recollection.hits]
    found += [(each.hit, each.decision) for each in recollection.decisions]
    found.sort(key=lambda each: -each[0].score)
    if as_json:
        say([_hit_shape(hit, record) for hit, record in found], "", as_json)
        return
    if not found:
        echo("Nothing found.")
    for place, (hit, record) in enumerate(found, 1):
        echo(headline(f"{place:>2}  {hit.score:.3f}", record))
        for share in hit.shares if explain else ():
            rank = "not found" if share.rank is None else f"rank {share.rank}"
            raw = "–" if share.raw is None else f"{share.raw:.3f}"
            part = f"× {share.weight:.2f} = {share.share:>4.0%} of the score"
            echo(style(f"        {share.signal:<8} {raw:>8}  {rank:<10} {part}", dim=True))


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
            say(fields_of(record), _field_lines(record), as_json)
            return
        if number is not None:
            version = app.memories.version(caller, id_given(id), number)
            say(fields_of(version), _version_text(version), as_json)
            return
        memory = app.memories.read_any(caller, id_given(id))
        history = app.memories.history(caller, memory)
        links = app.browsing.links(caller, memory)
        turn = app.sessions.turn_after(caller, memory)
    if as_json:
        shape = fields_of(memory) | {
            "turn": None if turn is None else turn.id,
            "versions": [fields_of(version) for version in history.versions],
            "edges": [fields_of(edge) for edge in history.edges],
            "audit": [fields_of(entry) for entry in history.entries],
        }
        say(shape, "", as_json)
        return
    echo(*_field_lines(memory))
    if turn is not None:
        echo(_field_line("turn", turn.id))
    if len(history.versions) > 1:
        latest = history.versions[-1]
        echo(_field_line("changed by", f"{latest.changed_by}{through(latest.origin)}"))
    for version in history.versions[:-1]:
        echo("", *_version_text(version))
    if links:
        echo("", "links")
    for link in links:
        way = "→" if link.edge.source == memory.id else "←"
        echo(headline(f"  {way} {link.edge.type}", link.memory))
    echo("", "audit")
    for entry in history.entries:
        echo(f"  {entry_line(entry)}")


def _field_lines(record: Any) -> Iterator[str]:
    for name, value in fields_of(record).items():
        if value not in (None, {}, ()):
            yield _field_line(name, value)


def _field_line(name: str, value: Any) -> str:
    match value:
        case tuple():
            told = ", ".join(value)
        case Origin():
            told = ", ".join(f"{part} {text}" for part, text in value.parts.items())
        case _:
            told = str(value)
    return f"{style(f'{name:<{_FIELD}}', bold=True)} {body(told, ' ' * (_FIELD + 1))}"


def _version_text(version: Any) -> Iterator[str]:
    when = f"{version.changed_at:%Y-%m-%d %H:%M:%S}"
    yield f"version {version.number}, {when} by {version.changed_by}{through(version.origin)}"
    if version.title is not None:
        yield f"  {version.title}"
    yield f"  {body(version.content, '  ')}"


@click.command("list")
@click.option("--type", "memory_type", help="Only this type: fact, business_rule…")
@click.option("--status", help="Only this status: active, verified, locked, deprecated…")
@click.option("--scope", help="Only this scope: system, organization, repository or user.")
@click.option("--client", help="Only what was first written through this program: cursor…")
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
    client: str | None,
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
        client=client,
    )
    with opened(given) as (app, caller):
        page = app.memories.page(caller, limit, offset, where)
    if as_json:
        shapes = [fields_of(memory) for memory in page.memories]
        say({"memories": shapes, "total": page.total}, "", as_json)
        return
    for memory in page.memories:
        ended = "" if memory.valid_until is None else f"  (until {memory.valid_until:%Y-%m-%d})"
        who = style(f"  by {memory.author}{through(memory.origin)}", dim=True)
        echo(headline(f"{memory.ingestion_time:%Y-%m-%d %H:%M}", memory) + ended + who)
    echo(style(f"{len(page.memories)} of {page.total}", dim=True))


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
            echo(f"  {body(memory.content, '  ')}")
            click.confirm("Remove this for good?", abort=True)
        app.memories.delete(caller, memory.id)
        echo(f"Removed {memory.id}.")


COMMANDS = (remember, search, show, list_, forget)
