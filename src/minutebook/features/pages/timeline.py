"""The facts known and the facts true at an instant, and the changes between two."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from minutebook.domain.caller import Caller
from minutebook.domain.policy import may_audit
from minutebook.domain.records import Entry, Kind, Memory, Version
from minutebook.domain.trust.trail import DONE
from minutebook.services.access.audit import Trail
from minutebook.services.access.visibility import Records, Seen, View

MOST = 1000
"""Entries of an organization's trail that are read for the changes of a span, the latest; and memories that began or ended in it, by id."""


class Event(StrEnum):
    """The kind of a change to a memory."""

    ADDED = "added"
    BEGAN = "began"
    EDITED = "edited"
    VERIFIED = "verified"
    SUPERSEDED = "superseded"
    ENDED = "ended"
    REMOVED = "removed"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class MemoryThen:
    """A memory with its text as it was recorded at an instant; `is_edited` tells that it changed since."""

    memory: Memory
    is_edited: bool = False


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """The changes to one memory in a span of time, the entries that prove them, and its successor.

    `memory` is None for one that was removed for good. `at` is when it changed last.
    """

    id: str
    memory: Memory | None
    events: tuple[Event, ...]
    at: datetime
    entries: tuple[Entry, ...] = ()
    successor: Memory | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes in a span of time, the latest first; `is_cut` tells that some are left out."""

    changes: list[MemoryChange]
    is_cut: bool


@dataclass(slots=True)
class _TimelineSpan:
    """An organization's part of the changes between two instants."""

    view: View
    since: datetime
    until: datetime
    entries: defaultdict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))

    def has(self, instant: datetime | None) -> bool:
        return instant is not None and self.since <= instant < self.until


class Timeline:
    """Looks back: over memories and the audit trail, as far as the caller may see them."""

    def __init__(self, store: Records, trail: Trail) -> None:
        self._store = store
        self._trail = trail

    def first(self, caller: Caller) -> datetime | None:
        """Return when the first memory was kept; None if there is none."""
        found = self._store.seen_by(caller).page(Memory, "ingestion_time", 1)
        return found[0].ingestion_time if found else None

    def true_at(
        self, caller: Caller, at: datetime, limit: int, offset: int = 0
    ) -> tuple[list[Memory], int]:
        """Return a page of the memories true at an instant by today's knowledge, and the total."""
        return _page(self._seen(caller, at), limit, offset)

    def known_at(
        self, caller: Caller, at: datetime, limit: int, offset: int = 0
    ) -> tuple[list[MemoryThen], int]:
        """Return a page of the memories recorded before an instant that held then, and the total.

        Texts are as they were then. What was removed since is left out.
        """
        found, total = _page(self._seen(caller, at).where(until=at), limit, offset)
        return [self._then(memory, at) for memory in found], total

    def texts(self, memory: Memory, since: datetime, until: datetime) -> tuple[Version, Version]:
        """Return the texts of a memory that was read as they were before two instants.

        Before it was kept, its first.
        """
        versions = self._store.versions(memory)
        return _version_at(versions, since), _version_at(versions, until)

    def changes(self, caller: Caller, since: datetime, until: datetime) -> Changes:
        """Return the changes from one instant on and before another."""
        found: list[MemoryChange] = []
        is_cut = False
        for view in self._store.seen_by(caller):
            span = _TimelineSpan(view, since, until)
            turned = _turned(span)
            is_cut |= self._read_acts(span) or len(turned) > MOST
            found += _changed(span, turned[:MOST], tells_gone=may_audit(caller))
        found.sort(key=lambda each: (each.at, each.id), reverse=True)
        return Changes(found, is_cut)

    def _seen(self, caller: Caller, at: datetime) -> Seen:
        return self._store.seen_by(caller).where(valid_at=at)

    def _then(self, memory: Memory, at: datetime) -> MemoryThen:
        if memory.version == 1 or memory.updated_at < at:
            return MemoryThen(memory)
        then = _version_at(self._store.versions(memory), at)
        if then.number == memory.version:
            return MemoryThen(memory)
        return MemoryThen(replace(memory, title=then.title, content=then.content), is_edited=True)

    def _read_acts(self, span: _TimelineSpan) -> bool:
        """Put the acts on memories in the span; tell whether there are more than are read."""
        acts = self._trail.acts(span.view.organization, span.since, span.until, MOST)
        for entry in acts.entries:
            if entry.subject_kind is Kind.MEMORY and entry.outcome == DONE:
                span.entries[entry.subject].append(entry)
        return acts.is_cut


def _page(seen: Seen, limit: int, offset: int) -> tuple[list[Memory], int]:
    return seen.listing(Memory, "-ingestion_time", limit, offset)


def _turned(span: _TimelineSpan) -> list[str]:
    """Return the memories that hold at one end of the span alone, those of the greatest ids, one more than are told."""
    turned = span.view.where(differs_between=(span.since, span.until))
    return turned.read_ids(Memory, ("-id",), MOST + 1)


def _changed(
    span: _TimelineSpan, turned: Sequence[str], *, tells_gone: bool
) -> Iterable[MemoryChange]:
    touched = _read(span.view, {*span.entries, *turned})
    successors = _read(
        span.view, {each.superseded_by for each in touched.values() if each.superseded_by}
    )
    for id, memory in touched.items():
        entries = span.entries.get(id, [])
        events = tuple(each for each in Event if each in _events(memory, entries, span))
        if not events:
            continue
        at = max([each.at for each in entries], default=_latest(memory, span))
        successor = successors.get(memory.superseded_by or "")
        yield MemoryChange(id, memory, events, at, tuple(entries), successor)
    for id in span.entries.keys() - touched.keys() if tells_gone else ():
        entries = span.entries[id]
        if any(each.act == "delete" for each in entries):
            yield MemoryChange(id, None, (Event.REMOVED,), entries[-1].at, tuple(entries))


def _read(view: View, ids: Iterable[str]) -> dict[str, Memory]:
    wanted = frozenset(ids)
    if not wanted:
        return {}
    return {each.id: each for each in view.where(ids=wanted, with_deleted=True).find(Memory)}


def _events(memory: Memory, entries: Sequence[Entry], span: _TimelineSpan) -> set[Event]:
    """Return the events of a memory, by the acts on it and by its own times."""
    acts = {each.act for each in entries}
    found: set[Event] = set()
    if span.has(memory.ingestion_time):
        found.add(Event.ADDED)
    elif span.has(memory.valid_from):
        found.add(Event.BEGAN)
    if any(each.before and each.after and each.before != each.after for each in entries):
        found.add(Event.EDITED)
    if "verify" in acts:
        found.add(Event.VERIFIED)
    if span.has(memory.valid_until) or acts & {"invalidate", "deprecate"}:
        found.add(Event.SUPERSEDED if memory.superseded_by else Event.ENDED)
    if span.has(memory.deleted_at) or "remove" in acts:
        found.add(Event.REMOVED)
    if "restore" in acts and memory.deleted_at is None:
        found.add(Event.RESTORED)
    return found


def _latest(memory: Memory, span: _TimelineSpan) -> datetime:
    times = (memory.ingestion_time, memory.valid_from, memory.valid_until, memory.deleted_at)
    return max((each for each in times if each is not None and span.has(each)), default=span.since)


def _version_at(versions: Sequence[Version], at: datetime) -> Version:
    """Return the last version of those that were made before an instant, else the first."""
    made = [each for each in versions if each.changed_at < at]
    return made[-1] if made else versions[0]
