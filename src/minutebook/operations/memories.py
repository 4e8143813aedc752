"""Operations on memories: keep, find, read, change, end, link them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from minutebook.domain import policy
from minutebook.domain.caller import Caller, FolderScope
from minutebook.domain.errors import Conflict, InvalidInput
from minutebook.domain.filters import ANY_MEMORY, MemoryQuery
from minutebook.domain.listed import LinkedMemory, MemoryList
from minutebook.domain.reason import must_be_one_of
from minutebook.domain.records import (
    CLASSES,
    Edge,
    Entry,
    Kind,
    Memory,
    MemoryType,
    Record,
    ScopeLevel,
    TextRecord,
    Token,
    Version,
)
from minutebook.domain.sources import Source
from minutebook.operations.operation import ANY, check_range, operation
from minutebook.search.fusion import Share

if TYPE_CHECKING:
    from minutebook.app import App


MOST_SHOWN = 10
"""How many candidates are shown of a part that several ids have."""


_NAMED = frozenset({Kind.MEMORY, Kind.DECISION, Kind.PROPOSAL})


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """A record by its id, and the name by which a person recognizes it."""

    id: str
    label: str


@operation(ANY)
def named_by_part(
    app: "App", caller: Caller, kinds: Sequence[Kind], part: str
) -> list[NamedRecord]:
    """Find the records of some kinds with ids that begin, or else end, with a part.

    Raises InvalidInput for a kind that is neither of memories nor of decisions.
    """
    if not _NAMED.issuperset(kinds):
        raise InvalidInput("kinds", must_be_one_of(sorted(_NAMED)))
    return by_part(app, caller, kinds, part)


def by_part(app: "App", caller: Caller, kinds: Sequence[Kind], part: str) -> list[NamedRecord]:
    """Find the records of some kinds with ids that begin, or else end, with a part: one more than is shown."""
    for look in (app.id_lookup.begin_with, app.id_lookup.end_with):
        found = [each for of in kinds for each in look(caller, CLASSES[of], part, MOST_SHOWN + 1)]
        if found:
            return [NamedRecord(each.id, _label(each)) for each in found]
    return []


def _label(record: Record) -> str:
    match record:
        case Token():
            return record.name
        case Memory():
            return record.title or record.content
        case _:
            return str(getattr(record, "title", ""))


def in_folder(caller: Caller, folder: FolderScope | None) -> Caller:
    """Return the caller with the scope of the folder that they work in, if one is told."""
    return caller if folder is None else replace(caller, folder_scope=folder)


@operation("knowledge", writes=True)
def remember(
    app: "App",
    caller: Caller,
    content: str,
    type: MemoryType,
    title: str | None = None,
    importance: float | None = None,
    metadata: Mapping[str, object] | None = None,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
    links: Sequence[tuple[str, str]] = (),
    supersedes: Sequence[str] = (),
    folder: FolderScope | None = None,
    scope: ScopeLevel | None = None,
) -> Memory:
    """Keep a text; `links` are memories and types of links to them, an empty type being the usual one."""
    from minutebook.domain.writing.drafts import Draft
    from minutebook.services.knowledge.links import RELATED

    draft = Draft(
        content=content,
        type=type,
        title=title,
        importance=importance,
        metadata=metadata,
        valid_from=valid_from,
        valid_until=valid_until,
        scope=scope,
    )
    caller = in_folder(caller, folder)
    ends = [(id, type or RELATED) for id, type in links]
    return app.memories.store_joined(caller, draft, ends, list(supersedes))


@dataclass(frozen=True, slots=True)
class RankedRecord:
    """A record that answers a question, its score in the whole list, and the parts of the score.

    `revised_by` and `revised_at` tell of what perhaps revises it, `notes` what features say of it, by name.
    """

    record: TextRecord
    score: float
    details: Mapping[str, float]
    shares: tuple[Share, ...]
    revised_by: str | None = None
    revised_at: datetime | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


@operation("knowledge")
def search(
    app: "App",
    caller: Caller,
    query: str,
    limit: int,
    at: datetime | None = None,
    where: MemoryQuery = ANY_MEMORY,
    folder: FolderScope | None = None,
) -> list[RankedRecord]:
    """Find memories, active decisions and turns, the newest truth first; with `at` those that held then.

    Conditions that only memories have leave out all else.
    """
    from minutebook.services.search.recall import WEIGHTS, Selection

    check_range("limit", limit, 50)
    held = policy.narrowed_to(in_folder(caller, folder), repository=where.repository)
    found = app.combined.recall(
        held,
        query,
        limit,
        WEIGHTS,
        (Source.MEMORY,) if where.is_narrow else app.recall_sources,
        selection=Selection(where, at or caller.as_of),
        tokens=app.recall_tokens,
    ).results
    app.note_answer(caller, "search", query, ((each.record, each.hit.score) for each in found))
    return [
        RankedRecord(
            each.record,
            each.hit.score,
            each.details,
            each.hit.shares,
            None if each.revised_by is None else each.revised_by.id,
            None if each.revised_by is None else each.revised_by.at,
            {name: note.text for name, note in each.notes.items()},
        )
        for each in found
    ]


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory with its versions, edges and audit entries, its links, the turn in which it was written, and notes of features."""

    memory: Memory
    versions: list[Version]
    edges: list[Edge]
    entries: list[Entry]
    links: list[LinkedMemory]
    turn: str | None
    notes: Mapping[str, str]


