"""Keep, find, show, list and forget memories."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import click

from minutebook.cli.governance import as_seen
from minutebook.cli.ids import any_id, completing, completing_values, memory_id
from minutebook.cli.keyboard import confirm, edited, need_keyboard
from minutebook.cli.printing import body, echo, say, style, warn
from minutebook.cli.terminal import (
    as_json,
    both_ids,
    entry_line,
    fields_of,
    headline,
    identity,
    in_folder,
    one_of,
    opened,
    opened_or_made,
    text_given,
    through,
)
from minutebook.cli.times import time_given
from minutebook.domain.caller import Caller
from minutebook.domain.errors import Conflict, InvalidInput, MinutebookError
from minutebook.domain.ids import ledger_id_of
from minutebook.domain.origin import Origin, by_whom
from minutebook.domain.records import (
    Decision,
    Memory,
    MemoryType,
    Proposal,
    Record,
    ScopeLevel,
    Status,
    Turn,
    Version,
)
from minutebook.features.ledger.services import LedgerServices
from minutebook.services.access.provenance import written

if TYPE_CHECKING:
    from minutebook.app import App
    from minutebook.search.fusion import Share
    from minutebook.services.knowledge.browsing import Linked
    from minutebook.services.knowledge.memories import History
    from minutebook.services.search.combined import Ranked

_FIELD = 15
"""Columns that the name of a field takes."""


@click.command(short_help="Keep a text as a memory.")
@click.argument("text")
@click.option(
    "--type",
    "memory_type",
    default="semantic",
    show_default=True,
    help="fact, business_rule, preference, episodic, procedural…",
    shell_complete=completing_values(MemoryType),
)
@click.option("--title", help="One short sentence.")
@click.option("--tag", "tags", multiple=True, help="A word to list it by; repeatable.")
@click.option(
    "--metadata", "pairs", multiple=True, metavar="KEY=VALUE", help="Kept beside it; repeatable."
)
@click.option("--importance", type=click.FloatRange(1, 10), help="1 (the default) to 10.")
@click.option(
    "--valid-from", metavar="TIME", help="True from then on: 2026-01-31; 7d is a week ago."
)
@click.option("--valid-until", metavar="TIME", help="True until then: 2026-12-31; 7d is in a week.")
@click.option(
    "--link",
    "links",
    multiple=True,
    metavar="ID[:TYPE]",
    help="Lead to this memory; repeatable.",
    shell_complete=completing(Memory),
)
@click.option(
    "--supersedes",
    multiple=True,
    metavar="ID",
    help="End this memory, whose place it takes; repeatable.",
    shell_complete=completing(Memory),
)
@click.option("--everywhere", is_flag=True, help="Of no project, whatever folder this is.")
@identity
@as_json
def remember(
    options: dict[str, str],
    text: str,
    memory_type: str,
    title: str | None,
    tags: tuple[str, ...],
    pairs: tuple[str, ...],
    importance: float | None,
    valid_from: str | None,
    valid_until: str | None,
    links: tuple[str, ...],
    supersedes: tuple[str, ...],
    everywhere: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Keep TEXT as a memory ("-" reads it from stdin).

    It belongs to the project of this folder if scope_from_folder is on; see `minutebook where`.
    """
    from minutebook.domain.drafts import Draft

    draft = Draft(
        content=text_given(text),
        type=one_of(MemoryType, "--type", memory_type),
        title=title,
        importance=importance,
        metadata=_metadata_given(tags, pairs),
        valid_from=time_given("--valid-from", valid_from),
        valid_until=time_given("--valid-until", valid_until, ahead=True),
    )
    with opened_or_made(options) as (app, caller):
        caller = caller if everywhere else in_folder(options, caller)
        ended = [memory_id(app, caller, id) for id in supersedes]
        ends = _links_given(app, caller, links)
        memory = app.memories.store_joined(caller, draft, ends, ended)
        say({"id": memory.id, "uuid": memory.uuid}, memory.id, as_json)


