"""The recall log: the questions and their hits, written in the background."""

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
"""Seconds for which entries are gathered before they are written; a killed process loses them."""

MOST_PENDING = 2000
"""The most entries that wait to be written; the oldest are dropped first."""

WRITTEN_AT_ONCE = 20
"""Entries that are written in one transaction, for which other writers wait."""

MOST_GOT = 50
"""Hits of a question that are logged: the best."""

LONGEST_QUESTION = 1000
"""Characters of a question that are kept."""

KEPT_FOR = timedelta(days=30)
"""The time for which an entry is kept."""

MOST_KEPT = 100_000
"""The most entries of an organization; the oldest are removed first."""

PRUNED_EVERY = 500
"""New entries of an organization after which expired and surplus ones are removed."""


@dataclass(frozen=True, slots=True)
class Uses:
    """The recalls of a record by caller, since the instant of the first logged entry, None without entries."""

    since: datetime | None
    counts: list[RecallCount]

    @property
    def total(self) -> int:
        """The number of recalls."""
        return sum(each.count for each in self.counts)

    @property
    def last(self) -> datetime | None:
        """The instant of the last recall."""
        return max((each.last for each in self.counts), default=None)


class RecallLog:
    """Notes the hits of questions, and reads the entries.

    An answer never waits for the log: a thread writes the entries of BATCH_SECONDS. Viewers, and callers bound to a
    part of an organization, read only their own questions. Secrets in questions are masked before they are written.
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
        """Note a question that was asked through a tool, and its hits with their scores, the best first."""
        if self.mode == "off":
            return
        found: dict[str, list[Got]] = {}
        home = default_organization(caller)
        for record, score in islice(got, MOST_GOT):
            # A hit of the system's organization, which everybody reads, is noted in the asker's.
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
        """Write the noted entries; return whether that succeeded. Entries that could not be written are tried again."""
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
        """Tell whether all questions could be written, and further ones can be: else the log is incomplete."""
        return self.flush() and (self.mode == "off" or self._rows.can_write())

    def close(self) -> None:
        """Write the remaining entries, and stop."""
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
        """Return the recalls of a record that the caller may read."""
        self.flush()
        rows, homes = self._rows, self._homes(caller, record)
        queries = [self._query(caller, each, record=(record.kind, record.id)) for each in homes]
        counts = [count for query in queries for count in rows.counts(query)]
        logs = [self._query(caller, each) for each in homes]
        begins = [first for each in logs if (first := rows.first(each)) is not None]
        return Uses(min(begins, default=None), counts)

    def times(self, caller: Caller, records: Iterable[Record]) -> dict[tuple[Kind, str], int]:
        """Return the numbers of recalls of records that the caller may read, by kind and id.

        Entries that are not written yet may be missing.
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
        """Remove an organization's entries that the caller may read, for an agent only its own.

        Entries that other processes have not written yet stay.
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
        """Return the organizations with logs that a caller may read; for a record only its own organization."""
        if record is not None and record.organization != SYSTEM_ORGANIZATION:
            return [record.organization]
        known = set(seen_by(self._store, caller).organizations)
        return sorted(known - {SYSTEM_ORGANIZATION} | {default_organization(caller)})

    def _records(self, caller: Caller, entries: Sequence[LoggedRecall]) -> dict[Key, Record]:
        """Return the hits of entries that the caller may see, by the entry's organization, kind and id."""
        ids: dict[tuple[str, Kind], set[str]] = {}
        for entry in entries:
            for got in entry.got:
                ids.setdefault((entry.organization, got.kind), set()).add(got.id)
        return {
            (organization, kind, record.id): record
            for (organization, kind), some in ids.items()
            # The organization's own record comes last, and so replaces one of the system.
            for home in (SYSTEM_ORGANIZATION, organization)
            for record in _found(seen_in(self._store, home, caller), kind, some)
        }

    def _write_later(self) -> None:
        while True:
            self._stop.wait(BATCH_SECONDS)
            is_done = self.flush()
            with self._lock:
                if not (is_done and self._pending) or self._stop.is_set():
                    # Entries that could not be written wait for the next question.
                    self._is_written = False
                    return

    def _write(self, organization: str, entries: Sequence[LoggedRecall]) -> bool:
        """Write an organization's entries, and remove old ones the first time and after PRUNED_EVERY entries."""
        rows, unpruned = self._rows, self._unpruned
        try:
            for first in range(0, len(entries), WRITTEN_AT_ONCE):
                rows.write(organization, entries[first : first + WRITTEN_AT_ONCE])
                # A pause, in which a waiting writer gets the lock.
                time.sleep(0.001)
            count = unpruned.get(organization, PRUNED_EVERY) + len(entries)
            if count > PRUNED_EVERY:
                rows.prune(organization, self._clock() - KEPT_FOR, MOST_KEPT)
                count = 0
        except StoreError as error:
            log.warning("the recall log was not written: %s", error)
            with self._lock:
                # Newer entries stay; of those that could not be written the oldest are dropped if there is no room.
                room = MOST_PENDING - len(self._pending)
                self._pending.extendleft(reversed(entries[-room:] if room else []))
            return False
        unpruned[organization] = count
        return True


def _found(view: View, kind: Kind, ids: Collection[str]) -> Sequence[Record]:
    """Return the records of a kind with some ids; relations as RelationText."""
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
    """Note a question and its hits, the best first."""
    app.get(RecallLog).note(caller, act, question, got)


def removed(app: App, caller: Caller, organization: str) -> Reset:
    """Remove an organization's entries that the caller may read, since its records were removed."""
    app.get(RecallLog).clear(caller, organization)
    return Reset(Counter())


def _shown(entry: LoggedRecall, records: dict[Key, Record]) -> ShownRecall:
    """Return an entry without hits that are not among `records`, which the reader may see."""
    got = [each for each in entry.got if (entry.organization, each.kind, each.id) in records]
    seen = [(records[entry.organization, each.kind, each.id], each.score) for each in got]
    return ShownRecall(replace(entry, got=tuple(got)), seen)
