"""The recall log: the hits of each question, written beside the answers, for readers with the right."""

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from minutebook.app import App
from minutebook.features.recall_log.rows import (
    Got,
    LoggedRecall,
    RecallCount,
    RecallQuery,
    RecallRows,
    ShownRecall,
    asker_of,
)
from minutebook.features.recall_log.settings import RecallLogSettings
from minutebook.memory.access.visibility import View, seen_by, seen_in
from minutebook.memory.maintenance.overview import Reset
from minutebook.memory.search.relations import sentence_of
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.day import DaySpan
from minutebook.record.errors import StoreError
from minutebook.record.filters import default_organization
from minutebook.record.ids import new_id
from minutebook.record.origin import Origin
from minutebook.record.records import (
    CLASSES,
    SYSTEM_ORGANIZATION,
    Entity,
    Key,
    Kind,
    Record,
    Relation,
    RelationText,
    Role,
)

log = logging.getLogger(__name__)

BATCH_SECONDS = 1.0
"""Seconds for which entries are gathered before they are written; a kill loses them."""

MOST_PENDING = 2000
"""Entries that wait to be written at most; beyond it the oldest are dropped."""

WRITTEN_AT_ONCE = 20
"""Entries that one transaction writes: whoever else writes waits for it."""

MOST_GOT = 50
"""Records of one question that are logged: the best."""

LONGEST_QUESTION = 1000
"""Characters of a question that are kept."""

KEPT_FOR = timedelta(days=30)
"""How long an entry is kept."""

MOST_KEPT = 100_000
"""Entries of an organization that are kept; beyond them the oldest leave."""

PRUNED_EVERY = 500
"""Entries of an organization between two looks for what is too old or too much."""


@dataclass(frozen=True, slots=True)
class Uses:
    """How often a record was recalled, and by which callers, since an instant; None: nothing is logged."""

    since: datetime | None
    counts: list[RecallCount]

    @property
    def total(self) -> int:
        """How often in all."""
        return sum(each.count for each in self.counts)

    @property
    def last(self) -> datetime | None:
        """When it was recalled last."""
        return max((each.last for each in self.counts), default=None)


