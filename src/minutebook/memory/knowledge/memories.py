"""Store, change, end, remove and restore memories."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from minutebook.memory.access.audit import EVERYTHING
from minutebook.memory.access.provenance import attribute
from minutebook.memory.access.visibility import Seen
from minutebook.memory.embeddings import TextEmbedding
from minutebook.memory.infrastructure import Infrastructure
from minutebook.memory.knowledge.links import Links
from minutebook.memory.knowledge.supersession import Supersession
from minutebook.memory.knowledge.writing import UPDATE, Embed, MemoryWriter, version_id
from minutebook.record import policy
from minutebook.record.caller import Caller, Note
from minutebook.record.errors import Conflict, InBatch, MinutebookError, NotFound
from minutebook.record.filters import MemoryQuery, default_organization
from minutebook.record.ids import derived_id, new_id, uuid_of
from minutebook.record.listed import MemoryList
from minutebook.record.reason import Reason
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Edge,
    Entry,
    Kind,
    Memory,
    ScopeLevel,
    Status,
    TextRecord,
    Version,
    text_of,
)
from minutebook.record.writing import drafts
from minutebook.record.writing.drafts import Draft
from minutebook.record.writing.validity import ended, reinstated

NEWEST_FIRST = "-ingestion_time"

RETRY_WINDOW = timedelta(minutes=1)
"""The time within which a caller's second call with the same draft over a network counts as a retry, as the first answer may be lost."""

CREATED = "created"
"""The act by which a memory is created, named as the governance contract promises."""


@dataclass(frozen=True, slots=True)
class History:
    """The history of a memory: its versions, its links, and the acts on it."""

    versions: list[Version]
    edges: list[Edge]
    entries: list[Entry]


