"""The import of an archive: the whole file is verified, then imported in one transaction."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from minutebook.features.archives.archive_file import OnRead, Reader
from minutebook.features.archives.archive_lines import Mode
from minutebook.features.archives.claims import as_claim, is_claim_of, loses_trust
from minutebook.features.ledger.mirror.rebuilding import Rebuilding
from minutebook.features.ledger.mirror.waiting import waiting_id
from minutebook.memory.access.audit import TakenIn
from minutebook.memory.access.visibility import seen_by
from minutebook.memory.infrastructure import Infrastructure
from minutebook.memory.intake import (
    WRITTEN,
    IntakeReport,
    Outcome,
    Removals,
    Verdict,
    is_forgotten,
    parent_of,
    verdict_on,
)
from minutebook.memory.knowledge.mentions import Mentions
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidArchive, InvalidInput, ScopeViolation
from minutebook.record.filters import sees
from minutebook.record.records import (
    CLASSES,
    Decision,
    DecisionStatus,
    Entry,
    Head,
    Kind,
    Link,
    Memory,
    Proposal,
    ProposalStatus,
    Record,
    Summary,
    Turn,
)
from minutebook.record.trust.acts import IMPORT_OWN
from minutebook.record.writing.source_drafts import SourcePlace
from minutebook.record.writing.turns import next_instant, summary_id, turn_id

_ACTS = {
    (Mode.MERGE, False): "import",
    (Mode.REPLACE, False): "replace",
    (Mode.MERGE, True): IMPORT_OWN,
    (Mode.REPLACE, True): "replace",
}
"""The acts in the trail, by mode and whether the file is of the importer's own store."""
REPORT_EVERY = 1000
"""Lines or records between two reports of progress."""

MOST_TAKEN = 1000
"""The most memories whose audit entries are written together, with one new head of the trail."""

_KEY_BYTES = 16

Keys: TypeAlias = NDArray[np.bytes_]
"""A digest of each record's kind, organization and id, sorted; shape (records,)."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of the first reading of a file: the keys of its records, and its digest.

    `organizations` are those of its records, `decided` those of its decisions.
    """

    keys: Keys
    digest: str
    organizations: frozenset[str] = frozenset()
    decided: frozenset[str] = frozenset()


@dataclass(slots=True)
class Imported(IntakeReport):
    """The results of an import, by kind.

    `displaced` counts records removed because the replacing archive does not have them. `claimed` counts records whose
    claim to be verified, locked, decided or part of a trail was not believed.
    """

    displaced: Counter[Kind] = field(default_factory=Counter)
    claimed: Counter[Kind] = field(default_factory=Counter)

    @property
    def imported(self) -> Counter[Kind]:
        """The number of records written, new or in place of others."""
        return self.counts[Outcome.NEW] + self.counts[Outcome.CHANGED]


def verified(caller: Caller, reader: Reader) -> Checked:
    """Read a file to its end and return what is known of it, with 16 bytes in memory for each record.

    Raises InvalidArchive, naming the first such line, if a line does not fit or repeats a record.
    """
    keys, first = bytearray(), 0
    organizations: set[str] = set()
    decided: set[str] = set()
    for number, record in reader.records(_reporting(caller, reader, 0.0)):
        first = first or number
        keys += _key(record)
        organizations.add(record.organization)
        if record.kind is Kind.DECISION:
            decided.add(record.organization)
    unsorted = np.frombuffer(bytes(keys), dtype=f"S{_KEY_BYTES}")
    order = np.argsort(unsorted, kind="stable")
    ordered = unsorted[order]
    repeated = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    if len(repeated):
        # Each record has one line, so its line follows from its position.
        line = first + int(order[repeated].min())
        raise InvalidArchive(reader.called, "its record stands in an earlier line too", line)
    return Checked(ordered, reader.digest, frozenset(organizations), frozenset(decided))