@operation("knowledge")
def show(app: "App", caller: Caller, id: str) -> Shown:
    """Read a memory with its history."""
    memory = as_seen(app, caller, app.memories.read_any(caller, id))
    history = app.memories.history(caller, memory)
    turn = app.sessions.turn_of(caller, memory)
    notes = app.hit_notes.of(caller, [memory]).get(memory.key, {})
    return Shown(
        memory,
        history.versions,
        history.edges,
        history.entries,
        app.browsing.links(caller, memory),
        None if turn is None else turn.id,
        {name: note.text for name, note in notes.items()},
    )


@operation("knowledge")
def read_version(app: "App", caller: Caller, id: str, number: int) -> Version:
    """Read one version of a memory."""
    return app.memories.version(caller, id, number)


@operation("knowledge")
def read_memory(app: "App", caller: Caller, id: str) -> Memory:
    """Read a memory."""
    return as_seen(app, caller, app.memories.read(caller, id))


@operation("knowledge")
def list_memories(
    app: "App",
    caller: Caller,
    where: MemoryQuery,
    limit: int,
    offset: int,
    folder: FolderScope | None = None,
) -> MemoryList:
    """List memories, the newest first, ended ones too."""
    held = policy.narrowed_to(in_folder(caller, folder), repository=where.repository)
    return app.memories.page(held, limit, offset, where)


@operation("knowledge", writes=True)
def change_text(app: "App", caller: Caller, id: str, text: str, version: int) -> Memory:
    """Change the text of a memory that is at a version. Raises Conflict if it is at another."""
    if app.memories.read(caller, id).version != version:
        raise Conflict(id, "it was changed meanwhile; edit it again")
    return as_seen(app, caller, app.memories.update(caller, id, {"content": text}))


@operation("knowledge", writes=True)
def move_memories(
    app: "App", caller: Caller, ids: Sequence[str], repository: str | None
) -> list[Memory]:
    """Move memories to a repository, None for none: all of them, or no one."""
    return [as_seen(app, caller, each) for each in app.memories.move(caller, ids, repository)]


@operation("knowledge", writes=True)
def invalidate(
    app: "App", caller: Caller, id: str, reason: str, superseded_by: str | None = None
) -> Memory:
    """End a memory now."""
    return as_seen(app, caller, app.memories.invalidate(caller, id, reason, superseded_by))


@operation("knowledge", writes=True)
def delete_memory(app: "App", caller: Caller, id: str) -> bool:
    """Remove a memory and its versions for good; tell whether it was there."""
    return app.memories.delete(caller, id)


@operation("knowledge", is_long=True)
def duplicates(app: "App", caller: Caller) -> list[list[Memory]]:
    """List groups of memories that say nearly the same, or the opposite."""
    return [list(group) for group in app.similar.clusters(caller)]


class Stand(StrEnum):
    """The states of a memory that a person may set."""

    LOCK = "lock"
    UNLOCK = "unlock"
    VERIFY = "verify"
    DEPRECATE = "deprecate"


@operation("governance", writes=True)
def set_standing(app: "App", caller: Caller, id: str, stand: Stand, reason: str = "") -> Memory:
    """Lock, unlock, verify or deprecate a memory; to deprecate it needs a reason."""
    if stand is Stand.DEPRECATE:
        return as_seen(app, caller, app.status.deprecate(caller, id, reason))
    act = {
        Stand.LOCK: app.status.lock,
        Stand.UNLOCK: app.status.unlock,
        Stand.VERIFY: app.status.verify,
    }[stand]
    return as_seen(app, caller, act(caller, id))


@operation("knowledge", writes=True)
def restore_memory(app: "App", caller: Caller, id: str, version: int | None = None) -> Memory:
    """Bring back a soft-deleted memory or, as a new version, the text of an earlier one."""
    return as_seen(app, caller, app.memories.restore(caller, id, version))


@operation("governance", writes=True)
def link(app: "App", caller: Caller, source: str, target: str, type: str) -> Edge:
    """Link a memory to another."""
    return app.links.link(caller, source, target, type)


def as_seen(app: "App", caller: Caller, memory: Memory) -> Memory:
    """Return a memory with its successor, if the caller may see that."""
    return replace(memory, superseded_by=app.browsing.successor(caller, memory))


OPERATIONS = (
    *(named_by_part, remember, search, show, read_version, read_memory),
    *(list_memories, change_text, invalidate, delete_memory, duplicates, set_standing),
    *(restore_memory, link),
)