class Memories:
    """The use cases around one memory."""

    def __init__(
        self,
        infrastructure: Infrastructure,
        writer: MemoryWriter,
        supersession: Supersession,
        links: Links,
        note_written: Callable[[Caller, TextRecord], None],
    ) -> None:
        self._store = infrastructure.records
        self._writer = writer
        self._trail = infrastructure.trail
        self._supersession = supersession
        self._links = links
        self._clock = infrastructure.clock
        self._randbits = infrastructure.randbits
        self._rules = infrastructure.rules
        self._note_written = note_written

    def store(self, caller: Caller, draft: Draft) -> Memory:
        """Store a new memory with its vectors, first version, mentions and audit entry.

        The similar memories are noted in the call. A call over a network that is retried within
        RETRY_WINDOW returns the memory that the first one stored, and notes that. Raises Refused if the
        caller may not write there, InvalidInput if a field does not fit, EmbeddingNotReady if the model is
        not ready in time, Conflict if the id is taken.
        """
        draft = self._with_usable_id(caller, self._writer.screened(caller, draft))
        if caller.token and draft.id is None and (kept := self._retried(caller, draft)) is not None:
            caller.call.notes["kept"] = Note({"id": kept.id}, Reason("You kept this just now."))
            return kept
        return self._with_notes(caller, self._create(caller, draft, self._writer.embed_for(caller)))

    def _retried(self, caller: Caller, draft: Draft) -> Memory | None:
        """Return a memory that the caller stored within RETRY_WINDOW and that has every value of a draft, or None."""
        names = {each.name for each in fields(draft)} - {"initial"}
        given = {name: value for name in names if (value := getattr(draft, name)) is not None}
        seen = self._store.seen_by(caller).where(since=self._clock() - RETRY_WINDOW)
        own = seen.narrowed(author=caller.name).find(Memory)
        return next(
            (e for e in own if all(getattr(e, n) == value for n, value in given.items())), None
        )

    def _with_notes(self, caller: Caller, memory: Memory) -> Memory:
        """Add the notes on a memory just written to the call, and return the memory."""
        self._note_written(caller, memory)
        return memory

    def store_joined(
        self,
        caller: Caller,
        draft: Draft,
        links: Sequence[tuple[str, str]],
        supersedes: Sequence[str],
        reason: str | None = None,
    ) -> Memory:
        """Store a new memory with links to others (by id and type), which supersedes others; all of that or nothing.

        `reason` tells why the superseded ones end. Raises as `store`, `Links.link` and `invalidate` do.
        """
        draft = self._writer.screened(caller, draft)
        text = text_of(draft.title, draft.content)
        # Embedded first, so that no other writer waits for the model.
        embeddings = {text: self._writer.embed_for(caller)(text)}
        replaced = [known for old in supersedes if (known := self._known(caller, old)) is not None]
        homes = {self._home(caller, draft), *(memory.organization for memory in replaced)}
        with self._trail.audited_batch(homes):
            memory = self._create(caller, draft, embeddings.get)
            for target, type in links:
                self._links.link(caller, memory.id, target, type)
            for old in supersedes:
                self.invalidate(caller, old, reason, memory.id)
        self._writer.announce(embeddings.values())
        return self._with_notes(caller, memory)

    def write(self, caller: Caller, draft: Draft) -> Memory:
        """Create the memory, or overwrite the one with the draft's id; a soft-deleted one is restored.

        If the id is that of a memory out of the caller's sight, the memory gets another id, the same
        each time. Raises as `store` does.
        """
        draft = self._writer.screened(caller, draft)
        return self._with_notes(caller, self._write(caller, draft, self._writer.embed_for(caller)))

    def write_all(self, items: Sequence[tuple[Caller, Draft]]) -> list[Memory]:
        """Write several memories, all or none.

        Raises InBatch if one cannot be written, with the index of the first and the reason.
        """
        items = [(caller, self._writer.screened(caller, draft)) for caller, draft in items]
        # Embedded first, so that no other writer waits for the model.
        embeddings: dict[str, TextEmbedding | None] = {}
        embed = self._writer.embed_for(items[0][0]) if items else embeddings.get
        for index, (caller, draft) in enumerate(items):
            with _in_batch(index):
                text = self._text_to_store(caller, draft)
                if text not in embeddings:
                    embeddings[text] = embed(text)
        written = []
        homes = {self._home(caller, draft) for caller, draft in items}
        with self._trail.audited_batch(homes):
            for index, (caller, draft) in enumerate(items):
                with _in_batch(index):
                    written.append(self._write(caller, draft, embeddings.get))
        self._writer.announce(embeddings.values())
        return written

    def narrowed(self, caller: Caller, organization: str, id: str | None) -> Caller:
        """Return the caller narrowed to the organization in which `write` is to store a memory.

        `id` is the memory's, if one is given. Raises ScopeViolation, audited, if the organization
        is not the caller's, Conflict if the id is of a memory of another organization.
        """
        home = default_organization(caller)
        with self._trail.audit_refusals(caller, home, "write", Kind.MEMORY, id or EVERYTHING):
            narrowed = policy.narrowed_to(caller, organization=organization)
        try:
            known = None if id is None else self.read(caller, id)
        except NotFound:
            return narrowed
        if known is not None and known.organization not in (organization, SYSTEM_ORGANIZATION):
            reason = "it belongs to the organization {name!r}"
            raise Conflict(known.id, reason, name=known.organization)
        return narrowed

    def read(self, caller: Caller, id: str) -> Memory:
        """Return a memory. Raises NotFound if there is none or the caller may not see it."""
        return self._store.read(caller, Memory, id)

    def resolved_id(self, caller: Caller, id: str) -> str:
        """Return the id of the memory that a caller means by an id: the substitute if `write` gave it one, else the id itself."""
        substitute = _substitute_id(caller, id)
        is_used = self._known(caller, id) is None and self._known(caller, substitute) is not None
        return substitute if is_used else id

    def read_any(self, caller: Caller, id: str) -> Memory:
        """Return a memory, also a soft-deleted one. Raises NotFound if there is none."""
        return self._store.read(caller, Memory, id, with_deleted=True)

    def history(self, caller: Caller, memory: Memory) -> History:
        """Return the versions and audit entries of a memory that was read, and its edges.

        Edges whose other end the caller may not see are left out.
        """
        edges = self._store.seen_in(memory.organization, caller).edges([memory.id])
        return History(self._store.versions(memory), edges, self._store.entries(memory))

    def version(self, caller: Caller, id: str, number: int) -> Version:
        """Return the text of a memory after one change, also of a soft-deleted one.

        Raises NotFound if there is no such memory or version.
        """
        memory = self._store.read(caller, Memory, id, with_deleted=True)
        return self._version(memory, number)

    def update(self, caller: Caller, id: str, changes: Mapping[str, Any]) -> Memory:
        """Change fields of a memory; a new text makes a new version and new vectors.

        Raises NotFound if there is none, Refused if the caller may not, InvalidInput if a field does not
        fit, Conflict if the memory is not in the state that the change expects, EmbeddingNotReady if the
        model is not ready in time.
        """

        def rule(memory: Memory) -> Memory:
            return drafts.apply_changes(caller, self._rules(), memory, changes, self._clock())

        memory = self._writer.change(caller, UPDATE, partial(self.read, caller, id), rule)
        return self._with_notes(caller, memory) if changes.keys() & {"content", "title"} else memory

    def move(self, caller: Caller, ids: Sequence[str], repository: str | None) -> list[Memory]:
        """Move memories to a repository (None: to none), all of them or none. Raises as `update` does."""

        def place(memory: Memory) -> Mapping[str, Any]:
            scope = ScopeLevel.ORGANIZATION if repository is None else ScopeLevel.REPOSITORY
            place = {"repository": repository, "user": memory.user, "scope": scope}
            return place | {"scope": memory.scope} if memory.user is not None else place

        memories = [self.read(caller, id) for id in ids]
        with self._trail.audited_batch({each.organization for each in memories}):
            return [self.update(caller, each.id, place(each)) for each in memories]

    def remove(self, caller: Caller, id: str) -> Memory:
        """Soft-delete a memory: it is hidden until it is restored.

        Raises NotFound if there is no such memory, Refused if the caller may not change it.
        """

        def rule(memory: Memory) -> Memory:
            policy.check_may_change(caller, self._rules(), memory)
            return replace(memory, deleted_at=(now := self._clock()), updated_at=now)

        return self._writer.change(caller, "remove", partial(self.read, caller, id), rule)

    def restore(self, caller: Caller, id: str, number: int | None = None) -> Memory:
        """Restore a soft-deleted memory or, as a new version, the text of an earlier version.

        Raises NotFound, Refused, EmbeddingNotReady, Conflict if there is nothing to restore.
        """

        def rule(memory: Memory) -> Memory:
            policy.check_may_change(caller, self._rules(), memory)
            if number is not None:
                then = self._version(memory, number)
                memory = replace(memory, title=then.title, content=then.content)
            elif memory.deleted_at is None:
                raise Conflict(id, "it is not deleted; name the version whose text is to return")
            return replace(memory, deleted_at=None, updated_at=self._clock())

        find = partial(self._store.read, caller, Memory, id, with_deleted=True)
        return self._writer.change(caller, "restore", find, rule)

    def delete(self, caller: Caller, id: str) -> bool:
        """Remove a memory and its versions for good; tell whether it existed."""
        try:
            earlier = self.read(caller, id)
        except NotFound:
            return False
        organization = earlier.organization
        with self._trail.audited(caller, organization, "delete", Kind.MEMORY, id) as audit:
            memory = self._store.kept(earlier)
            if memory is None:
                audit.changes_nothing()
                return False
            policy.check_may_delete(caller, self._rules(), memory)
            audit.check(memory)
            self._supersession.check_may_remove(caller, memory)
            audit.changes(memory.text, None)
            self._supersession.close_gap(memory)
            return self._store.delete(Memory, organization, id)

    def page(
        self,
        caller: Caller,
        limit: int,
        offset: int,
        where: MemoryQuery | None = None,
        at: datetime | None = None,
    ) -> MemoryList:
        """Return a page of the memories the caller may see, newest first; with `at` only those valid at that instant."""
        seen = self._store.seen_by(caller).where(valid_at=at)
        if where is not None:
            seen = seen.matching(where)
        if where is not None and where.asks_metadata:
            return _page_by_metadata(seen, where, limit, offset)
        page = MemoryList(*seen.listing(Memory, NEWEST_FIRST, limit, offset))
        attribute(caller, page.memories)
        return page

    def count(self, caller: Caller, where: MemoryQuery, at: datetime) -> int:
        """Count the memories that `page` would return in all; `where` asks for no metadata."""
        return self._store.seen_by(caller).where(valid_at=at).matching(where).count(Memory)

    def valid_at(
        self, caller: Caller, instant: datetime | None, user: str | None, limit: int
    ) -> list[Memory]:
        """Return the memories valid at an instant (None: now), newest first.

        With a user, only that user's.
        """
        at = self._clock() if instant is None else instant
        named = {} if user is None else {"user": user}
        seen = self._store.seen_by(caller).where(valid_at=at).narrowed(**named)
        found = seen.page(Memory, NEWEST_FIRST, limit)
        attribute(caller, found)
        return found

    def invalidate(
        self, caller: Caller, id: str, reason: str | None, superseded_by: str | None
    ) -> Memory:
        """End a memory now, and link it to its successor, if one is named.

        Raises NotFound for either, Conflict if a memory would supersede itself or one of another
        organization, Locked.
        """
        organization = self.read(caller, id).organization
        with self._trail.audited(caller, organization, "invalidate", Kind.MEMORY, id) as audit:
            memory = self.read(caller, id)
            policy.check_may_change(caller, self._rules(), memory)
            audit.check(memory)
            if superseded_by is not None:
                self._supersession.check_may_succeed(caller, memory, superseded_by)
            after = ended(memory, self._clock(), reason, superseded_by)
            after = self._writer.screened(caller, after, memory)
            self._store.put(after)
            if superseded_by is not None:
                self._supersession.link(memory, superseded_by, caller.call.origin)
            audit.changes(memory.text, after.text)
        return after

    def reinstate(self, caller: Caller, id: str, status: Status = Status.ACTIVE) -> Memory:
        """Make an ended memory valid again, with a status; its successor stays valid too.

        Raises NotFound, Refused, Conflict if it has no end.
        """
        organization = self.read(caller, id).organization
        with self._trail.audited(caller, organization, "reinstate", Kind.MEMORY, id) as audit:
            memory = self.read(caller, id)
            policy.check_may_change(caller, self._rules(), memory)
            policy.check_may_set_status(caller, memory.status, status)
            audit.check(memory)
            if memory.valid_until is None:
                raise Conflict(id, "it has no end")
            after = reinstated(memory, status, self._clock())
            self._store.put(after)
            self._supersession.unlink(memory)
            audit.changes(memory.text, after.text)
        return after

    def _write(self, caller: Caller, draft: Draft, embed: Embed) -> Memory:
        own = self._with_usable_id(caller, draft)
        if own.id is None:
            return self._create(caller, own, embed)
        if self._known(caller, own.id) is None:
            try:
                return self._create(caller, own, embed)
            except Conflict:
                # Another writer has taken the id: out of the caller's sight, the memory gets another one.
                if self._known(caller, own.id) is None:
                    return self._create(caller, self._with_usable_id(caller, draft), embed)

        def rule(memory: Memory) -> Memory:
            return drafts.overwrite(caller, self._rules(), memory, own, self._clock())

        find = partial(self._store.read, caller, Memory, own.id, with_deleted=True)
        return self._writer.change(caller, UPDATE, find, rule, embed)

    def _create(self, caller: Caller, draft: Draft, embed: Embed) -> Memory:
        now = self._clock()
        id = draft.id if draft.id is not None else new_id(now, self._randbits)
        with self._trail.audit_refusals(caller, None, CREATED, Kind.MEMORY, id):
            memory = drafts.build_memory(caller, self._rules(), draft, id, now)
        embedding = embed(memory.text)
        made = self._writer.commit(caller, CREATED, memory, embedding, self._check_id_is_free)
        self._writer.announce([embedding])
        return made

    def _check_id_is_free(self, memory: Memory) -> Memory:
        if self._store.is_taken(Memory, memory.organization, memory.id):
            raise Conflict(memory.id, "this id is taken; leave it out to get a new one")
        return memory

    def _with_usable_id(self, caller: Caller, draft: Draft) -> Draft:
        """Return the draft with an id that the caller may use.

        A caller must not learn that an id is taken by a memory out of sight: such a draft gets an id
        derived from it and the caller's scopes, and the memory is shown under the given one.
        """
        # `is_taken` first: after `_known`, a memory that another writer creates in between would count as out of sight.
        if draft.id is None or not self._store.is_taken(
            Memory, self._home(caller, draft), draft.id
        ):
            return draft
        if self._known(caller, draft.id) is not None:
            return draft
        named = draft.given_uuid or str(uuid_of(draft.id))
        return replace(draft, id=_substitute_id(caller, draft.id), given_uuid=named)

    def _home(self, caller: Caller, draft: Draft) -> str:
        """Return the organization to write a draft to: that of the memory with its id if the caller sees one."""
        known = None if draft.id is None else self._known(caller, draft.id)
        if known is not None:
            return known.organization
        return (
            SYSTEM_ORGANIZATION
            if draft.scope is ScopeLevel.SYSTEM
            else default_organization(caller)
        )

    def _known(self, caller: Caller, id: str) -> Memory | None:
        try:
            return self._store.read(caller, Memory, id, with_deleted=True)
        except NotFound:
            return None

    def _text_to_store(self, caller: Caller, draft: Draft) -> str:
        """Return the text that writing a draft would store."""
        own = self._with_usable_id(caller, draft)
        known = None if own.id is None else self._known(caller, own.id)
        title = draft.title if draft.title is not None or known is None else known.title
        return text_of(title, draft.content)

    def _version(self, memory: Memory, number: int) -> Version:
        found = self._store.version(memory, version_id(memory.id, number))
        if found is None:
            raise NotFound(Kind.VERSION, version_id(memory.id, number))
        return found


def _substitute_id(caller: Caller, id: str) -> str:
    repositories = ("any",) if caller.repositories is None else sorted(caller.repositories)
    return derived_id(id, caller.user or "", *repositories)


def _page_by_metadata(seen: Seen, query: MemoryQuery, limit: int, offset: int) -> MemoryList:
    """Return a page of the memories that match by metadata, which no engine can select by."""
    views = {view.organization: view for view in seen}
    keys = [
        (memory.ingestion_time, memory.id, memory.organization)
        for view in seen
        for memory in view.each(Memory)
        if query.fits_metadata(memory)
    ]
    keys.sort(reverse=True)
    read = (views[name].get(Memory, id) for _, id, name in keys[offset : offset + limit])
    return MemoryList([memory for memory in read if memory is not None], len(keys))


@contextmanager
def _in_batch(index: int) -> Iterator[None]:
    try:
        yield
    except MinutebookError as error:
        raise InBatch(index, error) from error
