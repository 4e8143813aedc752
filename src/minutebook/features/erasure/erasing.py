"""Erasing records from all files that Minutebook wrote, and the search for remains."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from minutebook.app import App
from minutebook.config.places import backups_of, data_directory
from minutebook.feature import entries_of
from minutebook.features.erasure.order import Order, OrderFile
from minutebook.features.erasure.selection import Choice, ErasureSelection
from minutebook.features.erasure.traces import Finder, Trace, Unread, pieces_of, search
from minutebook.features.ledger.mirror.ledger_texts import LedgerTexts
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.memory.access.audit import decisions_among, forget_erased
from minutebook.memory.access.visibility import narrowed, owned_by
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, MinutebookError, Refused, StoreBusy, StoreError
from minutebook.record.filters import Filter, default_organization
from minutebook.record.json_lines import line_of
from minutebook.record.origin import responsible_author
from minutebook.record.reason import os_error_reason
from minutebook.record.records import (
    CLASSES,
    Entity,
    Key,
    Kind,
    Link,
    Memory,
    Record,
    Relation,
    Version,
)
from minutebook.record.trust.trail import ERASE
from minutebook.store.sql.side_words import SideRow, SideWords

_RECORDS_AT_ONCE = 1000

LOCK = "erase"
"""The name of the lock that an erasure holds."""


@dataclass(slots=True)
class ErasureSearch:
    """The results of a search for the texts of erased records."""

    traces: list[Trace] = field(default_factory=list)
    alike: list[Key] = field(default_factory=list)
    """Other records that hold pieces of the texts: those pieces prove nothing, and are not searched for."""
    tables: dict[str, int] = field(default_factory=dict)
    """The number of pieces in a server's tables, by table."""
    unread: list[Unread] = field(default_factory=list)
    pieces: int = 0
    """The number of pieces that were searched for."""


@dataclass(slots=True)
class Erased:
    """The results of an erasure."""

    records: tuple[Key, ...]
    rewritten: list[Path] = field(default_factory=list)
    """The backups that were written anew."""
    left: list[str] = field(default_factory=list)
    """The steps left to a person."""
    checked: ErasureSearch | None = None
    """The search for remains; None if the texts of the records were not known any more."""


