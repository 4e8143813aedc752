"""Resolves conflicts: which version of a record is shown that was edited on several machines, and where the others are kept.

Everything follows from the edits alone, so each machine makes the same records.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

from minutebook.features.sync.replication import (
    REMOVED,
    ReplicaState,
    Sibling,
    differing_fields,
    travelling_line,
    winner_of,
)
from minutebook.record.errors import InvalidInput
from minutebook.record.ids import derived_id
from minutebook.record.records import (
    Decision,
    Entity,
    Kind,
    Link,
    Memory,
    MemoryType,
    Proposal,
    Record,
    ScopeLevel,
    Status,
    Summary,
    TextRecord,
    Turn,
    Version,
)
from minutebook.record.writing.decision_drafts import (
    erased,
    immutable_differences,
    is_erased_decision,
    merge_decisions,
)
from minutebook.text.revisions import DatedText, revisions

CONFLICTS_WITH = "conflicts_with"
"""The type of the link from another version of a memory to the memory."""

_REQUEST = "sync"


@dataclass(frozen=True, slots=True)
class SyncConflict:
    """A record that was edited on several machines at once.

    `fields` differ between the versions, `copies` are the ids of memories with the other versions;
    `was_removed` tells that one machine removed the record while another edited it. `newest` is the id of the version
    that, by its words, perhaps revises the others; empty if none does.
    """

    organization: str
    kind: Kind
    id: str
    label: str
    fields: tuple[str, ...]
    copies: tuple[str, ...] = ()
    was_removed: bool = False
    newest: str = ""

    @property
    def other_versions(self) -> str:
        """The end of a sentence with the ids of the other versions, and the one that perhaps revises the others."""
        kept = f"; the other version is {', '.join(self.copies)}" if self.copies else ""
        return f"{kept}; {self.newest} perhaps revises the other" if self.newest else kept


@dataclass(frozen=True, slots=True)
class Resolution:
    """The version of a record for the store (None: removed), further records to be added, and the conflict to be reported."""

    shown: Record | None
    added: tuple[Record, ...] = ()
    conflict: SyncConflict | None = None


def resolve(state: ReplicaState) -> Resolution:
    """Return the resolution of a state.

    Raises InvalidInput if two versions of a decision differ in fields that no act may change.
    """
    winner = winner_of(state)
    shown = winner.record
    if len(state.digests) == 1 or shown is None:
        return Resolution(shown)
    losers = list(_losers(state, winner))
    others = [each for each in (loser.record for loser in losers) if each is not None]
    added: list[Record] = []
    match shown:
        case Decision():
            return Resolution(_merged(shown, others))
        case Memory():
            shown, added = _memory(shown, others)
        case Version():
            added = _versions(shown, losers)
        case Entity() | Proposal() | Turn() | Summary():
            for other in others:
                if _content(other) != _content(shown):
                    added += _as_memory(other)
    was_removed = any(loser.digest == REMOVED for loser in losers)
    fields = sorted({name for other in others for name in differing_fields(shown, other)})
    copies = [each for each in added if isinstance(each, Memory)]
    newest = _newest([shown, *copies]) if isinstance(shown, Memory) else ""
    name, ids = (shown.organization, shown.kind, shown.id), tuple(each.id for each in copies)
    conflict = SyncConflict(*name, _label(shown), tuple(fields), ids, was_removed, newest)
    is_told = bool(fields or was_removed) and not isinstance(shown, Version)
    return Resolution(shown, tuple(added), conflict if is_told else None)


def _newest(versions: Sequence[Memory]) -> str:
    """Return the id of the version that most likely revises another, by their words and times; empty if none does."""
    found = revisions([DatedText(each.text, each.updated_at) for each in versions])
    best = max(found.values(), key=lambda each: each.chance, default=None)
    return "" if best is None else versions[best.newer].id


def _losers(state: ReplicaState, winner: Sibling) -> Iterator[Sibling]:
    seen = {winner.digest}
    for each in state.siblings:
        if each.digest not in seen:
            seen.add(each.digest)
            yield each


def _merged(shown: Decision, others: Sequence[Record]) -> Decision:
    decisions = [each for each in others if isinstance(each, Decision)]
    if any(is_erased_decision(each) for each in (shown, *decisions)):
        shown, decisions = erased(shown), [erased(each) for each in decisions]
    for other in decisions:
        fixed = immutable_differences(shown, other)
        if fixed:
            remedy = "{id} stands in two forms, which differ in {names}"
            raise InvalidInput("decision", remedy, id=shown.id, names=", ".join(fixed))
    return reduce(merge_decisions, decisions, shown)


def _memory(winner: Memory, others: Sequence[Record]) -> tuple[Memory, list[Record]]:
    """Return the memory to be shown, and the records to be added: its version, and the other versions as memories.

    Its version number is higher than all others, so that the next edit replaces none of them.
    """
    memories = [each for each in others if isinstance(each, Memory)]
    top = max(each.version for each in (winner, *memories))
    if all(each.text == winner.text for each in memories):
        shown, added = replace(winner, version=top), list[Record]()
    else:
        shown = replace(winner, version=top + 1)
        added = [_version_of(shown)]
    for other in memories:
        has_news = (other.text, other.metadata) != (winner.text, winner.metadata)
        if has_news and other.deleted_at is None:
            added += _copy(shown, other)
    return shown, added


def _version_of(memory: Memory) -> Version:
    return Version(
        organization=memory.organization,
        id=f"{memory.id}.{memory.version}",
        memory=memory.id,
        number=memory.version,
        content=memory.content,
        title=memory.title,
        changed_by=memory.author,
        changed_at=memory.updated_at,
        request=_REQUEST,
    )


def _copy(shown: Memory, other: Memory) -> list[Record]:
    """Return another version of a memory as a separate memory, with its version and a link to the one shown."""
    line = travelling_line(other) or b""
    copy = replace(
        other,
        id=derived_id(other.id, hashlib.sha256(line).hexdigest()),
        given_uuid=None,
        status=Status.UNVERIFIED,
        locked_by=None,
        unlocks_to=None,
        superseded_by=None,
        version=1,
        reason=f"edited on two machines at once; the version that is shown is {shown.id}",
        metadata={**other.metadata, "conflict_of": shown.id},
    )
    link = Link(
        organization=copy.organization,
        id=f"{copy.id}.{shown.id}.{CONFLICTS_WITH}",
        source=copy.id,
        target=shown.id,
        type=CONFLICTS_WITH,
        created_at=copy.updated_at,
    )
    return [copy, _version_of(copy), link]


def _versions(shown: Version, losers: Sequence[Sibling]) -> list[Record]:
    """Return the other versions under the same number with a different text, with new ids."""
    return [
        replace(other, id=f"{other.id}.{loser.digest[:8]}")
        for loser in losers
        if isinstance(other := loser.record, Version)
        and (other.title, other.content) != (shown.title, shown.content)
    ]


def _content(record: Record) -> object:
    """Return the content of a record that is no memory: what somebody wrote, without author and time."""
    match record:
        case Entity():
            return (record.name, record.type, record.description, record.aliases)
        case TextRecord():
            return record.text
        case _:
            return None


def _as_memory(other: Record) -> list[Record]:
    """Return another version of a record that is no memory as a memory with its line, and that memory's version."""
    line = travelling_line(other) or b""
    repository, user = getattr(other, "repository", None), getattr(other, "user", None)
    scope = ScopeLevel.USER if user is not None else ScopeLevel.ORGANIZATION
    if user is None and repository is not None:
        scope = ScopeLevel.REPOSITORY
    at = _instant_of(other)
    memory = Memory(
        organization=other.organization,
        id=derived_id(other.id, hashlib.sha256(line).hexdigest()),
        content=f"The {other.kind} {other.id} was edited on two machines at once. This is the version "
        f"that is not shown:\n\n{line.decode('utf-8', 'replace').strip()}",
        title=f"Another version of {_label(other)}",
        scope=scope,
        type=MemoryType.DOCUMENTATION,
        status=Status.UNVERIFIED,
        author=getattr(other, "author", "sync"),
        event_time=at,
        ingestion_time=at,
        updated_at=at,
        valid_from=at,
        repository=repository,
        user=user,
        metadata={"conflict_of": other.id},
    )
    return [memory, _version_of(memory)]


def _instant_of(record: Record) -> datetime:
    match record:
        case Turn() | Summary():
            return record.at
        case Entity() | Proposal():
            return record.created_at
        case _:
            raise TypeError(record.kind)


def _label(record: Record) -> str:
    match record:
        case Memory():
            return record.title or " ".join(record.content[:400].split()[:8])
        case Entity():
            return record.name
        case Proposal() | Decision() | Summary():
            return record.title
        case _:
            return record.id
