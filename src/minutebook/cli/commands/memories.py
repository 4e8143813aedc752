"""Keep, find, show, list and forget memories."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from minutebook.ask import memories
from minutebook.ask.memories import Hit, ShownMemory
from minutebook.ask.table import operation_to_show
from minutebook.cli.added_options import added_options
from minutebook.cli.filters import memory_filters, parsed_time
from minutebook.cli.ids import any_id, memory_id
from minutebook.cli.keyboard import confirm, edited
from minutebook.cli.opening import opened, opened_or_made, scope_here
from minutebook.cli.printing import body, echo, fields_of, say, style, warn
from minutebook.cli.terminal import (
    as_json,
    both_ids,
    entry_line,
    headline,
    identity,
    one_of,
    read_text,
    through,
)
from minutebook.record.caller import FolderScope
from minutebook.record.errors import InvalidInput, MinutebookError
from minutebook.record.filters import MemoryQuery
from minutebook.record.ids import ledger_id_of
from minutebook.record.origin import Origin, byline
from minutebook.record.reason import count_of
from minutebook.record.records import Memory, MemoryType, Record, ScopeLevel, Version
from minutebook.text.fusion import Share

if TYPE_CHECKING:
    from minutebook.ask.connection import StoreConnection

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
    "--link", "links", multiple=True, metavar="ID[:TYPE]", help="Lead to this memory; repeatable."
)
@click.option(
    "--supersedes",
    multiple=True,
    metavar="ID",
    help="End this memory, whose place it takes; repeatable.",
)
@click.option("--everywhere", is_flag=True, help="Of no project, whatever folder this is.")
@click.option("--system", is_flag=True, help="For everyone in every organization to read.")
@identity
@as_json
@added_options("remember")
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
    system: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
    more: Mapping[str, object] | None = None,
) -> None:
    """Keep TEXT as a memory ("-" reads it from stdin).

    It belongs to the project of this folder if scope_from_folder is on; see `minutebook where`.
    """
    content = read_text(text)
    type = one_of(MemoryType, "--type", memory_type)
    metadata = _parsed_metadata(tags, pairs) | dict(more or {})
    begins = parsed_time("--valid-from", valid_from)
    ends = parsed_time("--valid-until", valid_until, ahead=True)
    with opened_or_made(options) as api:
        memory = api.run(
            memories.remember,
            content,
            type,
            title=title,
            importance=importance,
            metadata=metadata,
            valid_from=begins,
            valid_until=ends,
            links=_parsed_links(api, links),
            supersedes=[memory_id(api, id) for id in supersedes],
            folder=None if everywhere or system else scope_here(options),
            scope=ScopeLevel.SYSTEM if system else None,
        )
        say({"id": memory.id, "uuid": memory.uuid}, memory.id, as_json)


def _parsed_links(api: "StoreConnection", links: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the id of the memory and the type of each link, from ID[:TYPE]."""
    parts = [each.partition(":") for each in links]
    return [(memory_id(api, id), type) for id, _, type in parts]


def _parsed_metadata(tags: tuple[str, ...], pairs: tuple[str, ...]) -> dict[str, object]:
    """Return metadata from tags and KEY=VALUE pairs; values stay texts.

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


@click.command(short_help="Change a memory's text in your editor, or move memories.")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--to", metavar="REPOSITORY", help='Move the memories there, all or none; "" for no project.'
)
@identity
def edit(options: dict[str, str], ids: tuple[str, ...], to: str | None) -> Memory | list[Memory]:
    """Change the text of the memory ID in your editor ($VISUAL or $EDITOR); the old one is kept.

    With --to the texts stay, and all that are named go to another project.
    """
    if to is None:
        if len(ids) > 1:
            raise InvalidInput("ID", "must be one, unless --to moves several")
        return _edit(options, ids[0])
    with opened(options) as api:
        moving = [memory_id(api, id) for id in dict.fromkeys(ids)]
        moved = api.run(memories.move_memories, moving, to.strip() or None)
    project = moved[0].repository or "no project"
    echo(f"Moved {count_of(len(moved), 'memory', 'memories')} to {project}.")
    return moved


def _edit(options: dict[str, str], id: str) -> Memory:
    """Let the person change a memory's text in the editor, and store it."""
    with opened(options) as api:
        memory = api.run(memories.read_memory, memory_id(api, id))
    # The store is closed meanwhile, as an editor may stay open for long.
    saved = edited(memory.content, "`minutebook edit` needs one, unless --to moves the memory")
    # Editors end a file with a line end.
    text = None if saved is None else saved.rstrip("\n")
    if text is None or text == memory.content.rstrip("\n"):
        echo("Unchanged.")
        return memory
    try:
        if not text.strip():
            raise InvalidInput(
                "the text", "must not be empty; `minutebook forget` removes a memory"
            )
        with opened(options) as api:
            changed = api.run(memories.change_memory, memory.id, text, version=memory.version)
    except MinutebookError:
        warn(body(text))
        raise
    echo(f"Changed {both_ids(changed)}; it is at version {changed.version}.")
    return changed