class Erasing:
    """Erases records; a file notes the erasure until it is done, so that it can be resumed after a kill."""

    def __init__(self, app: App) -> None:
        self._store, self._trail = app.infrastructure.store, app.trail
        self._locks = app.infrastructure.locks
        self._rules, self._clock = app.rules, app.clock
        self._selection = ErasureSelection(app)
        self._supersession = app.supersession
        self._erased_copies = [make(app) for make in entries_of("files.erased")]
        self._ledger_texts = app.get(LedgerTexts)
        self._home, self._directory = app.settings.home, data_directory(app.settings)
        self._ledgers = app.settings.of(LedgerSettings).ledgers
        self._order_file = OrderFile(self._home)
        self._side_words = SideWords(app.infrastructure.database)

    def unfinished(self) -> Order | None:
        """Return the erasure that a kill cut short, or None. Raises StoreError if its file is damaged."""
        return self._order_file.read()

    def find(self, caller: Caller, choice: Choice) -> list[Record]:
        """Return the records of a choice. Raises Forbidden to viewers and agents, else as `ErasureSelection.find`."""
        self._check_may(caller)
        return self._selection.find(caller, choice)

    def copies(self, caller: Caller, choice: Choice) -> list[SideRow]:
        """Return the copies of a choice. Raises Forbidden to viewers and agents, else as `ErasureSelection.copies`."""
        self._check_may(caller)
        return self._selection.copies(caller, choice)

    def erase(
        self,
        caller: Caller,
        records: Sequence[Record],
        copies: Sequence[SideRow] = (),
        *,
        backups: bool,
        from_ledger: bool,
        rewrites_tables: bool = False,
    ) -> Erased:
        """Erase records, all or none, with all that belongs to them and some `copies`, then search for their texts.

        With `backups`, the known backups are written anew; with `rewrites_tables` a server's tables, each
        locked meanwhile. Raises InvalidInput if a record is a decision and not `from_ledger`, Refused if one
        is locked or not the caller's to remove, LedgerError if a ledger's history is not ours to rewrite,
        StoreBusy if another erasure is under way, or a reader keeps an old state for too long, after which
        `resume` ends the erasure.
        """
        self._check_may(caller)
        with self._locked():
            if self._order_file.read() is not None:
                raise StoreBusy("an erasure is not done; end it by `minutebook erase --resume`")
            decided = {each.organization for each in records if each.kind is Kind.DECISION}
            if decided and not from_ledger:
                raise InvalidInput(
                    "--from-ledger",
                    "must be given to erase a decision: it is a commit in Git, whose history is "
                    "rewritten for that. Who keeps a clone keeps the old one",
                )
            for organization in sorted(decided):
                self._ledger_texts.check(organization)
            texts = [text for each in records for text in self._selection.texts(each)]
            self._remove_copies(caller, copies)
            keys = tuple((each.organization, each.kind, each.id) for each in records)
            began = self._clock().isoformat()
            order = Order(began, keys, backups, from_ledger, rewrites_tables)
            self._order_file.write(order)
            done = self._carry_out(caller, order, Finder(pieces_of(texts)))
            done.checked = self._check(texts)
            return done

    def resume(self, caller: Caller) -> Erased | None:
        """End the erasure that a kill cut short; return None if there is none. Raises as `erase` does.

        The texts of the records are not known any more, so nothing is searched for.
        """
        self._check_may(caller)
        with self._locked():
            order = self._order_file.read()
            return None if order is None else self._carry_out(caller, order)

    def scrub(self, caller: Caller, *, rewrites_tables: bool = False) -> list[str]:
        """Remove from the store's files all remains of deleted records; return the steps left to a person."""
        self._check_may(caller)
        with self._locked():
            self._trail.log(caller, default_organization(caller), ERASE, Kind.HEAD, ["deleted"])
            homes = self._store.organizations()
            with self._store.transaction(*homes):
                for home in homes:
                    self._side_words.remove_images(home)
            return self._scrub(rewrites_tables=rewrites_tables)

    def check(self, caller: Caller, texts: Iterable[str]) -> ErasureSearch:
        """Search the data directory, the known backups and the records for texts."""
        self._check_may(caller)
        return self._check(texts)

    # The steps, each of which may be repeated

    def _carry_out(self, caller: Caller, order: Order, finder: Finder | None = None) -> Erased:
        """Carry out an order; `finder` finds the texts of its records, None if they are not known any more."""
        done = Erased(order.records)
        try:
            self._remove(caller, order, finder)
        except Refused:
            # Nothing was removed.
            self._order_file.remove()
            raise
        for organization, ids in sorted(decisions_among(order.records).items()):
            self._ledger_texts.erase(caller, organization, ids)
            with self._store.transaction(organization):
                self._note_erased([(organization, Kind.DECISION, id) for id in ids])
        for each in self._erased_copies:
            done.left += each.remove()
        done.left += self._scrub(rewrites_tables=order.rewrites_tables)
        if order.backups:
            self._rewrite_backups(caller, order, done)
        self._order_file.remove()
        return done

    def _scrub(self, *, rewrites_tables: bool) -> list[str]:
        upkeep = self._store.upkeep
        return upkeep.rewrite_tables() if rewrites_tables else upkeep.scrub()

    def _remove_copies(self, caller: Caller, copies: Sequence[SideRow]) -> None:
        """Remove the copies of words in the tables of features."""
        keys = {(each.table.name, each.key) for each in copies}
        for organization in sorted({each.organization for each in copies}):
            with self._store.transaction(organization):
                self._side_words.remove(organization, lambda row: (row.table.name, row.key) in keys)
                self._trail.log(caller, organization, ERASE, Kind.HEAD, ["copies"])

    def _remove(self, caller: Caller, order: Order, finder: Finder | None) -> None:
        """Remove the records of an order from the store, all or none, with the copies of their words."""
        organizations = sorted({organization for organization, _, _ in order.records})
        with self._trail.audited_batch(organizations):
            forget_erased(self._store, order.records)
            for home in organizations:
                if finder is None:
                    # Any image may repeat a text of the records.
                    self._side_words.remove_images(home)
                else:
                    self._side_words.remove(
                        home, lambda row: bool(finder.found_in(row.encoded_words))
                    )
            for key in order.records:
                if key[1] is not Kind.DECISION:
                    self._remove_one(caller, key)

    def _remove_one(self, caller: Caller, key: Key) -> None:
        """Remove one record with all that belongs to it. Raises Refused if the caller may not."""
        organization, kind, id = key
        with self._trail.audited(caller, organization, ERASE, kind, id) as audit:
            record = self._store.get(CLASSES[kind], organization, id)
            if record is None:
                # It was removed with another record, or before a kill.
                audit.changes_nothing()
                return
            audit.check(owned_by(self._store, record))
            if isinstance(record, Memory):
                policy.check_may_delete(caller, self._rules(), record)
                self._supersession.check_may_remove(caller, record)
                self._supersession.close_gap(record)
            elif not isinstance(record, Relation):
                author, origin = getattr(record, "author"), getattr(record, "origin", None)  # noqa: B009
                policy.check_may_remove_work_of(caller, responsible_author(author, origin))
            removed = [key, *self._keys_with(record)]
            self._store.delete(type(record), organization, id)
            self._note_erased(removed)

    def _keys_with(self, record: Record) -> Iterator[Key]:
        """Yield the keys of the records that are removed with a record and have copies on other machines."""
        home, here = record.organization, Filter(organization=record.organization)
        if isinstance(record, Memory):
            for id in self._store.ids(Version, narrowed(here, memory=record.id), ()):
                yield home, Kind.VERSION, id
        if isinstance(record, Memory | Entity):
            for edge in self._store.edges(home, [record.id]):
                if isinstance(edge, Link | Relation):
                    yield home, edge.kind, edge.id

    def _note_erased(self, keys: Sequence[Key]) -> None:
        for each in self._erased_copies:
            each.note(keys)

    def _rewrite_backups(self, caller: Caller, order: Order, done: Erased) -> None:
        """Write the known backups anew without the records; one that cannot be written is left to a person."""
        keys = self._directory.keys
        for path in self._known_backups():
            try:
                for rewrite in entries_of("files.rewrite"):
                    rewrite(path, caller, order.records, self._clock, self._home, keys)
            except MinutebookError as error:
                done.left.append(f"{path} could not be written anew: {error}")
            else:
                done.rewritten.append(path)

    def _known_backups(self) -> Sequence[Path]:
        return [] if self._directory.is_on_server else backups_of(self._directory)

    # The search

    def _check(self, texts: Iterable[str]) -> ErasureSearch:
        """Search for texts, but for the pieces of them that other records hold, too."""
        pieces, checked = pieces_of(texts), ErasureSearch()
        if not pieces:
            return checked
        checked.alike, shared = self._records_with(Finder(pieces))
        pieces -= shared
        checked.pieces = len(pieces)
        directory = self._directory
        roots = [self._home, self._ledgers, *directory.derived, *directory.copies]
        roots += self._known_backups()
        try:
            if pieces:
                finder = Finder(pieces)
                checked.traces, checked.unread = search(finder, roots, directory.keys)
                for table, rows in self._store.database.server_contents():
                    if held := finder.found_in_blocks(rows):
                        checked.tables[table] = len(held)
        except OSError as error:
            raise StoreError(os_error_reason(error.filename, error)) from error
        return checked

    def _records_with(self, finder: Finder) -> tuple[list[Key], set[str]]:
        """Return the records that hold some of the pieces, and those pieces."""
        alike: dict[Key, None] = {}
        shared: set[str] = set()
        for organization in self._store.organizations():
            where = Filter(organization=organization, with_deleted=True)
            for kind in CLASSES.values():
                records: Iterator[Record] = self._store.each(kind, where, ())
                while batch := [
                    (each, line_of(each)) for each in islice(records, _RECORDS_AT_ONCE)
                ]:
                    if not finder.found_in(b"".join(line for _, line in batch)):
                        continue
                    for record, line in batch:
                        if found := finder.found_in(line):
                            shared |= found
                            alike[_findable_key(record)] = None
        return list(alike), shared

    def _check_may(self, caller: Caller) -> None:
        with self._trail.audit_refusals(caller, None, ERASE, Kind.MEMORY, "*"):
            policy.check_may_erase(caller)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._locks.hold(LOCK) as held:
            if held is None:
                raise StoreBusy("another erasure is under way; try again when it is done")
            yield


def _findable_key(record: Record) -> Key:
    """Return the key by which a person finds a record: of a version, that of its memory."""
    if isinstance(record, Version):
        return record.organization, Kind.MEMORY, record.memory
    return record.organization, record.kind, record.id
