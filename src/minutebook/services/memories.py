"""Keep, change, end and forget memories."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from minutebook.domain import policy
from minutebook.domain.errors import Forbidden, NotFound
from minutebook.domain.filters import Filter, home_of, repository_of
from minutebook.domain.ids import RandomBits, new_id
from minutebook.domain.policy import Caller, Policy
from minutebook.domain.records import (
    SYSTEM_ORGANIZATION,
    Edge,
    Entry,
    Kind,
    Memory,
    MemoryType,
    ScopeLevel,
    Status,
    Version,
)
from minutebook.domain.validity import ended
from minutebook.services.mentions import Mentions
from minutebook.services.reach import Clock, filters, merged, narrowed, read_memory
from minutebook.services.supersession import Supersession
from minutebook.services.trail import Trail
from minutebook.services.vectors import Embedded
from minutebook.store.protocol import Store, Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller says of a memory that is to be kept."""

    content: str
    type: MemoryType
    user: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list, and how long the whole is."""

    memories: list[Memory]
    total: int


@dataclass(frozen=True, slots=True)
class History:
    """What led to a memory as it is: its versions, what it is joined to, and who did what."""

    versions: list[Version]
    edges: list[Edge]
    entries: list[Entry]


class Memories:
    """The use cases around one memory."""

    def __init__(
        self,
        store: Store,
        embedded: Embedded,
        trail: Trail,
        mentions: Mentions,
        supersession: Supersession,
        clock: Clock,
        randbits: RandomBits,
        rules: Policy,
    ) -> None:
        self._store = store
        self._embedded = embedded
        self._trail = trail
        self._mentions = mentions
        self._supersession = supersession
        self._clock = clock
        self._randbits = randbits
        self._rules = rules

    def store(self, caller: Caller, draft: Draft) -> Memory:
        """Keep a new memory with its vectors, first version, mentions and audit entry."""
        memory = self._drafted(caller, draft)
        said = (caller, memory.organization, "write", Kind.MEMORY, memory.id)
        with self._trail.guard(*said):
            _check_own_user(caller, draft.user)
            policy.check_may_write(caller, self._rules, memory.type, memory.scope)
        vectors = self._embedded.passage(memory.text)
        with self._trail.act(*said) as deed:
            self._keep(caller, memory, vectors)
            deed.changes(None, memory.text)
        return memory

    def read(self, caller: Caller, id: str) -> Memory:
        """Give a memory; NotFound."""
        return read_memory(self._store, caller, id)

    def history(self, memory: Memory) -> History:
        """Give the versions, edges and audit entries of a memory that was read."""
        here = Filter(organization=memory.organization)
        versions = self._store.find(
            Kind.VERSION, narrowed(here, memory=memory.id), order=("number",)
        )
        entries = self._store.find(Kind.ENTRY, narrowed(here, subject=memory.id), order=("number",))
        return History(
            cast("list[Version]", versions),
            self._store.edges(memory.organization, [memory.id]),
            cast("list[Entry]", entries),
        )

    def update(self, caller: Caller, id: str, changes: Mapping[str, Any]) -> Memory:
        """Change fields of a memory; a new text makes a new version and new vectors.

        Raises NotFound, Locked, Forbidden, EmbeddingNotReady.
        """
        earlier = self.read(caller, id)
        said = (caller, earlier.organization, "update", Kind.MEMORY, id)
        with self._trail.guard(*said):
            text = self._changed(caller, earlier, changes).text
        vectors = None if text == earlier.text else self._embedded.passage(text)
        with self._trail.act(*said) as deed:
            current = self.read(caller, id)
            changed = self._changed(caller, current, changes)
            if changed.text == current.text:
                self._store.put(changed)
            else:
                changed = replace(changed, version=current.version + 1)
                self._keep(caller, changed, vectors if changed.text == text else None)
            deed.changes(current.text, changed.text)
        return changed

    def delete(self, caller: Caller, id: str) -> bool:
        """Remove a memory and its versions for good; tell whether it was there."""
        try:
            organization = self.read(caller, id).organization
        except NotFound:
            return False
        with self._trail.act(caller, organization, "delete", Kind.MEMORY, id) as deed:
            memory = self._store.get(Kind.MEMORY, organization, id)
            if not isinstance(memory, Memory):
                deed.changes_nothing()
                return False
            policy.check_may_delete(caller, self._rules, memory)
            deed.changes(memory.text, None)
            self._supersession.close_gap(memory)
            return self._store.delete(Kind.MEMORY, organization, id)

    def page(self, caller: Caller, limit: int, offset: int) -> Page:
        """Give a page of all memories the caller may see, newest first."""
        reach = filters(self._store, caller)
        total = sum(self._store.count(Kind.MEMORY, where) for where in reach)
        order = ("-ingestion_time",)
        if len(reach) == 1:
            page = self._store.find(Kind.MEMORY, reach[0], order=order, limit=limit, offset=offset)
            return Page(cast("list[Memory]", page), total)
        parts = [
            cast(
                "list[Memory]",
                self._store.find(Kind.MEMORY, where, order=order, limit=offset + limit),
            )
            for where in reach
        ]
        return Page(merged(parts, order, offset, limit), total)

    def valid_at(
        self, caller: Caller, instant: datetime | None, user: str | None, limit: int
    ) -> list[Memory]:
        """Give the memories true at an instant (None: now), newest first.

        With a user, only that user's.
        """
        at = self._clock() if instant is None else instant
        parts = []
        for where in filters(self._store, caller):
            here = replace(where, valid_at=at)
            if user is not None:
                here = narrowed(here, user=user)
            found = self._store.find(Kind.MEMORY, here, order=("-ingestion_time",), limit=limit)
            parts.append(cast("list[Memory]", found))
        return merged(parts, ("-ingestion_time",), 0, limit)

    def invalidate(
        self, caller: Caller, id: str, reason: str | None, superseded_by: str | None
    ) -> Memory:
        """End a memory now, and link it to the one that takes its place, if any is named.

        Raises NotFound (of either, or of one in another organization), Conflict if a memory would
        supersede itself, Locked.
        """
        organization = self.read(caller, id).organization
        with self._trail.act(caller, organization, "invalidate", Kind.MEMORY, id) as deed:
            memory = self.read(caller, id)
            policy.check_may_change(caller, self._rules, memory)
            if superseded_by is not None:
                self._supersession.check_may_succeed(caller, memory, superseded_by)
            after = ended(memory, self._clock(), reason, superseded_by)
            self._store.put(after)
            if superseded_by is not None:
                self._supersession.link(memory, superseded_by)
            deed.changes(memory.text, after.text)
        return after

    def _drafted(self, caller: Caller, draft: Draft) -> Memory:
        now = self._clock()
        owner = draft.user if draft.user is not None else caller.user
        organization, repository = home_of(caller), repository_of(caller)
        if organization == SYSTEM_ORGANIZATION:
            scope = ScopeLevel.SYSTEM
        elif owner is not None:
            scope = ScopeLevel.USER
        else:
            scope = ScopeLevel.ORGANIZATION if repository is None else ScopeLevel.REPOSITORY
        return Memory(
            organization=organization,
            id=new_id(now, self._randbits),
            content=draft.content,
            scope=scope,
            type=draft.type,
            status=Status.ACTIVE,
            author=caller.name,
            event_time=now,
            ingestion_time=now,
            updated_at=now,
            valid_from=now,
            repository=repository,
            user=owner,
            metadata=draft.metadata,
        )

    def _changed(self, caller: Caller, memory: Memory, changes: Mapping[str, Any]) -> Memory:
        policy.check_may_change(caller, self._rules, memory)
        changed = replace(memory, **changes, updated_at=self._clock())
        policy.check_may_write(caller, self._rules, changed.type, changed.scope)
        return changed

    def _keep(self, caller: Caller, memory: Memory, vectors: Vectors | None) -> None:
        self._store.put(memory)
        self._store.put(
            Version(
                organization=memory.organization,
                id=f"{memory.id}.{memory.version}",
                memory=memory.id,
                number=memory.version,
                content=memory.content,
                title=memory.title,
                changed_by=caller.name,
                changed_at=memory.updated_at,
                request=caller.request,
            )
        )
        self._mentions.note_memory(memory)
        self._embedded.keep(memory, vectors)


def _check_own_user(caller: Caller, user: str | None) -> None:
    if user is not None and caller.user is not None and user != caller.user:
        raise Forbidden("write", f"this connection is held to the user {caller.user!r}")