def _links_given(app: "App", caller: Caller, links: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the memories and types that links are to have, from ID[:TYPE]."""
    from minutebook.services.knowledge.links import RELATED

    named = [each.partition(":") for each in links]
    return [(memory_id(app, caller, id), type or RELATED) for id, _, type in named]


def _metadata_given(tags: tuple[str, ...], pairs: tuple[str, ...]) -> dict[str, object]:
    """Return metadata from KEY=VALUE pairs, values kept as text, and from tags.

    Raises InvalidInput if a pair has no `=` or no key.
    """
    metadata: dict[str, object] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise InvalidInput("--metadata", "must be KEY=VALUE (got {given!r})", given=pair)
        metadata[key.strip()] = value
    if tags:
        metadata["tags"] = list(dict.fromkeys(tags))
    return metadata


@click.command(short_help="Change a memory's text in your editor.")
@click.argument("id", shell_complete=completing(Memory))
@identity
def edit(options: dict[str, str], id: str) -> Memory:
    """Change the text of the memory ID in your editor ($VISUAL or $EDITOR); the old one is kept."""
    with opened(options) as (app, caller):
        memory = as_seen(app, caller, app.memories.read(caller, memory_id(app, caller, id)))
    # The store is closed meanwhile, as an editor may stay open for long.
    written = edited(memory.content)
    # Editors end a file with a line end.
    text = None if written is None else written.rstrip("\n")
    if text is None or text == memory.content.rstrip("\n"):
        echo("Unchanged.")
        return memory
    try:
        if not text.strip():
            raise InvalidInput(
                "the text", "must not be empty; `minutebook forget` removes a memory"
            )
        with opened(options) as (app, caller):
            if app.memories.read(caller, memory.id).version != memory.version:
                raise Conflict(memory.id, "it was changed meanwhile; edit it again")
            changed = app.memories.update(caller, memory.id, {"content": text})
            changed = as_seen(app, caller, changed)
    except MinutebookError:
        warn(body(text))
        raise
    echo(f"Changed {both_ids(changed)}; it is at version {changed.version}.")
    return changed


@click.command(short_help="End a memory that is no longer true.")
@click.argument("id", shell_complete=completing(Memory))
@click.option("--reason", required=True, help="Why it no longer holds.")
@click.option(
    "--superseded-by",
    metavar="ID",
    help="The memory that holds in its place.",
    shell_complete=completing(Memory),
)
@identity
def invalidate(options: dict[str, str], id: str, reason: str, superseded_by: str | None) -> Memory:
    """End the memory ID now: it is no longer true, and still found in the past."""
    if not reason.strip():
        raise InvalidInput("--reason", "must not be empty")
    with opened(options) as (app, caller):
        by = None if superseded_by is None else memory_id(app, caller, superseded_by)
        ended = app.memories.invalidate(caller, memory_id(app, caller, id), reason, by)
        following = app.browsing.successor(caller, ended)
    until = f"{ended.valid_until:%Y-%m-%d %H:%M:%S}"
    successor = "" if following is None else f"; {following} holds in its place"
    echo(f"Ended {both_ids(ended)}: it held until {until} UTC{successor}.")
    return replace(ended, superseded_by=following)


@click.command(short_help="Find memories, decisions, and what was said.")
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True)
@click.option(
    "--at",
    metavar="DATE",
    help="Search what held then: a time such as 2026-01-31T12:00, or a span ago, 7d.",
)
@click.option("--explain", is_flag=True, help="Show what each signal adds to the score, and why.")
@identity
@as_json
def search(
    options: dict[str, str],
    query: str,
    limit: int,
    at: str | None,
    explain: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Find memories, decisions that hold, and what was said in sessions, the newest truth first."""
    from minutebook.services.search.recall import WEIGHTS, Selection

    if not query.strip():
        raise InvalidInput("QUERY", "must not be empty")
    moment = time_given("--at", at)
    selection = None if moment is None else Selection(at=moment)
    with opened(options) as (app, caller):
        found = app.combined.recall(
            caller,
            query,
            limit,
            WEIGHTS,
            app.recall_sources,
            selection=selection,
            tokens=app.recall_tokens,
        ).results
        app.note_answer(caller, "search", query, ((each.record, each.hit.score) for each in found))
    if as_json:
        say([_ranked_shape(each) for each in found], "", as_json)
        return
    for number, each in enumerate(found, 1):
        echo(headline(f"{number:>2}", each.record))
        echo(style(f"    {_weighed(each)}", dim=True))
        for share in each.hit.shares if explain else ():
            echo(style(f"        {_explained(share, each.details)}", dim=True))


def _weighed(ranked: "Ranked") -> str:
    """Say when and by whom a hit was written, and what perhaps revises it."""
    known = written(ranked.record)
    parts = [] if known is None else [f"{known.at:%Y-%m-%d}", known.by, known.status]
    if (by := ranked.revised_by) is not None:
        parts.append(f"perhaps revised by {by.id} on {by.at:%Y-%m-%d}")
    return ", ".join(filter(None, parts))


def _explained(share: "Share", details: Mapping[str, float]) -> str:
    """Say how strong a signal is, what it adds to the score, and what was measured."""
    rank = "not found" if share.rank is None else f"rank {share.rank}"
    adds = f"{share.normalised:.3f} × {share.weight:.2f} = {share.normalised * share.weight:.3f}"
    measured = {"lexical": {"BM25": share.raw}, "vector": details}.get(share.signal, {})
    measurements = ", ".join(
        f"{name} {value:.3f}" for name, value in measured.items() if value is not None
    )
    return f"{share.signal:<8} {adds}  {share.share:>4.0%} of the score  {rank:<9}  {measurements}".rstrip()


def _ranked_shape(ranked: "Ranked") -> dict[str, object]:
    return {
        **fields_of(ranked.record),
        "kind": ranked.record.kind,
        "score": ranked.hit.score,
        "details": dict(ranked.details),
        "signals": [
            {each.name: getattr(share, each.name) for each in fields(share)}
            for share in ranked.hit.shares
        ],
    }


@click.command(short_help="Show a memory with its versions, or a decision.")
@click.argument("id", shell_complete=completing(Memory, Decision, Proposal))
@click.option("--version", "number", type=click.IntRange(1), help="Show this version's text only.")
@identity
@as_json
def show(options: dict[str, str], id: str, number: int | None, as_json: bool) -> None:  # noqa: FBT001
    """Show the memory ID: what is kept of it, its versions, links and audit entries.

    Of a decision or a proposal, what is on the record.
    """
    with opened(options) as (app, caller):
        id = any_id(app, caller, id)
        if (on_record := ledger_id_of(id)) is not None:
            record = app.get(LedgerServices).decisions.read(caller, on_record)
            say(fields_of(record), _field_lines(record), as_json)
            return
        if number is not None:
            version = app.memories.version(caller, id, number)
            say(fields_of(version), _version_text(version), as_json)
            return
        memory = app.memories.read_any(caller, id)
        memory = replace(memory, superseded_by=app.browsing.successor(caller, memory))
        history = app.memories.history(caller, memory)
        links = app.browsing.links(caller, memory)
        turn = app.sessions.turn_of(caller, memory)
    if as_json:
        shape = fields_of(memory) | {
            "turn": None if turn is None else turn.id,
            "versions": [fields_of(version) for version in history.versions],
            "edges": [fields_of(edge) for edge in history.edges],
            "audit": [fields_of(entry) for entry in history.entries],
        }
        say(shape, "", as_json)
        return
    _print_memory(memory, history, links, turn)


def _print_memory(
    memory: Memory, history: "History", links: Sequence["Linked"], turn: Turn | None
) -> None:
    """Print a memory's fields, then its earlier versions, its links and its audit entries."""
    echo(*_field_lines(memory))
    if turn is not None:
        echo(_field_line("turn", turn.id))
    if len(history.versions) > 1:
        latest = history.versions[-1]
        echo(_field_line("changed by", _who_changed(latest)))
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


def _who_changed(version: Version) -> str:
    return f"{by_whom(version.changed_by, version.origin)}{through(version.origin)}"


def _field_lines(record: Record) -> Iterator[str]:
    for name, value in fields_of(record).items():
        if name == "author":
            yield _field_line(name, by_whom(str(value), getattr(record, "origin", None)))
        elif value not in (None, {}, ()):
            yield _field_line(name, value)


def _field_line(name: str, value: object) -> str:
    match value:
        case tuple():
            text = ", ".join(value)
        case Mapping():
            text = json.dumps(dict(value), ensure_ascii=False)
        case Origin():
            text = ", ".join(f"{part} {text}" for part, text in value.parts.items())
        case _:
            text = str(value)
    return f"{style(f'{name:<{_FIELD}}', bold=True)} {body(text, ' ' * (_FIELD + 1))}"


def _version_text(version: Version) -> Iterator[str]:
    when = f"{version.changed_at:%Y-%m-%d %H:%M:%S}"
    yield f"version {version.number}, {when} by {_who_changed(version)}"
    if version.title is not None:
        yield f"  {version.title}"
    yield f"  {body(version.content, '  ')}"


@click.command("list")
@click.option(
    "--type",
    "memory_type",
    help="Only this type: fact, business_rule…",
    shell_complete=completing_values(MemoryType),
)
@click.option(
    "--status",
    help="Only this status: active, verified, locked, deprecated…",
    shell_complete=completing_values(Status),
)
@click.option(
    "--scope",
    help="Only this scope: system, organization, repository or user.",
    shell_complete=completing_values(ScopeLevel),
)
@click.option("--tag", "tags", multiple=True, help="Only what has this tag; all that are named.")
@click.option("--author", help="Only what this person or agent wrote.")
@click.option("--client", help="Only what was first written through this program: cursor…")
@click.option(
    "--since",
    metavar="TIME",
    help="Only from then on: 2026-01-31, 2026-01-31T12:00, or 30m, 12h, 7d.",
)
@click.option("--until", metavar="TIME", help="Only what was kept before then.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to leave out first.")
@identity
@as_json
def list_(
    options: dict[str, str],
    memory_type: str | None,
    status: str | None,
    scope: str | None,
    tags: tuple[str, ...],
    author: str | None,
    client: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    offset: int,
    as_json: bool,  # noqa: FBT001
) -> None:
    """List memories, newest first, ended ones included.

    --organization, --repository and --user show what whoever is held to them may see.
    """
    from minutebook.domain.filters import MemoryQuery

    where = MemoryQuery(
        type=one_of(MemoryType, "--type", memory_type),
        status=one_of(Status, "--status", status),
        scope=one_of(ScopeLevel, "--scope", scope),
        client=client,
        author=author,
        tags=tags,
        since=time_given("--since", since),
        until=time_given("--until", until),
    )
    with opened(options) as (app, caller):
        page = app.memories.page(caller, limit, offset, where)
    lines = []
    for memory in page.memories:
        ended = "" if memory.valid_until is None else f"  (until {memory.valid_until:%Y-%m-%d})"
        who = style(
            f"  by {by_whom(memory.author, memory.origin)}{through(memory.origin)}", dim=True
        )
        lines.append(headline(f"{memory.ingestion_time:%Y-%m-%d %H:%M}", memory) + ended + who)
    lines.append(style(f"{len(page.memories)} of {page.total}", dim=True))
    shapes = [fields_of(memory) for memory in page.memories]
    say({"memories": shapes, "total": page.total}, lines, as_json)


@click.command(short_help="Remove a memory and its versions for good.")
@click.argument("id", shell_complete=completing(Memory))
@click.option("--yes", is_flag=True, help="Do not ask.")
@identity
def forget(options: dict[str, str], id: str, yes: bool) -> dict[str, object]:  # noqa: FBT001
    """Remove the memory ID and its versions for good."""
    if not yes:
        need_keyboard()
    with opened(options) as (app, caller):
        memory = app.memories.read(caller, memory_id(app, caller, id))
        if not yes:
            echo(f"  {body(memory.content, '  ')}")
            confirm("Remove this for good?", abort=True)
        app.memories.delete(caller, memory.id)
        echo(f"Removed {both_ids(memory)}.")
    return {"id": memory.id, "deleted": True}


@click.command(short_help="List memories that may repeat or contradict one another.")
@identity
@as_json
def duplicates(given: dict[str, str], as_json: bool) -> None:  # noqa: FBT001
    """List groups of memories that hold now and say nearly the same, or the opposite.

    Nothing is changed. `minutebook invalidate ID --superseded-by ID` ends one that another replaces;
    `minutebook link` says that two belong together, and they are not listed again.
    """
    with opened(given) as (app, caller):
        groups = app.similar.clusters(caller)
    if as_json:
        say([[fields_of(each) for each in group] for group in groups], "", as_json)
        return
    if not groups:
        echo("No two memories are alike.")
    for group in groups:
        echo(*(headline(f"{each.valid_from:%Y-%m-%d}", each) for each in group), "")


COMMANDS = (remember, search, show, list_, edit, invalidate, forget, duplicates)