@click.command(short_help="End a memory that is no longer true.")
@click.argument("id")
@click.option("--reason", required=True, help="Why it no longer holds.")
@click.option("--superseded-by", metavar="ID", help="The memory that holds in its place.")
@identity
def invalidate(options: dict[str, str], id: str, reason: str, superseded_by: str | None) -> Memory:
    """End the memory ID now: it is no longer true, and still found in the past."""
    if not reason.strip():
        raise InvalidInput("--reason", "must not be empty")
    with opened(options) as api:
        by = None if superseded_by is None else memory_id(api, superseded_by)
        ended = api.run(memories.invalidate, memory_id(api, id), reason, by)
    following = ended.superseded_by
    until = f"{ended.valid_until:%Y-%m-%d %H:%M:%S}"
    successor = "" if following is None else f"; {following} holds in its place"
    echo(f"Ended {both_ids(ended)}: it held until {until} UTC{successor}.")
    return ended


@click.command(short_help="Find memories, decisions, and what was said.")
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True)
@click.option(
    "--at",
    metavar="DATE",
    help="Search what held then: a time such as 2026-01-31T12:00, or a span ago, 7d.",
)
@memory_filters
@click.option("--explain", is_flag=True, help="Show what each signal adds to the score, and why.")
@identity
@as_json
def search(
    options: dict[str, str],
    query: str,
    where: MemoryQuery,
    folder: FolderScope | None,
    limit: int,
    at: str | None,
    explain: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """Find memories, decisions that hold, and what was said in sessions, the newest truth first.

    In a project's folder those of it and of none, if scope_from_folder is on; see `minutebook where`.
    An option that chooses among memories, such as --type, leaves out all else.
    """
    if not query.strip():
        raise InvalidInput("QUERY", "must not be empty")
    moment = parsed_time("--at", at)
    with opened(options) as api:
        found = api.run(memories.search, query, limit, moment, where, folder)
    if as_json:
        say(found, "", as_json)
        return
    for number, each in enumerate(found, 1):
        echo(headline(f"{number:>2}", each.record))
        echo(style(f"    {_remarks(each)}", dim=True))
        for share in each.shares if explain else ():
            echo(style(f"        {_signal_line(share, each.details)}", dim=True))


def _remarks(found: Hit) -> str:
    """Return the date and author of a hit, its possible revision, and the notes of features."""
    origin = found.written
    parts = [] if origin is None else [f"{origin.at:%Y-%m-%d}", origin.by, origin.status]
    if found.revised_by is not None:
        parts.append(f"perhaps revised by {found.revised_by} on {found.revised_at:%Y-%m-%d}")
    parts += [f"{name}: {note}" for name, note in found.notes.items()]
    return ", ".join(filter(None, parts))


def _signal_line(share: Share, details: Mapping[str, float]) -> str:
    """Return the line of a signal: its strength, its share of the score, its rank, and its measurements."""
    rank = "not found" if share.rank is None else f"rank {share.rank}"
    adds = f"{share.normalised:.3f} × {share.weight:.2f} = {share.normalised * share.weight:.3f}"
    measured = {"lexical": {"BM25": share.raw}, "vector": details}.get(share.signal, {})
    measurements = ", ".join(
        f"{name} {value:.3f}" for name, value in measured.items() if value is not None
    )
    return f"{share.signal:<8} {adds}  {share.share:>4.0%} of the score  {rank:<9}  {measurements}".rstrip()


@click.command(short_help="Show a memory with its versions, or a decision.")
@click.argument("id")
@click.option("--version", "number", type=click.IntRange(1), help="Show this version's text only.")
@identity
@as_json
def show(options: dict[str, str], id: str, number: int | None, as_json: bool) -> None:  # noqa: FBT001
    """Show the memory ID: what is kept of it, its versions, links and audit entries.

    Of a decision or a proposal, what is on the record.
    """
    with opened(options) as api:
        id = any_id(api, id)
        if (on_record := ledger_id_of(id)) is not None:
            record = api.run(operation_to_show(on_record), on_record)
            say(record, _field_lines(record), as_json)
            return
        if number is not None:
            version = api.run(memories.read_version, id, number)
            say(version, _version_lines(version), as_json)
            return
        shown = api.run(memories.show, id)
    if as_json:
        shape = fields_of(shown.memory) | {
            "turn": shown.turn,
            **shown.notes,
            "versions": shown.versions,
            "edges": shown.edges,
            "audit": shown.entries,
        }
        say(shape, "", as_json)
    else:
        _print_memory(shown)


def _print_memory(shown: ShownMemory) -> None:
    """Print a memory's fields, then its earlier versions, its links and its audit entries."""
    echo(*_field_lines(shown.memory))
    if shown.turn is not None:
        echo(_field_line("turn", shown.turn))
    for name, note in shown.notes.items():
        echo(_field_line(name, note))
    if len(shown.versions) > 1:
        latest = shown.versions[-1]
        echo(_field_line("changed by", _changed_by(latest)))
    for version in shown.versions[:-1]:
        echo("", *_version_lines(version))
    if shown.links:
        echo("", "links")
    for link in shown.links:
        arrow = "→" if link.edge.source == shown.memory.id else "←"
        echo(headline(f"  {arrow} {link.edge.type}", link.memory))
    echo("", "audit")
    for entry in shown.entries:
        echo(f"  {entry_line(entry)}")


def _changed_by(version: Version) -> str:
    return f"{byline(version.changed_by, version.origin)}{through(version.origin)}"


def _field_lines(record: Record) -> Iterator[str]:
    for name, value in fields_of(record).items():
        if name == "author":
            yield _field_line(name, byline(str(value), getattr(record, "origin", None)))
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


def _version_lines(version: Version) -> Iterator[str]:
    when = f"{version.changed_at:%Y-%m-%d %H:%M:%S}"
    yield f"version {version.number}, {when} by {_changed_by(version)}"
    if version.title is not None:
        yield f"  {version.title}"
    yield f"  {body(version.content, '  ')}"


@click.command("list")
@memory_filters
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to leave out first.")
@click.option("--alike", is_flag=True, help="Those that may repeat or contradict one another.")
@identity
@as_json
def list_(
    options: dict[str, str],
    where: MemoryQuery,
    folder: FolderScope | None,
    limit: int,
    offset: int,
    alike: bool,  # noqa: FBT001
    as_json: bool,  # noqa: FBT001
) -> None:
    """List memories, newest first, ended ones included.

    In a project's folder those of it and of none, if scope_from_folder is on; see `minutebook where`.
    --organization, --repository and --user show what a caller with this scope may see. Of memories that
    are --alike, `minutebook invalidate ID --superseded-by ID` ends one that another replaces;
    `minutebook link` says that two belong together, and they are not listed again.
    """
    if alike and where != MemoryQuery(repository=where.repository):
        raise InvalidInput("--alike", "looks through all memories; leave out what narrows the list")
    if alike:
        _list_alike(options, limit, offset, as_json=as_json)
        return
    with opened(options) as api:
        page = api.run(memories.list_memories, where, limit, offset, folder)
    lines = []
    for memory in page.memories:
        ended = "" if memory.valid_until is None else f"  (until {memory.valid_until:%Y-%m-%d})"
        author = f"  by {byline(memory.author, memory.origin)}{through(memory.origin)}"
        line = headline(f"{memory.ingestion_time:%Y-%m-%d %H:%M}", memory) + ended
        lines.append(line + style(author, dim=True))
    lines.append(style(f"{len(page.memories)} of {page.total}", dim=True))
    say(page, lines, as_json)


def _list_alike(options: dict[str, str], limit: int, offset: int, *, as_json: bool) -> None:
    """Print groups of memories that hold now and say nearly the same, or the opposite."""
    with opened(options) as api:
        groups = api.run(memories.duplicates)
    shown = groups[offset : offset + limit]
    lines = []
    for group in shown:
        lines += [*(headline(f"{each.valid_from:%Y-%m-%d}", each) for each in group), ""]
    lines.append(style(f"{len(shown)} of {count_of(len(groups), 'group')}", dim=True))
    none = "No two memories are alike."
    say(shown, lines if groups else none, as_json)


@click.command(short_help="Remove a memory and its versions.")
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask.")
@identity
def forget(options: dict[str, str], id: str, yes: bool) -> dict[str, object]:  # noqa: FBT001
    """Remove the memory ID and its versions.

    `minutebook undo` brings it back within a day; `minutebook erase` removes it from backups and logs, too, at once.
    """
    with opened(options) as api:
        memory = api.run(memories.read_memory, memory_id(api, id))
        if not yes:
            echo(f"  {body(memory.content, '  ')}")
            confirm("Remove this?", abort=True)
        api.run(memories.delete_memory, memory.id)
        echo(f"Removed {both_ids(memory)}; `minutebook undo` brings it back within a day.")
    return {"id": memory.id, "deleted": True}


COMMANDS = (remember, search, show, list_, edit, invalidate, forget)