class RecallLog:
    """Notes the hits of questions, and reads them back.

    An answer never waits for the log: a thread writes what was gathered in a second. Viewers, and readers
    bound to a part of an organization, read what they asked themselves. `screen`
    masks the secrets in a question before it is written.
    """

    def __init__(self, app: App) -> None:
        self.mode = app.settings.of(RecallLogSettings).recall_log
        self._store = app.infrastructure.store
        self._rows = RecallRows(app.infrastructure.database)
        self._clock, self._randbits = app.clock, app.infrastructure.randbits
        self._screen = app.screening.captured_text
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._stop = threading.Event()
        self._pending: deque[LoggedRecall] = deque(maxlen=MOST_PENDING)
        self._is_written = False
        self._unpruned: dict[str, int] = {}

    def note(
        self, caller: Caller, act: str, question: str, got: Iterable[tuple[Record, float]]
    ) -> None:
        """Note which records a question got through a tool, best first."""
        if self.mode == "off":
            return
        found: dict[str, list[Got]] = {}
        home = default_organization(caller)
        for record, score in islice(got, MOST_GOT):
            # Everybody reads the system's organization: what was asked stays with the asker's.
            is_system = record.organization == SYSTEM_ORGANIZATION
            each = found.setdefault(home if is_system else record.organization, [])
            each.append(Got(record.kind, record.id, float(score)))
        if not found:
            found[home] = []
        now, origin = self._clock(), caller.call.origin or Origin()
        text = _plain(question)[:LONGEST_QUESTION] if self.mode == "questions" else None
        entries = [
            LoggedRecall(
                id=new_id(now, self._randbits),
                organization=organization,
                at=now,
                asker=asker_of(caller),
                actor=_plain(caller.name),
                client=_plain(origin.client),
                contract=origin.contract,
                act=act,
                session=_plain(origin.session),
                question=text,
                got=tuple(each),
            )
            for organization, each in found.items()
        ]
        with self._lock:
            self._pending.extend(entries)
            if self._is_written or self._stop.is_set():
                return
            self._is_written = True
        threading.Thread(target=self._write_later, name="recalls", daemon=True).start()

    def flush(self) -> bool:
        """Write the noted entries; tell whether that was possible. A failure is logged, and tried again."""
        with self._turn:
            with self._lock:
                entries = [self._screened(each) for each in self._pending]
                self._pending.clear()
            if not entries:
                return True
            is_done = True
            for organization in sorted({each.organization for each in entries}):
                some = [each for each in entries if each.organization == organization]
                is_done = self._write(organization, some) and is_done
            return is_done

    def is_whole(self) -> bool:
        """Tell whether all that was asked could be noted, and more could be: else how much it was is not known."""
        return self.flush() and (self.mode == "off" or self._rows.can_write())

    def close(self) -> None:
        """Write the remaining entries, and no more."""
        self._stop.set()
        self.flush()

    def entries(
        self,
        caller: Caller,
        *,
        sessions: Collection[str] | None = None,
        client: str | None = None,
        record: Record | None = None,
        span: DaySpan | None = None,
        limit: int,
        offset: int = 0,
    ) -> list[ShownRecall]:
        """Return a page of the entries that the caller may read, newest first, with their hits."""
        self.flush()
        known = None if record is None else (record.kind, record.id)
        found = [
            entry
            for organization in self._homes(caller, record)
            for entry in self._rows.find(
                self._query(
                    caller, organization, sessions=sessions, client=client, record=known, span=span
                ),
                limit + offset,
            )
        ]
        found.sort(key=lambda each: (each.at, each.id), reverse=True)
        page = found[offset : offset + limit]
        records = self._records(caller, page)
        return [_shown(each, records) for each in page]

    def uses(self, caller: Caller, record: Record) -> Uses:
        """Count the recalls of a record that the caller may see, as far as the caller may read of them."""
        self.flush()
        rows, homes = self._rows, self._homes(caller, record)
        queries = [self._query(caller, each, record=(record.kind, record.id)) for each in homes]
        counts = [count for query in queries for count in rows.counts(query)]
        logs = [self._query(caller, each) for each in homes]
        begins = [first for each in logs if (first := rows.first(each)) is not None]
        return Uses(min(begins, default=None), counts)

    def times(self, caller: Caller, records: Iterable[Record]) -> dict[tuple[Kind, str], int]:
        """Count how often records were recalled, by kind and id, as far as the caller may read of it.

        What was noted in the last second may be missing.
        """
        ids: dict[tuple[str, Kind], set[str]] = {}
        for record in records:
            for home in self._homes(caller, record):
                ids.setdefault((home, record.kind), set()).add(record.id)
        counts: Counter[tuple[Kind, str]] = Counter()
        for (home, kind), some in ids.items():
            found = self._rows.times(self._query(caller, home), kind, some)
            counts.update({(kind, id): count for id, count in found.items()})
        return counts

    def may_read_all(self, caller: Caller) -> bool:
        """Tell whether a caller reads the questions of others, or only their own."""
        return policy.may_read_questions(caller)

    def clear(self, caller: Caller, organization: str) -> None:
        """Remove an organization's entries that the caller may read, an agent its own alone.

        What other processes have not yet written stays.
        """
        is_all = self.may_read_all(caller) and caller.role is not Role.AGENT
        asker = None if is_all else asker_of(caller)
        with self._lock:
            kept = [
                each
                for each in self._pending
                if each.organization != organization or asker not in (None, each.asker)
            ]
            self._pending.clear()
            self._pending.extend(kept)
        self._rows.clear(organization, asker)

    def _screened(self, entry: LoggedRecall) -> LoggedRecall:
        if not entry.question:
            return entry
        return replace(entry, question=self._screen(entry.question))

    def _query(self, caller: Caller, organization: str, **conditions: object) -> RecallQuery:
        asker = None if self.may_read_all(caller) else asker_of(caller)
        return replace(RecallQuery(organization=organization, asker=asker), **conditions)  # type: ignore[arg-type]

    def _homes(self, caller: Caller, record: Record | None = None) -> list[str]:
        """Return the organizations with logs that a caller reads, for a record alone its own."""
        if record is not None and record.organization != SYSTEM_ORGANIZATION:
            return [record.organization]
        known = set(seen_by(self._store, caller).organizations)
        return sorted(known - {SYSTEM_ORGANIZATION} | {default_organization(caller)})

    def _records(self, caller: Caller, entries: Sequence[LoggedRecall]) -> dict[Key, Record]:
        """Read the hits of entries, as far as the caller may see them, by the entry's organization."""
        ids: dict[tuple[str, Kind], set[str]] = {}
        for entry in entries:
            for got in entry.got:
                ids.setdefault((entry.organization, got.kind), set()).add(got.id)
        return {
            (organization, kind, record.id): record
            for (organization, kind), some in ids.items()
            # What is the organization's own comes last, and so in the place of the system's.
            for home in (SYSTEM_ORGANIZATION, organization)
            for record in _found(seen_in(self._store, home, caller), kind, some)
        }

    def _write_later(self) -> None:
        while True:
            self._stop.wait(BATCH_SECONDS)
            is_done = self.flush()
            with self._lock:
                if not (is_done and self._pending) or self._stop.is_set():
                    # What could not be written waits for the next question.
                    self._is_written = False
                    return

    def _write(self, organization: str, entries: Sequence[LoggedRecall]) -> bool:
        """Write an organization's entries, and at the first and now and then remove the expired ones."""
        rows, unpruned = self._rows, self._unpruned
        try:
            for first in range(0, len(entries), WRITTEN_AT_ONCE):
                rows.write(organization, entries[first : first + WRITTEN_AT_ONCE])
                # Who waits to write does so now: a lock is not handed over by itself.
                time.sleep(0.001)
            count = unpruned.get(organization, PRUNED_EVERY) + len(entries)
            if count > PRUNED_EVERY:
                rows.prune(organization, self._clock() - KEPT_FOR, MOST_KEPT)
                count = 0
        except StoreError as error:
            log.warning("the recall log was not written: %s", error)
            with self._lock:
                # What was noted since stays; of what it leaves no room for the oldest is dropped.
                room = MOST_PENDING - len(self._pending)
                self._pending.extendleft(reversed(entries[-room:] if room else []))
            return False
        unpruned[organization] = count
        return True