class Import:
    """Imports the records of a file; call `run` inside a transaction, which then ends."""

    def __init__(
        self,
        infrastructure: Infrastructure,
        mentions: Mentions,
        caller: Caller,
        mode: Mode,
        *,
        is_own: bool,
        again: bool,
    ) -> None:
        self._store = infrastructure.store
        self._trail = infrastructure.trail
        takes_all = again or mode is Mode.REPLACE
        self._removals = Removals(infrastructure, again=takes_all)
        self._mentions = mentions
        self._screening = infrastructure.screening
        self._now = infrastructure.clock()
        self._caller = caller
        self._mode = mode
        self._is_own = is_own
        self._touched: set[tuple[str, Kind]] = set()
        self._given_ids: set[tuple[Kind, str, str]] = set()
        self._taken = defaultdict[str, list[TakenIn]](list)
        self.report = Imported()

    def organizations(self, checked: Checked) -> set[str]:
        """Return the organizations that the transaction around `run` must name."""
        named = set(checked.organizations)
        if self._mode is Mode.REPLACE:
            named.update(seen_by(self._store, self._caller).organizations)
        return named

    def run(self, reader: Reader, checked: Checked, rebuildings: Mapping[str, Rebuilding]) -> None:
        """Import all records, audit that, and commit decisions to Git; after an error the caller undoes the transaction.

        `rebuildings` are by organization of the decisions, read before the
        transaction. Raises InvalidArchive if the file has changed or the store cannot keep a
        record, ScopeViolation if the caller may not write to a record's scope.
        """
        begun = {name: self._store.sequence(name) for name in self.organizations(checked)}
        for number, record in reader.records(_reporting(self._caller, reader, 0.5)):
            try:
                if (verdict := self._take(record)) is not None:
                    self.report.note(verdict, record.kind, SourcePlace(reader.called, number))
            except InvalidInput as error:
                raise InvalidArchive(reader.called, error.sentence, number) from error
        self._note_taken()
        if reader.digest != checked.digest:
            raise InvalidArchive(reader.called, "the file was changed while it was read")
        if self._mode is Mode.REPLACE:
            for kind in reader.counts:
                self._remove_others(kind, checked.keys)
        for organization, kind in sorted(self._touched):
            act, since = _ACTS[self._mode, self._is_own], begun[organization]
            self._trail.log_many(self._caller, organization, act, kind, checked.digest, begun=since)
            begun[organization] = self._store.sequence(organization)
        # Last, because a commit to Git cannot be undone.
        for organization in sorted(name for name, kind in self._touched if kind is Kind.DECISION):
            rebuildings[organization].run(replace(self._caller, organization=organization))

    def _take(self, record: Record) -> Verdict | None:
        """Import a record and return the verdict on it; None if only its claim was counted."""
        here = self._existing(record)
        is_trail = isinstance(record, Entry | Head)
        removed = here != record and not is_trail and self._removals.has_removed_with(record, here)
        if here != record and not removed and not self._is_proved(record):
            claim = self._claim(record)
            if claim is None:
                return None
            record, here = claim, self._existing(claim)
        if here is not None and not self._sees(here):
            # Treated like an unknown id, so that the caller does not learn of a record that they may not see.
            self._check_scope(record)
            record, here = self._with_own_id(record)
        if here is None and not removed and self._belongs_to_existing(record):
            return Verdict(Outcome.HERE)
        after = here if here is not None and self._is_kept(here, record) else record
        obstacle = "" if self._may_take(here, record) else "it is not yours to replace"
        verdict = verdict_on(after, here, was_removed=removed, obstacle=obstacle)
        if verdict.outcome in WRITTEN:
            if here is None:
                self._check_scope(record)
            self._put(record)
        return verdict

    def _existing(self, record: Record) -> Record | None:
        return self._store.get(type(record), record.organization, record.id)

    def _is_kept(self, here: Record, record: Record) -> bool:
        """Tell whether the existing record `here` stays as it is."""
        if self._mode is not Mode.MERGE or (is_forgotten(here) and self._removals.again):
            return False
        return not (self._is_own and is_claim_of(here, record, self._now))

    def _may_take(self, here: Record | None, record: Record) -> bool:
        if here is None or self._mode is Mode.MERGE:
            return True
        return self._may_replace(here) and self._is_in_own_scope(record)

    def _is_proved(self, record: Record) -> bool:
        """Tell whether a record's claims are believed: it is the caller's own, or this store's trail proves it."""
        if self._is_own or (
            isinstance(record, Turn | Summary) and record.author == self._caller.name
        ):
            return True
        return self._trail.knows(record)

    def _claim(self, record: Record) -> Record | None:
        """Return an unproved record as a claim; None if it is left out: an entry of a trail, or a decision that is not active."""
        is_old = isinstance(record, Decision) and record.status is not DecisionStatus.ACTIVE
        if is_old or isinstance(record, Entry | Head):
            self.report.claimed[record.kind] += 1
            return None
        if isinstance(record, Decision) and self._existing(record) is not None:
            self.report.note(Verdict(Outcome.HERE), record.kind)
            return None
        if loses_trust(record):
            self.report.claimed[record.kind] += 1
        return as_claim(record, self._caller.name, self._now)

    def _sees(self, here: Record) -> bool:
        """Tell whether the caller may see an existing record; only admins import other kinds than turns and summaries."""
        return not isinstance(here, Turn | Summary) or sees(self._caller, here)

    def _with_own_id(self, record: Record) -> tuple[Record, Record | None]:
        """Return the record, with a new id if another record has its id, and the existing record with that id."""
        if isinstance(record, Summary):
            id = summary_id(record.session, record.repository, record.user)
            record = replace(record, id=id)
        here = self._existing(record)
        while isinstance(record, Turn) and here is not None and not _is_same_turn(here, record):
            at = next_instant(record.at)
            record = replace(record, id=turn_id(at), at=at)
            here = self._existing(record)
        self._given_ids.add((record.kind, record.organization, record.id))
        return record, here

    def _belongs_to_existing(self, record: Record) -> bool:
        """Tell whether a record's parent was there before, or a link would change a locked memory."""
        owner = parent_of(record)
        if owner is not None:
            return self._store.get(owner[0], record.organization, owner[1]) is not None
        return isinstance(record, Link) and any(
            memory.locked_by is not None
            for end in (record.source, record.target)
            if (memory := self._store.get(Memory, record.organization, end)) is not None
        )

    def _put(self, record: Record) -> None:
        # Secrets are only noted, because an imported record must fit its digests in the trail.
        self._screening.note_secrets(self._caller, record)
        if isinstance(record, Entry | Head):
            self._note_taken()
        self._store.put(record)
        self._mentions.note(record)
        self._touched.add((record.organization, record.kind))
        if isinstance(record, Decision):
            self._drop_claim(record)
        # If the memory's trail was imported, too, it has the entry already.
        if isinstance(record, Memory) and (record.organization, Kind.HEAD) not in self._touched:
            taken = self._taken[record.organization]
            taken.append(TakenIn.from_change(record.id, None, record))
            if len(taken) == MOST_TAKEN:
                self._note_taken()

    def _note_taken(self) -> None:
        """Write the entries of the memories that were taken in since the last time."""
        for organization, taken in self._taken.items():
            self._trail.take_in(self._caller, organization, taken)
        self._taken.clear()

    def _drop_claim(self, decision: Decision) -> None:
        """Remove the pending proposal that an earlier import made of a decision."""
        id = waiting_id(decision.id)
        waited = self._store.get(Proposal, decision.organization, id)
        if waited is not None and waited.status is ProposalStatus.PENDING:
            self._store.delete(Proposal, decision.organization, id)
            self._touched.add((decision.organization, Kind.PROPOSAL))

    def _remove_others(self, kind: Kind, keys: Keys) -> None:
        """Remove the records of a kind that the archive does not have and the caller may see and remove."""
        for view in seen_by(self._store, self._caller):
            for record in view.each(CLASSES[kind]):
                own = (record.kind, record.organization, record.id)
                if _is_among(keys, record) or own in self._given_ids:
                    continue
                if self._may_replace(record):
                    self._store.delete(CLASSES[kind], record.organization, record.id)
                    self.report.displaced[kind] += 1
                    self._touched.add((record.organization, kind))
                else:
                    self.report.counts[Outcome.LEFT_OUT][kind] += 1

    def _check_scope(self, record: Record) -> None:
        if not self._is_in_own_scope(record):
            raise ScopeViolation(
                "import",
                "the {kind} {id} belongs to an organization, repository or user that is not the caller's; nothing was changed",
                kind=record.kind,
                id=record.id,
            )

    def _is_in_own_scope(self, record: Record) -> bool:
        """Tell whether the caller may write to a record's scope; only admins import other kinds than turns and summaries."""
        return not isinstance(record, Turn | Summary) or policy.is_in_own_scope(
            self._caller, record
        )

    def _may_replace(self, record: Record) -> bool:
        return isinstance(record, Turn | Summary) and policy.may_replace(self._caller, record)


def _is_same_turn(here: Record, turn: Turn) -> bool:
    return isinstance(here, Turn) and replace(here, author=turn.author) == turn


def _key(record: Record) -> bytes:
    named = "\0".join((record.kind, record.organization, record.id))
    data = named.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=_KEY_BYTES).digest()


def _is_among(keys: Keys, record: Record) -> bool:
    # As an array, because a scalar loses trailing zeros of a key.
    key = np.frombuffer(_key(record), dtype=keys.dtype)
    index = int(np.searchsorted(keys, key)[0])
    return bool((keys[index : index + 1] == key).any())


def _reporting(caller: Caller, reader: Reader, start: float) -> OnRead:
    """Return a callback that reports the progress of one of the two passes over the file; `start` is 0 or 0.5."""
    lines = 0

    def at(read: int) -> None:
        nonlocal lines
        if lines % REPORT_EVERY == 0:
            caller.call.progress(start + read / reader.size / 2, f"line {lines:,}")
        lines += 1

    return at