def _found(view: View, kind: Kind, ids: Collection[str]) -> Sequence[Record]:
    """Return the records of a kind by id, a relation as its sentence."""
    found = view.where(ids=frozenset(ids)).find(CLASSES[kind])
    relations = [each for each in found if isinstance(each, Relation)]
    if not relations:
        return found
    ends = frozenset(end for each in relations for end in (each.source, each.target))
    entities = {each.id: each for each in view.where(ids=ends).find(Entity)}
    return [
        RelationText(
            organization=each.organization,
            id=each.id,
            sentence=sentence_of(each, entities),
            at=each.created_at,
            author="",
            origin=each.origin,
        )
        for each in relations
    ]


def _plain(text: str) -> str:
    """Return a text without the characters that a database cannot keep."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def note_answer(
    app: App, caller: Caller, act: str, question: str, got: Sequence[tuple[Record, float]]
) -> None:
    """Note which records a question got, best first."""
    app.get(RecallLog).note(caller, act, question, got)


def removed(app: App, caller: Caller, organization: str) -> Reset:
    """Remove the entries that the caller may read of an organization's log."""
    app.get(RecallLog).clear(caller, organization)
    return Reset(Counter())


def _shown(entry: LoggedRecall, records: dict[Key, Record]) -> ShownRecall:
    """Return an entry as a reader of these records may know it: it names no others."""
    got = [each for each in entry.got if (entry.organization, each.kind, each.id) in records]
    seen = [(records[entry.organization, each.kind, each.id], each.score) for each in got]
    return ShownRecall(replace(entry, got=tuple(got)), seen)
